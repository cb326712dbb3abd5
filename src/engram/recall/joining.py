"""
Make one stretch of time of the phrases of a question.

Called by `recall.period` with what `recall.asked` found. Phrases that belong together become one first
("last week on Tuesday", "from 3 March until 7 April", "the Sunday before 25 October"). Of what is left
the overlap counts; where there is none, a full date beats "recently", and otherwise everything from the
first to the last is meant. How soft the edges are follows from the length of the phrase:
docs/lab/0013-time-in-questions.md.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial, reduce

from engram.text.lazy import lazy
from engram.text.moments import MomentRange, Precision, Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """From `start` to before `end`, how far off that may be, and where the question says it."""

    start: datetime | None
    end: datetime | None
    softness_days: float
    relation: Relation
    spans: tuple[tuple[int, int], ...]


def join(question: str, moments: list[MomentRange], *, now: datetime) -> Asked | None:
    """Return the one stretch that the phrases ask for."""
    asked: list[Asked] = []
    left = deque(moments)
    while left:
        first = left.popleft()
        pair = _pair(question, first, left[0], now=now) if left else None
        if pair is None:
            asked.append(_asked(first))
        else:
            asked.append(replace(_asked(pair), spans=_spans(question, first, left.popleft())))
    return reduce(partial(_both, question), asked) if asked else None


def _spans(question: str, one: MomentRange, two: MomentRange) -> tuple[tuple[int, int], ...]:
    """Return where two phrases stand that belong together: as one, with the small word between them."""
    between = question[one.last : two.first]
    if _TOGETHER.fullmatch(between) or _JOINS.fullmatch(between):
        return ((one.first, two.last),)
    return ((one.first, one.last), (two.first, two.last))


def _asked(moment: MomentRange) -> Asked:
    return Asked(
        start=moment.lower,
        end=moment.upper,
        softness_days=softness_days(moment),
        relation=moment.relation,
        spans=((moment.first, moment.last),),
    )


SOFTNESS_SHARE = 1 / 3
"""A phrase is off by about a third of what it names: two days for a week, ten for a month."""
LEAST_SOFTNESS_DAYS = 1.0
"""Who says "on Tuesday" may mean the evening before or the morning after."""
MOST_SOFTNESS_DAYS = 30.0
"""The edges of a year are no more blurred than those of a season."""
VAGUE_FACTOR = 2.0
"""Who says "recently" or "a few weeks ago" is twice as unsure."""


def softness_days(moment: MomentRange) -> float:
    """Return by how many days a memory may lie outside and still be meant: the sigma of a bell curve."""
    length_days = (moment.end - moment.start) / timedelta(days=1)
    softness = min(max(length_days * SOFTNESS_SHARE, LEAST_SOFTNESS_DAYS), MOST_SOFTNESS_DAYS)
    return softness * VAGUE_FACTOR if moment.precision is Precision.VAGUE else softness


_OPENS = lazy(
    r"(?:\b(?:between|from|zwischen|von|vom|entre|de|du|del|desde|tra|fra|da|dal|между|со?)|从|自)\s*\Z",
    re.IGNORECASE,
)
_OPENING = lazy(r"(?:from|vom|dal|desde|du|del|с)\s", re.IGNORECASE)
_JOINS = lazy(
    r"\s*(?:and|to|through|thru|until|till|und|bis|zum|et|au|à|y|al?|hasta|e|и|по|до|到|至|から|[-–—~])"
    r"(?:\s+(?:the|dem|le|el|il|al))?\s*",
    re.IGNORECASE,
)
_TOGETHER = lazy(r"[\s,]*(?:of|in|on|im|am|de|del|en|в|的|の)?\s*", re.IGNORECASE)
_APART = lazy(r"\b(?:and|or|but|und|oder|et|ou|y|o|e|и|или)\b|[;.?!]", re.IGNORECASE)


def _pair(question: str, one: MomentRange, two: MomentRange, *, now: datetime) -> MomentRange | None:
    """Return what two phrases mean that belong together; none where each stands for itself."""
    between = question[one.last : two.first]
    opens = _OPENS.search(question[max(0, one.first - 12) : one.first]) or _OPENING.match(question, one.first)
    is_joined = _JOINS.fullmatch(between) or (not between.strip() and two.relation is Relation.UNTIL)
    if opens and is_joined and one.start < two.end:
        return replace(one, end=two.end, relation=Relation.WITHIN)
    if two.relation in (Relation.BEFORE, Relation.AFTER) and not between.strip():
        return _beside(one, two)
    return _inside(question, one, two, now=now)


def _inside(question: str, one: MomentRange, two: MomentRange, *, now: datetime) -> MomentRange | None:
    """Return the shorter of two phrases where the longer says which week or year it is in."""
    between = question[one.last : two.first]
    fine, coarse = sorted((one, two), key=lambda moment: moment.end - moment.start)
    if not _is_floating(question, fine) or Precision.VAGUE in (one.precision, two.precision):
        return None
    is_near = bool(_TOGETHER.fullmatch(between))
    if is_near or (coarse.precision is Precision.YEAR and not _APART.search(between)):
        relation = fine.relation if fine.relation is not Relation.WITHIN else coarse.relation
        return replace(_placed(fine, coarse, now=now), relation=relation)
    return None


def _beside(one: MomentRange, two: MomentRange) -> MomentRange | None:
    """Return the Sunday before 25 October, the weekend after 3 May: moved by whole weeks."""
    week, length = timedelta(weeks=1), one.end - one.start
    if one.relation is not Relation.WITHIN or length > week:
        return None
    try:
        if two.relation is Relation.AFTER:
            start = two.end + (one.start - two.end) % week
        else:
            start = two.start - length - (two.start - length - one.start) % week
        return replace(one, start=start, end=start + length)
    except OverflowError:  # a year before 1 or after 9999
        return None


_ITS_OWN_TIME = lazy(
    r"\b(?:last|past|previous|this|next|coming|ago|yesterday|today|tomorrow|tonight|now|\d{4}|letzt\w+|gestern|"
    r"heute|derni\w+|hier|pasad\w+|ayer|scors\w+|ieri|прошл\w+|вчера)\b|[去昨今先上前]",
    re.IGNORECASE,
)


def _is_floating(question: str, moment: MomentRange) -> bool:
    """Say whether a phrase leaves open which week or year it is in: on Tuesday, in March."""
    return not _ITS_OWN_TIME.search(question, moment.first, moment.last)


def _placed(fine: MomentRange, coarse: MomentRange, *, now: datetime) -> MomentRange:
    """Return the Tuesday of that week, the March of that year; the longer stretch where it has none."""
    if coarse.start <= fine.start and fine.end <= coarse.end:
        return fine
    length = coarse.end - coarse.start
    start = _in_week(fine, coarse) if length == timedelta(days=7) else _in_year(fine, coarse, now=now)
    if start is None or not coarse.start <= start < coarse.end:
        return coarse
    return replace(fine, start=start, end=start + (fine.end - fine.start))


def _in_week(fine: MomentRange, coarse: MomentRange) -> datetime:
    return coarse.start + (fine.start - coarse.start) % timedelta(days=7)


def _in_year(fine: MomentRange, coarse: MomentRange, *, now: datetime) -> datetime | None:
    """Return when the fine stretch begins in the year of the coarse one, where the asker is."""
    if coarse.precision is not Precision.YEAR:
        return None
    year = coarse.start.astimezone(now.tzinfo).year
    local = fine.start.astimezone(now.tzinfo)
    is_leap_day = (local.month, local.day) == (2, 29)
    return None if is_leap_day else local.replace(year=year).astimezone(UTC)


_EITHER = lazy(r"\b(?:and|or|vs\.?|und|oder|et|ou|y|o|e|и|или)\s*\Z", re.IGNORECASE)


def _both(question: str, one: Asked, two: Asked) -> Asked:
    """
    Return the overlap of two stretches, or everything from the first to the last.

    The latter if they have no overlap, or if both are whole and the question names one and the other.
    """
    spans = (*one.spans, *two.spans)
    start, end = _latest(one.start, two.start), _earliest(one.end, two.end)
    is_whole = one.relation is Relation.WITHIN and two.relation is Relation.WITHIN
    names_both = is_whole and _EITHER.search(question[one.spans[-1][1] : two.spans[0][0]])
    if not names_both and (start is None or end is None or start < end):
        softness = min(one.softness_days, two.softness_days)
    elif not names_both and (dated := _dated(question, one, two)):
        return replace(dated, spans=spans)
    else:
        start = None if None in (one.start, two.start) else _earliest(one.start, two.start)
        end = None if None in (one.end, two.end) else _latest(one.end, two.end)
        softness = max(one.softness_days, two.softness_days)
    if start is None and end is None:
        return one
    relation = Relation.WITHIN if start and end else Relation.SINCE if start else Relation.BEFORE
    return Asked(start=start, end=end, softness_days=softness, relation=relation, spans=spans)


_YEAR_SAID = lazy(r"(?:19|20)\d\d")


def _dated(question: str, one: Asked, two: Asked) -> Asked | None:
    """Return the one that says its year: what was "recently", as I said on 7 February 2022, was then."""
    full = [each for each in (one, two) if any(_YEAR_SAID.search(question, *span) for span in each.spans)]
    return full[0] if len(full) == 1 else None


def _latest(one: datetime | None, two: datetime | None) -> datetime | None:
    return max(one, two) if one and two else one or two


def _earliest(one: datetime | None, two: datetime | None) -> datetime | None:
    return min(one, two) if one and two else one or two
