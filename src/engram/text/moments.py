"""
Find phrases that speak of time, and say which stretch of time they mean, seen from a given now.

Called by extraction, which makes "yesterday" a date before it is stored, and by recall, which searches a
range. The clock is an argument: days begin where `now` says that they begin, and answers are in UTC. A
phrase gives a range, not an instant ("last week" is seven days), and what is uncertain stays in words
("recently"). Our own grammar, because no library reads enough of these to lean on:
docs/lab/0006-extraction.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from engram.text.moment_phrases import RULES, Seen, direction_of
from engram.text.stretches import Precision

if TYPE_CHECKING:
    from engram.text.moment_phrases import Reader
    from engram.text.stretches import Stretch

__all__ = ["MomentRange", "Precision", "Relation", "find_moments", "resolve"]


class Relation(StrEnum):
    """Where what is spoken of lies: in the stretch, or on one side of it."""

    WITHIN = "within"
    SINCE = "since"
    BEFORE = "before"
    AFTER = "after"
    UNTIL = "until"


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentRange:
    """A phrase at `first:last` of the text, and the stretch it names: from `start` to before `end`."""

    first: int
    last: int
    start: datetime
    end: datetime
    precision: Precision
    relation: Relation = Relation.WITHIN
    wording: str | None = None
    """How to say it without a now, where that needs saying: "on 7 May 2026" for "yesterday"."""

    @property
    def lower(self) -> datetime | None:
        """The earliest moment that fits, or none: "before May" has no beginning."""
        if self.relation in (Relation.BEFORE, Relation.UNTIL):
            return None
        return self.end if self.relation is Relation.AFTER else self.start

    @property
    def upper(self) -> datetime | None:
        """The moment that is too late, or none: "since May" has no end."""
        if self.relation in (Relation.SINCE, Relation.AFTER):
            return None
        return self.start if self.relation is Relation.BEFORE else self.end


def find_moments(text: str, *, now: datetime) -> list[MomentRange]:
    """Return the time phrases of a text in their order; where two overlap, the one that begins first."""
    local = now if now.tzinfo else now.replace(tzinfo=UTC)
    lower = text.lower()
    direction = direction_of(lower)
    found = [
        moment
        for rule in RULES
        if any(key in lower for key in rule.keys)
        for match in rule.pattern.finditer(text)
        if (moment := _moment(Seen(match, local, direction), rule.read))
    ]
    found.sort(key=lambda moment: (moment.first, -moment.last))
    kept: list[MomentRange] = []
    for moment in found:
        if not kept or moment.first >= kept[-1].last:
            kept.append(moment)
    return kept


def resolve(text: str, *, now: datetime) -> tuple[str, datetime | None]:
    """Return the text with relative phrases made absolute, and the moment it is about, if it names one."""
    moments = find_moments(text, now=now)
    said, end = [], 0
    for moment in moments:
        said += [text[end : moment.first], moment.wording or text[moment.first : moment.last]]
        end = moment.last
    certain = [moment for moment in moments if moment.precision is not Precision.VAGUE]
    return "".join([*said, text[end:]]), certain[0].start if certain else None


_RELATIONS = {
    "since": Relation.SINCE,
    "before": Relation.BEFORE,
    "after": Relation.AFTER,
    "by": Relation.UNTIL,
    "until": Relation.UNTIL,
    "till": Relation.UNTIL,
}
_KEPT_PREPOSITIONS = (*_RELATIONS, "for", "from", "around")


def _moment(seen: Seen, read: Reader) -> MomentRange | None:
    """Return what a match means; none where it means nothing, as 30 February does."""
    try:
        stretch = read(seen)
        if stretch is None:
            return None
        start, end = stretch.start.astimezone(UTC), stretch.end.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return MomentRange(
        first=seen.match.start(),
        last=seen.match.end(),
        start=start,
        end=end,
        precision=stretch.precision,
        relation=_RELATIONS.get(seen["before"], Relation.WITHIN),
        wording=_wording(seen, stretch),
    )


def _wording(seen: Seen, stretch: Stretch) -> str | None:
    if stretch.name is None:
        return None
    if seen["owner"]:
        return f"{stretch.name}'s"
    before = seen["before"]
    preposition = before if before in _KEPT_PREPOSITIONS else stretch.preposition
    said = f"{preposition} {stretch.name}"
    return said[0].upper() + said[1:] if seen.match.group()[0].isupper() else said
