"""
Find phrases that speak of time, and say which stretch of time they mean, seen from a given now.

The clock is an argument: days begin where `now` says that they begin, and answers are in UTC. A phrase
gives a range, not an instant ("last week" is seven days), and what is uncertain stays in words
("recently"). Our own grammar, because no library reads enough of these to lean on:
docs/lab/0006-extraction.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from engramdb.erasable_cache import cached
from engramdb.settings import DateOrder
from engramdb.text import moment_dates, moment_english, moment_languages, moment_periods
from engramdb.text.calendar import Direction, Precision, Stretch
from engramdb.text.moment_context import (
    CountedDay,
    counted_day,
    direction_beside,
    has_context,
    is_moved,
    is_of_saying,
)
from engramdb.text.moment_dates import DateLead, end_with_weekday, lead_of
from engramdb.text.moment_english import stands_for_a_day
from engramdb.text.moment_rules import Reader, Rulebook, Seen, direction_at, direction_of
from engramdb.text.moment_words import WEEKDAYS
from engramdb.text.normalize import lazy
from engramdb.values import Moment

__all__ = ["MomentRange", "Precision", "TimeRelation", "find_moments", "named_times", "resolve", "told_at"]


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
    is_relative: bool = False
    """Whether it means another time when it is said on another day: tomorrow, on Friday, 昨天."""
    is_date: bool = False
    """Whether it names a day of a month, or a span of them, by the calendar."""
    is_of_saying: bool = False
    """Whether it tells when something was said, and not when it was."""

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
        *moment_dates.DATE_RULES,
        *moment_periods.PERIOD_RULES,
        *moment_periods.SPAN_RULES,
        *moment_languages.FRAME_RULES,
        *moment_languages.UNSPACED_RULES,
    )
)


def find_moments(
    text: str, *, now: datetime, direction: Direction | None = None, date_order: DateOrder = "auto"
) -> list[MomentRange]:
    """
    Return the time phrases of a text in their order.

    Where two overlap, the one that begins first is kept, then the longer; a date counts more than a weekday
    beside it. A caller who knows which way a bare "on Friday" points says so; otherwise the verbs decide, as
    far as they tell. `date_order` decides about 04/05/2026.
    """
    clock = (now.replace(tzinfo=None), now.tzinfo or UTC, now.fold)
    return list(_find_moments(text, clock, direction, date_order))


@cached(64)  # of one clause they are asked for up to four times in a row
def _find_moments(
    text: str, clock: tuple[datetime, tzinfo, int], direction: Direction | None, date_order: DateOrder
) -> tuple[MomentRange, ...]:
    """Return them by the clock of a zone: the same moment in another one is another day there."""
    local = clock[0].replace(tzinfo=clock[1], fold=clock[2])
    lower = text.lower()
    matches = [(rule, match) for rule in _RULES.worth_trying(lower) for match in rule.pattern.finditer(text)]
    if not matches:
        return ()
    whole, is_beside = direction or direction_of(lower), has_context(lower)
    found: list[MomentRange] = []
    for rule, match in matches:
        way = (direction_beside(match) if is_beside else None) or direction
        way = way or direction_at(lower, *match.span(), whole=whole)
        seen = Seen(match, local, way, date_order, direction is not None, is_beside)
        if moment := _moment(seen, rule.read):
            found.append(moment)
    found.sort(key=lambda moment: (moment.first, -moment.last))
    return tuple(_one_by_one(text, found))


def _one_by_one(text: str, found: list[MomentRange]) -> list[MomentRange]:
    """Return phrases of which none overlaps another, those that are one time in two phrases as one."""
    kept: list[MomentRange] = []
    is_joined = False
    for moment in found:
        before = kept[-1] if kept else None
        if before is None or moment.first >= before.last:
            one = None if before is None or is_joined else _as_one(text, before, moment)
            is_joined = one is not None
            if one is not None:
                kept.pop()
            kept.append(one or moment)
        elif moment.is_date and before.is_relative and moment.last > before.last:
            kept[-1] = replace(moment, first=before.first)
    return kept


_APPOSITION = lazy(
    r"\s*(?P<mark>[,(（:]|\s[-–—]\s)\s*(?:the|den|dem|le|el|il|on|i\.?e\.?)?\s*", re.IGNORECASE
)
_RANGE = lazy(
    r"(?:\s*[-–—~〜]|\s+(?:to|until|till|through|thru|bis|au|al?|hasta|по|до)|\s*(?:到|至|から))"
    r"(?:\s+(?:the|zum|le|el|il))?\s*",
    re.IGNORECASE,
)
_MOVED_TO = lazy(r"\s+(?:to|until|till)\s+(?:\d{1,2}(?::\d\d)?\s*(?:[ap]m)?\s+)?(?:the\s+)?", re.IGNORECASE)
_UNTIL = lazy(r"(?:until|till|bis|hasta|jusqu|fino|по)\b", re.IGNORECASE)
_BETWEEN = lazy(r"\s+(?:and|und|et|y|e|и)\s+(?:(?:the|dem|le|el|il)\s+)?", re.IGNORECASE)
_OPENS_BETWEEN = lazy(
    r"\b(?:between|zwischen|entre|tra|fra|между)(?:\s+(?:the|dem|le|el|il))?\s*\Z", re.IGNORECASE
)


def _as_one(text: str, one: MomentRange, two: MomentRange) -> MomentRange | None:
    """Return the one time that two neighbors mean: "tomorrow (17 May)", "12 May to 3 June"; or none."""
    between = text[one.last : two.first]
    if len(between) > _MAX_BETWEEN:
        return None
    if _MOVED_TO.fullmatch(between) and is_moved(text, one.first):
        return replace(two, first=one.first, relation=TimeRelation.WITHIN, wording=None)
    if one.is_date and two.is_date:
        return _range(text, one, two, between)
    return _apposition(text, one, two, between) if one.is_date or two.is_date else None


def _apposition(text: str, one: MomentRange, two: MomentRange, between: str) -> MomentRange | None:
    """Return the date of "tomorrow (17 May)": in brackets always, elsewhere where both mean the same."""
    date, other = (one, two) if one.is_date else (two, one)
    said = _APPOSITION.fullmatch(between)
    if said is None or not other.is_relative:
        return None
    in_brackets = said["mark"] in "(（" and text[two.last : two.last + 1] in (")", "）")
    if not in_brackets and not (date.start < other.end and other.start < date.end):
        return None
    relation = one.relation if one.relation is not TimeRelation.WITHIN else two.relation
    return replace(date, first=one.first, last=two.last + in_brackets, relation=relation)


def _range(text: str, one: MomentRange, two: MomentRange, between: str) -> MomentRange | None:
    """Return from one date to the other where the words say so; of a date that was moved, the new one."""
    is_range = _RANGE.fullmatch(between) or (not between.strip() and _UNTIL.match(text, two.first))
    if _BETWEEN.fullmatch(between):
        is_range = _OPENS_BETWEEN.search(text[max(0, one.first - 20) : one.first])
    if not is_range:
        return None
    return replace(two, first=one.first) if is_moved(text, one.first) else _spanning(text, one, two)


_MAX_BETWEEN = 20
_YEAR_SAID = lazy(r"\d{4}|['’]\d\d")


def _spanning(text: str, one: MomentRange, two: MomentRange) -> MomentRange | None:
    """Return from one date to the other; a date without a year lies in that of the other, or next to it."""
    try:
        start, end = one.start, two.end
        if not _YEAR_SAID.search(text, one.first, one.last) and _YEAR_SAID.search(text, two.first, two.last):
            start = start.replace(year=two.start.year)
            start = start if start < end else start.replace(year=start.year - 1)
        elif end <= start:
            end = end.replace(year=end.year + 1)
    except ValueError:  # 29 February of another year
        return None
    if start >= end:
        return None
    return replace(one, last=two.last, start=start, end=end, relation=TimeRelation.WITHIN)


def resolve(text: str, *, now: datetime) -> tuple[str, datetime | None]:
    """Return the text with relative phrases made absolute, and the moment that it is about, if any."""
    moments = find_moments(text, now=now)
    said, end = [], 0
    for moment in moments:
        said += [text[end : moment.first], moment.wording or text[moment.first : moment.last]]
        end = moment.last
    return "".join([*said, text[end:]]), told_at(moments)


def told_at(moments: Sequence[MomentRange]) -> datetime | None:
    """Return the moment that a statement is about: the first it names for certain, not that of saying it."""
    sure = (one for one in moments if one.precision is not Precision.VAGUE and not one.is_of_saying)
    return next((one.start for one in sure), None)


MAX_READ = 4_000
"""Characters at the beginning of a statement that are read for times: what is longer is a document."""
MAX_KEPT = 16
MAX_TOLD = 300
"""Characters of a statement that can be about one moment."""


def named_times(
    text: str, *, now: datetime, date_order: DateOrder = "auto"
) -> tuple[tuple[Moment, ...], datetime | None]:
    """
    Return the times that a statement names, to be kept beside its words, and the moment that it is about.

    The latter only of what is short: a page names many times and is about none of them.
    """
    found = find_moments(text[:MAX_READ], now=now, date_order=date_order)[:MAX_KEPT]
    moments = tuple(
        Moment(words=text[one.first : one.last], start=one.start, end=one.end, is_relative=one.is_relative)
        for one in found
        if one.precision is not Precision.VAGUE
    )
    return moments, told_at(found) if len(text) <= MAX_TOLD else None


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
        counted = counted_day(seen, stretch) if seen.has_context else None
        moment = _counted(seen, counted) if counted else _as_said(seen, stretch)
    except (ValueError, OverflowError):
        return None
    if moment.start >= moment.end:
        return None
    if moment.is_date:
        moment = _with_weekday(seen.match.string, moment, stretch)
    if seen.has_context and is_of_saying(seen.match.string, moment.first, moment.last):
        return replace(moment, is_of_saying=True)
    return moment


def _counted(seen: Seen, counted: CountedDay) -> MomentRange:
    """Return the day of "a week from Thursday"."""
    stretch = counted.stretch
    is_relative = _needs_a_now(seen, stretch)
    return MomentRange(
        first=counted.first,
        last=counted.last,
        start=stretch.start.astimezone(UTC),
        end=stretch.end.astimezone(UTC),
        precision=stretch.precision,
        wording=f"{stretch.preposition} {stretch.name}" if is_relative else None,
        is_relative=is_relative,
    )


def _as_said(seen: Seen, stretch: Stretch) -> MomentRange:
    """Return the stretch of a phrase with the side that its words open."""
    onwards = _ONWARDS.match(seen.match.string, seen.match.end()) if seen["before"] == "from" else None
    return MomentRange(
        first=seen.match.start(),
        last=onwards.end() if onwards else seen.match.end(),
        start=stretch.start.astimezone(UTC),
        end=stretch.end.astimezone(UTC),
        precision=stretch.precision,
        relation=TimeRelation.SINCE if onwards else _relation(seen),
        wording=None if onwards else _wording(seen, stretch),
        is_relative=_needs_a_now(seen, stretch),
        is_date=bool(seen["one"] or (seen["day"] and seen["month"])) and stretch.precision is Precision.DAY,
    )


def _with_weekday(text: str, date: MomentRange, stretch: Stretch) -> MomentRange:
    """Return a date with the weekday beside it, which does not count, and the word that opens its side."""
    lead = lead_of(text, date.first) if date.relation is TimeRelation.WITHIN else None
    last = end_with_weekday(text, date.last, start=stretch.start)
    if lead is None:
        return replace(date, last=last)
    last += lead.opens_bracket and text[last : last + 1] in (")", "）")
    return replace(date, first=lead.first, last=last, relation=_side_opened(lead))


def _side_opened(lead: DateLead) -> TimeRelation:
    side = next((relation for group, relation in _SIDES.items() if lead.sides.get(group)), None)
    before = " ".join((lead.sides.get("before") or "").casefold().split())
    return side or _RELATIONS.get(before, TimeRelation.WITHIN)


_NAMES_YEAR = ("year", "year2", "alone", "decade", "one")


def _needs_a_now(seen: Seen, stretch: Stretch) -> bool:
    """
    Return whether a phrase is understood only by who knows when it was said.

    Dates, years and whatever names its year need no now. A month, a quarter or a bare weekday to which no
    verb points may be any, and what is vague stays in words.
    """
    if any(seen[group] for group in _NAMES_YEAR) or (seen["day"] and seen["month"]):
        return False
    if stretch.precision is Precision.VAGUE:
        return False
    if seen["step"] or seen["unit"]:
        return True
    if seen["weekday"] and not stretch.name and not seen["before"]:
        return seen["weekday"] not in WEEKDAYS or stands_for_a_day(seen)
    return seen.direction != "unknown" or not (seen["month"] or seen["number"])


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
