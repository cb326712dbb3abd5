"""
The stretch of time that a question asks for, and how near a memory is to it.

Called by `recall.plan` with the question and the clock's now; calls `recall.asked` for the phrases,
`recall.joining` to make one of them, and `recall.anchors` for events. Pure: "since the release" becomes
a range only when somebody who can search says when the release was. Nearness is 1 inside and falls off
outside like a bell, never to nothing at once, because people are wrong about when things were:
docs/lab/0013-time-in-questions.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from engram.recall.anchors import find_anchor
from engram.recall.asked import phrases
from engram.recall.joining import join
from engram.text.moments import Relation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from engram.recall.anchors import Anchor, Days
    from engram.text.moments import MomentRange

LONGEST_READ = 500
"""Characters at either end of a question that are read; what lies between is pasted text."""
ANCHOR_SOFTNESS_DAYS = 1.0
"""An event is remembered to about a day."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """From `start` to before `end`; either may be open, and both are until its event is found."""

    start: datetime | None
    end: datetime | None
    softness_days: float
    """By how many days a memory may lie outside and still be meant: the sigma of its bell curve."""
    relation: Relation
    words: tuple[str, ...]
    """The words that it came from."""
    anchor: str | None = None
    """The event that it hangs on, in the question's words: "the release" of "since the release"."""
    anchor_days: Days | None = None
    """From which day to before which day, counted from the day of that event."""


def find_period(question: str, *, now: datetime) -> Period | None:
    """Return the one stretch of time that a question asks for; none where it names none or asks when."""
    now = now if now.tzinfo else now.replace(tzinfo=UTC)
    read = _readable(question)
    moments = phrases(read, now=now)
    anchor = find_anchor(read, taken=[(moment.first, moment.last) for moment in moments])
    if anchor is not None and (dated := _dated(read, anchor, moments)):
        moments, anchor = dated, None
    asked = join(read, moments, now=now)
    if asked is None and anchor is None:
        return None
    spans = tuple(_place(span, question) for span in (asked.spans if asked else ()))
    said = [question[first:last] for first, last in spans]
    return Period(
        start=asked.start if asked else None,
        end=asked.end if asked else None,
        softness_days=asked.softness_days if asked else ANCHOR_SOFTNESS_DAYS,
        relation=asked.relation if asked else anchor.relation if anchor else Relation.WITHIN,
        words=(*said, *([read[anchor.first : anchor.last]] if anchor else ())),
        anchor=anchor.event if anchor else None,
        anchor_days=anchor.days if anchor else None,
    )


def resolve_anchor(period: Period, happened_at: datetime) -> Period:
    """
    Return the period with its event dated: a real range, no anchor.

    An open side begins or ends at the very moment of the event; counted days are whole days of its
    calendar. Ends that the question gave besides still hold, unless nothing would be left between them.
    """
    if period.anchor_days is None:
        return period
    start, end = _counted(period.anchor_days, happened_at)
    if period.start is not None and (end is None or period.start < end):
        start = max(start, period.start) if start else period.start
    if period.end is not None and (start is None or start < period.end):
        end = min(end, period.end) if end else period.end
    return replace(period, start=start, end=end, anchor=None, anchor_days=None)


def nearness(moments: ArrayLike, period: Period) -> NDArray[np.float64]:
    """
    Return how near each moment is to a period: 1 inside, and exp(−d² / 2σ²) at d days outside of it.

    Moments are microseconds since 1970; one that is not known (NaN) scores 0. A period without ends, as
    one whose event is not found yet, is near to everything.
    """
    at = np.asarray(moments, dtype=np.float64)
    outside = np.zeros_like(at)
    if period.start is not None:
        outside = np.maximum(outside, _microseconds(period.start) - at)
    if period.end is not None:
        outside = np.maximum(outside, at - _microseconds(period.end))
    sigmas = outside / (period.softness_days * _MICROSECONDS_PER_DAY)
    scores: NDArray[np.float64] = np.where(np.isnan(at), 0.0, np.exp(-0.5 * sigmas**2))
    return scores


def _readable(question: str) -> str:
    """Return the question, or its two ends where it is too long to be one."""
    if len(question) <= 2 * LONGEST_READ:
        return question
    return f"{question[:LONGEST_READ]}\n{question[-LONGEST_READ:]}"


def _place(span: tuple[int, int], question: str) -> tuple[int, int]:
    """Return where a span of the readable text stands in the question."""
    is_behind = len(question) > 2 * LONGEST_READ and span[0] > LONGEST_READ
    moved = len(question) - 2 * LONGEST_READ - 1 if is_behind else 0
    return span[0] + moved, span[1] + moved


def _dated(question: str, anchor: Anchor, moments: list[MomentRange]) -> list[MomentRange] | None:
    """Return the phrases, the one that dates the event ("since the outage last week") as its date."""
    for place, moment in enumerate(moments):
        if moment.first >= anchor.last and not question[anchor.last : moment.first].strip():
            relation = anchor.relation
            if moment.end - moment.start > timedelta(days=1):  # the event may lie on any of its days
                relation = _AROUND.get(relation, relation)
            return [*moments[:place], replace(moment, relation=relation), *moments[place + 1 :]]
    return None


_AROUND = {Relation.AFTER: Relation.SINCE, Relation.BEFORE: Relation.UNTIL}


def _counted(days: Days, happened_at: datetime) -> tuple[datetime | None, datetime | None]:
    """Return the range that days counted from an event mean."""
    first, last = days
    midnight = happened_at.replace(hour=0, minute=0, second=0, microsecond=0)
    if first is None or last is None:
        return (None, happened_at) if first is None else (happened_at, None)
    return midnight + timedelta(days=first), midnight + timedelta(days=last)


def _microseconds(moment: datetime) -> float:
    return (moment - _EPOCH) / _MICROSECOND
