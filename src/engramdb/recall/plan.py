"""Plan a recall: what is asked, period, subject, weights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from engramdb.policy import RecallPolicy
from engramdb.recall.anchors import DISTANCE, Anchor, Days, counted_days, find_anchor
from engramdb.recall.evidence import join
from engramdb.recall.intent import Intent, classify, is_code, is_unspaced
from engramdb.store.contract import Sketch
from engramdb.text.calendar import Direction
from engramdb.text.lexicons import any_pattern, languages
from engramdb.text.moment_rules import PAST_VERB
from engramdb.text.moment_words import WEEKDAYS
from engramdb.text.moments import MomentRange, Relation, find_moments
from engramdb.text.names import fold_name
from engramdb.text.normalize import lazy

GRAPH_HOPS = 2
"""How far links are followed where no intent says otherwise."""

# Whom does the question name? What they said, and what is about them, comes first.

_PRONOUNS = frozenset(
    {"i", "we", "you", "he", "she", "it", "they", "this", "that", "there", "the user", "user"}
)
_POSSESSIVE = lazy(r"['’]s\b")


def subjects(question: str, sketches: Mapping[int, Sketch]) -> list[int]:
    """Return the candidates that were said by, or are about, somebody whom the question names."""
    asked = f" {fold_name(_POSSESSIVE.sub('', question))} "
    known: dict[str, bool] = {}

    def is_named(name: str | None) -> bool:
        if not name or name.casefold() in _PRONOUNS:
            return False
        if name not in known:
            folded = fold_name(name)
            known[name] = bool(folded) and any(f" {part} " in asked for part in (folded, folded.split()[0]))
        return known[name]

    return [key for key, one in sketches.items() if is_named(one.speaker) or is_named(one.subject)]


# Which time phrases of a question say when, and which way they point.
#
# Called by `recall.period`; the phrases come from `text.moments`, and `recall.joining` makes one of them.
# A question looks back unless it says otherwise, so bare weekdays and months are the last ones; the words
# of habits point nowhere. Left out are names, and what was only spoken about: the August of "what did I
# say yesterday about the trip in August?" is no time to search in.

_AHEAD_SPACED, _AHEAD_UNSPACED = (
    any_pattern([one.questions.ahead for one in languages().values() if one.spaced is is_spaced])
    for is_spaced in (True, False)
)
_AHEAD = lazy(rf"\b(?:{_AHEAD_SPACED})\b|{_AHEAD_UNSPACED}", re.IGNORECASE)
_PLANNED = lazy(r"\b(?:planned|scheduled)\b", re.IGNORECASE)
_PLANNED_FOR = lazy(r"\bplan(?:s|ned)?\s+(?:[\w']+\s+){0,3}for\b", re.IGNORECASE)
_HABIT = lazy(r"\b(?:do\s+(?:i|we|you|they)|does|usually|always|normally|typically|often)\b", re.IGNORECASE)


def direction_asked(question: str) -> Direction:
    """Return which way a bare "on Friday" points in a question: back, but for plans and habits."""
    if _PLANNED_FOR.search(question):
        return "future"
    if PAST_VERB.search(_PLANNED.sub("", question)):
        return "past"
    if _AHEAD.search(question):
        return "future"
    return "unknown" if _HABIT.search(question) else "past"


def phrases(question: str, *, now: datetime) -> list[MomentRange]:
    """Return the time phrases of a question that say when, in their order."""
    found = find_moments(question, now=now, direction=direction_asked(question))
    found = [_counted_asked(question, moment) for moment in found if not _is_something_else(question, moment)]
    return _without_topics(question, found)


_DISTANCE = lazy(rf"\b{DISTANCE}\Z")


def _counted_asked(question: str, moment: MomentRange) -> MomentRange:
    """Return "the week before Christmas" for the "before Christmas" in it; other phrases as they are."""
    if moment.relation not in (Relation.BEFORE, Relation.AFTER):
        return moment
    begin = max(0, moment.first - 30)
    distance = _DISTANCE.search(question[begin : moment.first])
    if distance is None:
        return moment
    is_after = moment.relation is Relation.AFTER
    first, last = counted_days(distance.groupdict(), is_after=is_after)
    day = moment.end - timedelta(days=1) if is_after else moment.start
    try:
        start, end = day + timedelta(days=first), day + timedelta(days=last)
    except OverflowError:  # a year before 1 or after 9999
        return moment
    return replace(moment, first=begin + distance.start(), start=start, end=end, relation=Relation.WITHIN)


_NOW = {"these days"}
"""What holds now may have been said long ago: no reason to look at the last days only."""
_NAME_BEFORE = lazy(r"(?:\b(?:is|the|a|plays?|named|called)|(?<=\w )[A-Z][a-z]+)\s+\Z")
_NAME_AFTER = lazy(r"\s+(?!I\b)[A-Z]")


def _is_something_else(question: str, moment: MomentRange) -> bool:
    """Say whether a phrase is a name (Black Friday, Wednesday Addams, "who is Friday?") or means now."""
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


# The stretch of time that a question asks for, and how near a memory is to it.
#
# Called by `recall.plan` with the question and the clock's now; calls `recall.asked` for the phrases,
# `recall.joining` to make one of them, and `recall.anchors` for events. Pure: "since the release" becomes
# a range only when somebody who can search says when the release was. Nearness is 1 inside and falls off
# outside like a bell, never to nothing at once, because people are wrong about when things were:
# docs/lab/0013-time-in-questions.md.

LONGEST_READ = 500
"""Characters at either end of a question that are read; what lies between is pasted text."""
ANCHOR_SOFTNESS_DAYS = 1.0
"""An event is remembered to about a day."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS_PER_DAY = 86_400_000_000


class Period(Struct, frozen=True, kw_only=True):
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


# How a query is searched for: the share of each index, and how deep links are followed.

LEAST_TEXT, MOST_TEXT = 0.1, 0.7
"""However a query looks, neither words nor meaning are left out."""

PLAIN_TEXT = 0.3
"""The share of words in a query whose shape says nothing: docs/lab/0003-fusion.md."""

LITERAL_STEP, CONCEPT_STEP = 0.1, 0.08
"""What each sign of an exact or of an open question moves the share of words by, as asked for."""

SHORT_WORDS, LONG_WORDS = 3, 8
"""So few words are looked for as they are; more than so many describe something."""

CHARACTERS_PER_WORD = 2
"""In scripts without spaces, roughly."""

MOST_CHARACTERS = 1000
"""Of a query that are looked at for its shape."""

_QUOTED = lazy(r"\"[^\"]{2,100}\"|“[^”]{2,100}”|«[^»]{2,100}»|「[^」]{1,100}」|`[^`]{1,100}`")
_WORD = lazy(r"\w+")
_OPEN = [word for one in languages().values() if one.spaced for word in one.questions.open.split()]
_EXACT = [word for one in languages().values() for word in one.questions.exact.split()]
"""After a word that opens a question wide, these close it again: "how many" wants a number."""
_OPEN_UNSPACED = [
    word for one in languages().values() if not one.spaced for word in one.questions.open.split()
]
_DEFINITE = ("the", "my", "our", "your", "his", "her", "their", "this", "that")


class IntentShares(Struct, frozen=True, kw_only=True):
    """How one kind of question is searched for."""

    lexical: float
    """The weight of words against that of meaning;"""
    vector: float
    """of meaning against that of words."""
    graph: float
    """What is added to the bonus of memories that are linked to the best."""
    hops: int = GRAPH_HOPS
    """How far links are followed from the best."""


INTENTS: Mapping[Intent, IntentShares] = MappingProxyType(
    {
        Intent.LOOKUP: IntentShares(lexical=0.6, vector=0.2, graph=0.1),
        Intent.EXPLORATORY: IntentShares(lexical=0.2, vector=0.5, graph=0.2),
        Intent.COMPARATIVE: IntentShares(lexical=0.25, vector=0.3, graph=0.15),
        Intent.TEMPORAL: IntentShares(lexical=0.2, vector=0.3, graph=0.05),
        # Asked for as 0.3, 0.3 and 0.1, which do not make 1.
        Intent.PROCEDURAL: IntentShares(lexical=0.43, vector=0.43, graph=0.14),
        # A cause is linked to its effect and often shares no word with it.
        Intent.CAUSAL: IntentShares(lexical=0.2, vector=0.2, graph=0.5, hops=3),
        Intent.ENTITY: IntentShares(lexical=0.2, vector=0.2, graph=0.1),
    }
)
"""
Starting points; what is switched on, an eval decides: docs/lab/0012-intents.md.

Lookup, exploratory, procedural and causal have the numbers of seed 002; it only describes the other three.
"""


class RecallPlan(Struct, frozen=True, kw_only=True):
    """How one query is searched for, under a policy."""

    weights: Mapping[str, float]
    """Of the lexical and the vector index; they make 1."""
    candidates: int
    """How many each index may offer."""
    graph_bonus: float
    hops: int
    """How far links are followed."""
    period: Period | None
    intent: Intent | None = None
    """Where the kind of question shifted something."""


def plan(query: str, policy: RecallPolicy, *, now: datetime) -> RecallPlan:
    """
    Return how a query is searched for under this policy, at this moment.

    An intent is a guess, so it moves the weights away from the plain ones only as far as it is sure; a
    wrong guess then costs little.
    """
    words = 1 - policy.vector_weight
    if policy.balances_by_shape:
        words = text_share(query, plain=words)
    plain = RecallPlan(
        weights={"lexical": words, "vector": 1 - words},
        candidates=policy.candidates,
        graph_bonus=policy.graph_bonus,
        hops=GRAPH_HOPS,
        period=find_period(query, now=now),
    )
    return _shifted(plain, query) if policy.plans_by_intent else plain


def _shifted(plain: RecallPlan, query: str) -> RecallPlan:
    """Return the plan, moved towards what the intent of the query wants as far as that is sure."""
    guessed = classify(query)
    shares, sure = INTENTS[guessed.intent], guessed.confidence
    words = text_share(query, plain=plain.weights["lexical"])
    lexical = _between(words, shares.lexical, sure)
    vector = _between(1 - words, shares.vector, sure)
    return replace(
        plain,
        weights={"lexical": lexical / (lexical + vector), "vector": vector / (lexical + vector)},
        graph_bonus=plain.graph_bonus + sure * shares.graph,
        hops=shares.hops,
        intent=guessed.intent,
    )


def text_share(query: str, *, plain: float = PLAIN_TEXT) -> float:
    """
    Return how much the words count against the meaning, by the shape of the query alone.

    Identifiers, paths, digits, quotations and few words ask for words; how, why and length for meaning.
    """
    read = query[:MOST_CHARACTERS]
    words = read.split()
    count = len(read) / CHARACTERS_PER_WORD if is_unspaced(read) else len(words)
    literal = (
        any("/" in word and is_code(word) for word in words),
        any(map(str.isdigit, read)),
        any("/" not in word and is_code(word) for word in words),
        _QUOTED.search(read) is not None,
        count <= SHORT_WORDS,
    )
    concept = (_asks_openly(read), count > LONG_WORDS)
    share = plain + LITERAL_STEP * sum(literal) - CONCEPT_STEP * sum(concept)
    return min(MOST_TEXT, max(LEAST_TEXT, share))


def _asks_openly(text: str) -> bool:
    """Say whether an explanation is wanted: "how does it", "what is idempotency", not "what is my"."""
    if any(piece in text for piece in _OPEN_UNSPACED):
        return True
    first, second, third = [*_WORD.findall(text[:100].lower()), "", "", ""][:3]
    if first == "what" and second in ("is", "s"):
        return third not in _DEFINITE
    return (first in _OPEN and second not in _EXACT) or (first, second) == ("por", "qué")


def _between(start: float, end: float, share: float) -> float:
    return start + share * (end - start)
