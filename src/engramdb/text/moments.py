"""
Find phrases that speak of time, and say which stretch of time they mean, seen from a given now.

The clock is an argument: days begin where `now` says that they begin, and answers are in UTC. A phrase
gives a range, not an instant ("last week" is seven days), and what is uncertain stays in words
("recently"). Our own grammar, because no library reads enough of these to lean on:
docs/lab/0006-extraction.md.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.text import moment_english, moment_languages, moment_periods
from engramdb.text.calendar import Direction, Precision, Stretch
from engramdb.text.moment_rules import Reader, Rulebook, Seen, direction_of
from engramdb.text.normalize import lazy

__all__ = ["MomentRange", "Precision", "TimeRelation", "find_moments", "resolve"]


class TimeRelation(StrEnum):
    """Where what is spoken of lies: in the stretch, or on one side of it."""

    WITHIN = "within"
    SINCE = "since"
    BEFORE = "before"
    AFTER = "after"
    UNTIL = "until"


class MomentRange(Struct, frozen=True, kw_only=True):
    """A phrase at `first:last` of the text, and the stretch it names: from `start` to before `end`."""

    first: int
    last: int
    start: datetime
    end: datetime
    precision: Precision
    relation: TimeRelation = TimeRelation.WITHIN
    wording: str | None = None
    """How to say it without a now, where that needs saying: "on 7 May 2026" for "yesterday"."""

    @property
    def lower(self) -> datetime | None:
        """The earliest moment that fits, or none: "before May" has no beginning."""
        if self.relation in (TimeRelation.BEFORE, TimeRelation.UNTIL):
            return None
        return self.end if self.relation is TimeRelation.AFTER else self.start

    @property
    def upper(self) -> datetime | None:
        """The moment that is too late, or none: "since May" has no end."""
        if self.relation in (TimeRelation.SINCE, TimeRelation.AFTER):
            return None
        return self.start if self.relation is TimeRelation.BEFORE else self.end


_RULES = Rulebook(
    (
        *moment_english.DISTANCE_RULES,
        *moment_english.PHRASE_RULES,
        *moment_periods.PERIOD_RULES,
        *moment_periods.SPAN_RULES,
        *moment_languages.FRAME_RULES,
        *moment_languages.UNSPACED_RULES,
    )
)


def find_moments(text: str, *, now: datetime, direction: Direction | None = None) -> list[MomentRange]:
    """
    Return the time phrases of a text in their order.

    Where two overlap, the one that begins first is kept, then the longer. A caller who knows which way
    a bare "on Friday" points says so; otherwise the verbs decide, as far as they tell.
    """
    return list(_find_moments(text, now.replace(tzinfo=None), now.tzinfo or UTC, now.fold, direction))


@cached(64)  # of one clause they are asked for up to four times in a row
def _find_moments(
    text: str, clock: datetime, zone: tzinfo, fold: int, direction: Direction | None
) -> tuple[MomentRange, ...]:
    """Return them by the clock of a zone: the same moment in another one is another day there."""
    local = clock.replace(tzinfo=zone, fold=fold)
    lower = text.lower()
    direction = direction or direction_of(lower)
    found = [
        moment
        for rule in _RULES.worth_trying(lower)
        for match in rule.pattern.finditer(text)
        if (moment := _moment(Seen(match, local, direction), rule.read))
    ]
    found.sort(key=lambda moment: (moment.first, -moment.last))
    kept: list[MomentRange] = []
    for moment in found:
        if not kept or moment.first >= kept[-1].last:
            kept.append(moment)
    return tuple(kept)


def resolve(text: str, *, now: datetime) -> tuple[str, datetime | None]:
    """Return the text with relative phrases made absolute, and the moment that it is about, if any."""
    moments = find_moments(text, now=now)
    said, end = [], 0
    for moment in moments:
        said += [text[end : moment.first], moment.wording or text[moment.first : moment.last]]
        end = moment.last
    certain = [moment for moment in moments if moment.precision is not Precision.VAGUE]
    return "".join([*said, text[end:]]), certain[0].start if certain else None


_RELATIONS = {
    "since": TimeRelation.SINCE,
    "before": TimeRelation.BEFORE,
    "after": TimeRelation.AFTER,
    "starting": TimeRelation.SINCE,
    "starting in": TimeRelation.SINCE,
    "starting on": TimeRelation.SINCE,
    "starting from": TimeRelation.SINCE,
    "prior to": TimeRelation.BEFORE,
    "earlier than": TimeRelation.BEFORE,
    "leading up to": TimeRelation.BEFORE,
    "ahead of": TimeRelation.BEFORE,
    "pre": TimeRelation.BEFORE,
    "later than": TimeRelation.AFTER,
    "post": TimeRelation.AFTER,
    "no later than": TimeRelation.UNTIL,
    "by": TimeRelation.UNTIL,
    "until": TimeRelation.UNTIL,
    "till": TimeRelation.UNTIL,
    "as of": TimeRelation.UNTIL,
}
_SIDES: dict[str, TimeRelation] = {
    f"is_{relation}": relation for relation in TimeRelation if relation is not TimeRelation.WITHIN
}
"""The groups by which the patterns of other languages say the same."""
_KEPT_PREPOSITIONS = (*_RELATIONS, "for", "from", "around")
_ONWARDS = lazy(r"\s+(?:onwards?|forward)\b|\s+on(?=\s*(?:[,.?!]|\Z))", re.IGNORECASE)


def _moment(seen: Seen, read: Reader) -> MomentRange | None:
    """Return what a match means; none where it means nothing, as 30 February does."""
    try:
        stretch = read(seen)
        if stretch is None:
            return None
        start, end = stretch.start.astimezone(UTC), stretch.end.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    if start >= end:
        return None
    onwards = _ONWARDS.match(seen.match.string, seen.match.end()) if seen["before"] == "from" else None
    return MomentRange(
        first=seen.match.start(),
        last=onwards.end() if onwards else seen.match.end(),
        start=start,
        end=end,
        precision=stretch.precision,
        relation=TimeRelation.SINCE if onwards else _relation(seen),
        wording=None if onwards else _wording(seen, stretch),
    )


def _relation(seen: Seen) -> TimeRelation:
    """Return what the words around the stretch make of it; before the end of May is until it."""
    before = _RELATIONS.get(seen["before"], TimeRelation.WITHIN)
    side = next((relation for group, relation in _SIDES.items() if seen[group]), before)
    is_end = bool(seen["end"]) or seen["third"] == "end"
    return TimeRelation.UNTIL if is_end and side is TimeRelation.BEFORE else side


def _wording(seen: Seen, stretch: Stretch) -> str | None:
    if stretch.name is None:
        return None
    if seen["owner"]:
        return f"{stretch.name}'s"
    before = seen["before"]
    preposition = before if before in _KEPT_PREPOSITIONS else stretch.preposition
    said = f"{preposition} {stretch.name}"
    return said[0].upper() + said[1:] if seen.match.group()[0].isupper() else said
