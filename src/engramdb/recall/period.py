"""
The stretch of time that a question asks for, and how near a memory is to it.

Pure: "since the release" becomes a range only when somebody who can search says when the release was.
Nearness is 1 inside and falls off outside like a bell, never to nothing at once, because people are wrong
about when things were: docs/lab/0013-time-in-questions.md.
"""

from __future__ import annotations

import re
from collections import deque
from datetime import UTC, datetime, timedelta
from functools import partial, reduce

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from engramdb.recall.anchors import DISTANCE, Anchor, Days, counted_days, find_anchor
from engramdb.settings import DateOrder
from engramdb.text.calendar import Direction, Precision
from engramdb.text.lexicons import LANGUAGES, any_pattern
from engramdb.text.moment_rules import COUNT, PAST_VERB, count_of, direction_of
from engramdb.text.moment_words import MONTHS, WEEKDAYS
from engramdb.text.moments import MomentRange, TimeRelation, find_moments
from engramdb.text.normalize import lazy
from engramdb.values.population import to_microseconds

# The phrases that say when, and which way they point. A question looks back unless it says otherwise, so
# bare weekdays and months are the last ones; the words of habits point nowhere. Left out are names, and what
# was only spoken about: the August of "what did I say yesterday about the trip in August?" is no time to
# search in.

_AHEAD_SPACED, _AHEAD_UNSPACED = (
    any_pattern([one.questions.ahead for one in LANGUAGES.values() if one.spaced is is_spaced])
    for is_spaced in (True, False)
)
_AHEAD = lazy(rf"\b(?:{_AHEAD_SPACED})\b|{_AHEAD_UNSPACED}", re.IGNORECASE)
_PLANNED = lazy(r"\b(?:planned|scheduled)\b", re.IGNORECASE)
_PLANNED_FOR = lazy(r"\bplan(?:s|ned)?\s+(?:[\w']+\s+){0,3}for\b", re.IGNORECASE)
_HABIT = lazy(r"\b(?:do\s+(?:i|we|you|they)|does|usually|always|normally|typically|often)\b", re.IGNORECASE)


_HAPPENED = lazy(
    r"\b(?:have|has|['’]ve)\s+(?:i|we|you|they|he|she|it|(?-i:[A-Z]\w+))\s+(?:\w+\s+){0,2}?\w+(?:ed|en|ne|t|d|me|un|ut)\b"
    r"|\b(?:woke|ate|slept|drove|drank|swam|rode|sang|wore|chose|threw|fell|kept|brought|thought|couldn['’]?t)\b",
    re.IGNORECASE,
)
"""Words of a question about what was, beside those that tell it in a statement."""


def asks_of_the_past(question: str) -> bool:
    """Return whether a question asks what happened, and not for a habit, a plan or what holds."""
    return direction_of(question.casefold()) == "past" or bool(_HAPPENED.search(question))


def direction_asked(question: str) -> Direction:
    """Return which way a bare "on Friday" points in a question: back, but for plans and habits."""
    if _PLANNED_FOR.search(question):
        return "future"
    if PAST_VERB.search(_PLANNED.sub("", question)):
        return "past"
    if _AHEAD.search(question):
        return "future"
    return "unknown" if _HABIT.search(question) else "past"


def phrases(question: str, *, now: datetime, date_order: DateOrder = "auto") -> list[MomentRange]:
    """Return the time phrases of a question that say when, in their order."""
    read = _spelled_out(question)
    found = find_moments(read, now=now, direction=direction_asked(question), date_order=date_order)
    found = [_counted_asked(question, moment) for moment in found if not _is_something_else(question, moment)]
    return _without_topics(question, found)


# What names a time in a question and might be something else in a statement: the first quarter of a game.

_QUARTER = lazy(r"\bthe\s+(?P<which>first|second|third|fourth|last)\s+quarter\b(?!\s+of\b)", re.IGNORECASE)
_QUARTERS = {"first": "Q1", "second": "Q2", "third": "Q3", "fourth": "Q4"}
_SUMMED_UP = lazy(
    r"\b(?:sum(?:\s+up)?|recap|summari[sz]e|review)\s+(?P<month>"
    rf"{'|'.join(name for name in MONTHS)})\b",
    re.IGNORECASE,
)
_EXACTLY = lazy(rf"\bexactly\s+(?:{COUNT})\s+weeks?\s+ago\b", re.IGNORECASE)


def _spelled_out(question: str) -> str:
    """Return a question with such times as every text would have them, each letter at its place."""

    def quarter(found: re.Match[str]) -> str:
        named = _QUARTERS.get(found["which"].lower(), found.group())
        return named.ljust(len(found.group()))

    def day(found: re.Match[str]) -> str:
        said = f"{7 * count_of(found['count'].lower())} days ago"
        return said.rjust(len(found.group())) if len(said) <= len(found.group()) else found.group()

    def month(found: re.Match[str]) -> str:
        return f"in {found['month']}".rjust(len(found.group()))

    return _EXACTLY.sub(day, _SUMMED_UP.sub(month, _QUARTER.sub(quarter, question)))


_DISTANCE = lazy(rf"\b{DISTANCE}\Z")


def _counted_asked(question: str, moment: MomentRange) -> MomentRange:
    """Return "the week before Christmas" for the "before Christmas" in it; other phrases as they are."""
    if moment.relation not in (TimeRelation.BEFORE, TimeRelation.AFTER):
        return moment
    begin = max(0, moment.first - 30)
    distance = _DISTANCE.search(question[begin : moment.first])
    if distance is None:
        return moment
    is_after = moment.relation is TimeRelation.AFTER
    first, last = counted_days(distance.groupdict(), is_after=is_after)
    day = moment.end - timedelta(days=1) if is_after else moment.start
    try:
        start, end = day + timedelta(days=first), day + timedelta(days=last)
    except OverflowError:  # a year before 1 or after 9999
        return moment
    return replace(moment, first=begin + distance.start(), start=start, end=end, relation=TimeRelation.WITHIN)


_NOW = {"these days"}
"""What holds now may have been said long ago: no reason to look at the last days only."""
_NAME_BEFORE = lazy(r"(?:\b(?:is|the|a|plays?|named|called)|(?<=\w )[A-Z][a-z]+)\s+\Z")
_NAME_AFTER = lazy(r"\s+(?!I\b)[A-Z]")


def _is_something_else(question: str, moment: MomentRange) -> bool:
    """Return whether a phrase is a name (Black Friday, Wednesday Addams, "who is Friday?") or means now."""
    said = question[moment.first : moment.last].lower()
    if said not in WEEKDAYS:
        return said in _NOW
    before = question[max(0, moment.first - 30) : moment.first]
    return bool(_NAME_BEFORE.search(before) or _NAME_AFTER.match(question, moment.last))


_TOPIC = lazy(r"\b(?:about|regarding|concerning)\b", re.IGNORECASE)


def _without_topics(question: str, moments: list[MomentRange]) -> list[MomentRange]:
    """Leave out phrases that follow another one and say what was spoken about, or planned for."""
    kept: list[MomentRange] = []
    for moment in moments:
        if kept:
            between = question[kept[-1].last : moment.first]
            is_for = question[moment.first : moment.last].lower().startswith("for ")
            if _TOPIC.search(between) or is_for or between.rstrip().lower().endswith(" for"):
                continue
        kept.append(moment)
    return kept


LONGEST_READ = 500
"""Characters at either end of a question that are read; what lies between is pasted text."""
ANCHOR_SOFTNESS_DAYS = 1.0
"""An event is remembered to about a day."""

_MICROSECONDS_PER_DAY = 86_400_000_000


class Period(Struct, frozen=True, kw_only=True):
    """From `start` to before `end`; either may be open, and both are until its event is found."""

    start: datetime | None
    end: datetime | None
    softness_days: float
    """By how many days a memory may lie outside and still be meant: the sigma of its bell curve."""
    relation: TimeRelation
    words: tuple[str, ...]
    """The words that it came from."""
    anchor: str | None = None
    """The event that it hangs on, in the question's words: "the release" of "since the release"."""
    anchor_days: Days | None = None
    """From which day to before which day, counted from the day of that event."""


def find_period(question: str, *, now: datetime, date_order: DateOrder = "auto") -> Period | None:
    """Return the one stretch of time that a question asks for; none where it names none or asks when."""
    now = now if now.tzinfo else now.replace(tzinfo=UTC)
    read = _readable(question)
    moments = phrases(read, now=now, date_order=date_order)
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
        relation=asked.relation if asked else anchor.relation if anchor else TimeRelation.WITHIN,
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


def lies_in(period: Period, *moments: datetime) -> bool:
    """Return whether one of some moments lies in a period."""
    return any(
        (period.start is None or at >= period.start) and (period.end is None or at < period.end)
        for at in moments
    )


def nearness(moments: ArrayLike, period: Period) -> NDArray[np.float64]:
    """
    Return how near each moment is to a period: 1 inside, and exp(−d² / 2σ²) at d days outside of it.

    Moments are microseconds since 1970; one that is not known (NaN) scores 0. A period without ends, as
    one whose event is not found yet, is near to everything.
    """
    at = np.asarray(moments, dtype=np.float64)
    outside = np.zeros_like(at)
    if period.start is not None:
        outside = np.maximum(outside, to_microseconds(period.start) - at)
    if period.end is not None:
        outside = np.maximum(outside, at - to_microseconds(period.end))
    sigmas = outside / (period.softness_days * _MICROSECONDS_PER_DAY)
    scores: NDArray[np.float64] = np.where(np.isnan(at), 0.0, np.exp(-0.5 * sigmas**2))
    return scores


def inside(moments: ArrayLike, period: Period) -> NDArray[np.bool_]:
    """Return which moments, in microseconds since 1970, lie in a period: from its start to before its end."""
    at = np.asarray(moments, dtype=np.float64)
    is_inside = np.ones(at.shape, np.bool_)
    if period.start is not None:
        is_inside &= at >= to_microseconds(period.start)
    if period.end is not None:
        is_inside &= at < to_microseconds(period.end)
    return is_inside


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


_AROUND = {TimeRelation.AFTER: TimeRelation.SINCE, TimeRelation.BEFORE: TimeRelation.UNTIL}


def _counted(days: Days, happened_at: datetime) -> tuple[datetime | None, datetime | None]:
    """Return the range that days counted from an event mean."""
    first, last = days
    midnight = happened_at.replace(hour=0, minute=0, second=0, microsecond=0)
    if first is None or last is None:
        return (None, happened_at) if first is None else (happened_at, None)
    try:
        return midnight + timedelta(days=first), midnight + timedelta(days=last)
    except OverflowError:  # before the year 1 or after 9999
        return None, None


# Joining the phrases of a question. Those that belong together become one first ("last week on Tuesday",
# "from 3 March until 7 April", "the Sunday before 25 October"). Of what is left the overlap counts; where
# there is none, a full date beats "recently", and otherwise everything from the first to the last is meant.


class AskedPeriod(Struct, frozen=True, kw_only=True):
    """From `start` to before `end`, how far off that may be, and where the question says it."""

    start: datetime | None
    end: datetime | None
    softness_days: float
    relation: TimeRelation
    spans: tuple[tuple[int, int], ...]


def join(question: str, moments: list[MomentRange], *, now: datetime) -> AskedPeriod | None:
    """Return the one stretch that the phrases ask for."""
    asked: list[AskedPeriod] = []
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


def _asked(moment: MomentRange) -> AskedPeriod:
    return AskedPeriod(
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
    is_joined = _JOINS.fullmatch(between) or (not between.strip() and two.relation is TimeRelation.UNTIL)
    if opens and is_joined and one.start < two.end:
        return replace(one, end=two.end, relation=TimeRelation.WITHIN)
    if two.relation in (TimeRelation.BEFORE, TimeRelation.AFTER) and not between.strip():
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
        relation = fine.relation if fine.relation is not TimeRelation.WITHIN else coarse.relation
        return replace(_placed(fine, coarse, now=now), relation=relation)
    return None


def _beside(one: MomentRange, two: MomentRange) -> MomentRange | None:
    """Return the Sunday before 25 October, the weekend after 3 May: moved by whole weeks."""
    week, length = timedelta(weeks=1), one.end - one.start
    if one.relation is not TimeRelation.WITHIN or length > week:
        return None
    try:
        if two.relation is TimeRelation.AFTER:
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
    """Return whether a phrase leaves open which week or year it is in: on Tuesday, in March."""
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


def _both(question: str, one: AskedPeriod, two: AskedPeriod) -> AskedPeriod:
    """
    Return the overlap of two stretches, or everything from the first to the last.

    The latter if they have no overlap, or if both are whole and the question names one and the other.
    """
    spans = (*one.spans, *two.spans)
    start, end = _latest(one.start, two.start), _earliest(one.end, two.end)
    is_whole = one.relation is TimeRelation.WITHIN and two.relation is TimeRelation.WITHIN
    names_both = is_whole and _EITHER.search(question[one.spans[-1][1] : two.spans[0][0]])
    if not names_both and (start is None or end is None or start < end):
        softness = min(one.softness_days, two.softness_days)
    elif not names_both and (dated := _with_year(question, one, two)):
        return replace(dated, spans=spans)
    else:
        start = None if None in (one.start, two.start) else _earliest(one.start, two.start)
        end = None if None in (one.end, two.end) else _latest(one.end, two.end)
        softness = max(one.softness_days, two.softness_days)
    if start is None and end is None:
        return one
    relation = TimeRelation.WITHIN if start and end else TimeRelation.SINCE if start else TimeRelation.BEFORE
    return AskedPeriod(start=start, end=end, softness_days=softness, relation=relation, spans=spans)


_YEAR_SAID = lazy(r"(?:19|20)\d\d")


def _with_year(question: str, one: AskedPeriod, two: AskedPeriod) -> AskedPeriod | None:
    """Return the one that says its year: what was "recently", as I said on 7 February 2022, was then."""
    full = [each for each in (one, two) if any(_YEAR_SAID.search(question, *span) for span in each.spans)]
    return full[0] if len(full) == 1 else None


def _latest(one: datetime | None, two: datetime | None) -> datetime | None:
    return max(one, two) if one and two else one or two


def _earliest(one: datetime | None, two: datetime | None) -> datetime | None:
    return min(one, two) if one and two else one or two
