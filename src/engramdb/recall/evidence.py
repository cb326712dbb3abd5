"""Evidence trees: what supports an answer, how hops join, and the budget of a search."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial, reduce

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import ChatError
from engramdb.models.chat import ChatModel, Prompt, Reply
from engramdb.text.calendar import Precision
from engramdb.text.mentions import mentions
from engramdb.text.moments import MomentRange, Relation
from engramdb.text.normalize import lazy
from engramdb.text.sentences import sentences
from engramdb.text.terms import index_terms, query_terms
from engramdb.values import Hit, Judgment, Memory, ModelCall, Origin, Sufficiency

# A chat model with a budget: so many calls and tokens, and not one more.
#
# Made by the engine for one `reason` and handed to it in place of the model; calls the model inside. A call
# is
# made only when the most that it can cost still fits; then what it did cost is counted. A text of n bytes
# never
# has more than n/2 tokens in the vocabularies in use (English has n/4.4), so a prompt is never dearer than
# its
# reservation.

LEAST_REPLY_TOKENS = 64
"""A reply that may be no longer than less is not worth asking for."""
FRAME_TOKENS = 32
"""What a server puts around a prompt: roles and separators."""


class BudgetSpent(Exception):
    """A call would not fit into what is left; the message says of what."""


class Purse:
    """A chat model that makes no call which its budget might not cover."""

    def __init__(self, model: ChatModel, *, calls: int, tokens: int) -> None:
        self._model = model
        self._waiting: list[ModelCall] = []
        self.most_calls = calls
        self.most_tokens = tokens
        self.calls_left = calls
        self.tokens_left = tokens

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self._model.name

    def room(self, prompt: Prompt) -> int:
        """Return how many bytes could be added to a prompt that leaves its reply the tokens that it wants."""
        return 2 * (self.tokens_left - _most_tokens(prompt) - prompt.max_tokens)

    def complete(self, prompt: Prompt) -> Reply:
        """Return the model's reply, cut to what is left; raises `BudgetSpent` before the model is asked."""
        if self.calls_left < 1:
            raise BudgetSpent("calls")
        reserved = _most_tokens(prompt)
        most = min(prompt.max_tokens, self.tokens_left - reserved)
        if most < min(LEAST_REPLY_TOKENS, prompt.max_tokens):
            raise BudgetSpent("tokens")
        self.calls_left -= 1
        try:
            reply = self._model.complete(replace(prompt, max_tokens=most))
        except ChatError as exc:
            self.tokens_left -= reserved
            self._note(prompt, ModelCall(purpose="", model="", input_tokens=reserved, failure=exc.code))
            raise
        self._note(
            prompt,
            ModelCall(
                purpose="",
                model="",
                input_tokens=reply.input_tokens or reserved,
                output_tokens=reply.output_tokens or min(most, len(reply.text.encode()) // 2 + 1),
                milliseconds=reply.milliseconds,
            ),
        )
        last = self._waiting[-1]
        self.tokens_left -= last.input_tokens + last.output_tokens
        return reply

    def take_calls(self) -> tuple[ModelCall, ...]:
        """Return the calls since the last time, for the step of the tree that they belong to."""
        taken, self._waiting = tuple(self._waiting), []
        return taken

    def _note(self, prompt: Prompt, call: ModelCall) -> None:
        self._waiting.append(replace(call, purpose=prompt.name, model=self.name))


def _most_tokens(prompt: Prompt) -> int:
    return len((prompt.system + prompt.user).encode("utf-8", "replace")) // 2 + 1 + FRAME_TOKENS


# Rules for reasoning without a model: what to ask next, whether enough was found, and which evidence to keep.
#
# Called by `recall.reason`; pure functions of a question and its hits. A rule follows only what it can point
# at: the clauses and names of the question, and names that a found memory gives. It never makes up an answer.
# What this is worth and what not: docs/lab/0024-dream.md.

MOST_PARTS = 3
"""Questions that one question may lead to; each costs a recall, and with a model a call."""
LEADS_FROM = 3
"""So many of the best memories are read for a name that a question only describes."""
ENOUGH_SHARE = 0.99
"""A memory with this share of the words that matter answers the question as far as words can tell."""
ROOT_FIRST = 3
"""So many memories found by the question itself stand before those that its parts found."""
PER_CHILD = 2
"""So many memories of one follow-up question are moved forward."""

_CLAUSES = lazy(r"\s+(?:and|because|but|while|whereas|so that)\s+|\s*;\s*", 2)
_HINGES = lazy(r"\s+(?:before|after|since|until|while|when)\s+", 2)
_JOINT = lazy(r"\s*(?:,|and|or|&|,\s*and)\s*", 2)
_BOTH = lazy(r"\bboth\s+", 2)
_OWNED = lazy(r"['’]s?\s+[^\W\d_]+")
_OPENING = lazy(r"\b(?:the|a|an|who(?:ever|mever)?|his|her|their|my|our)\b", 2)
_RELATION = lazy(r"\b(?:of|who|whom|that|which|for|at|in|by|from|whoever)\b", 2)


def judge(question: str, hits: Sequence[Hit], *, least_relevance: float) -> tuple[Judgment, Origin]:
    """Return whether these memories are enough as far as words can tell, and what to ask if they are not."""
    fitting = [hit for hit in hits if hit.trust.relevance >= least_relevance]
    wanted = set(query_terms(question))
    best = max((len(wanted & _terms(hit.memory)) for hit in fitting), default=0)
    seen = f"the best memory has {best} of {len(wanted)} words that matter"
    if best and best >= ENOUGH_SHARE * len(wanted):
        return Judgment(sufficiency=Sufficiency.SUFFICIENT, why=seen), Origin.ASKED
    if parts := parts_of(question):
        why = f"it holds {len(parts)} questions, and {seen}"
        return Judgment(sufficiency=Sufficiency.BROAD, why=why, asks=tuple(parts)), Origin.PART
    leads = leads_from(question, fitting)
    why = seen if fitting else "nothing that is stored fits"
    if not leads:
        why += "; nothing in it leads on"
    return Judgment(sufficiency=Sufficiency.GAPS, why=why, asks=tuple(leads)), Origin.LEAD


def parts_of(question: str) -> list[str]:
    """Return the questions that a question holds: its sentences, names that it joins, clauses; or none."""
    whole = sentences(question)
    found = whole if len(whole) > 1 else [*_for_each_name(question)] or _clauses(question)
    return list(_distinct(found, besides=question))[:MOST_PARTS]


def leads_from(question: str, hits: Sequence[Hit]) -> list[str]:
    """
    Return the question with what it only describes put by name, where a memory gives one.

    Of "where does the lead of Falcon live?" and a memory that Anna leads Falcon this makes "where does Anna
    live?". Memories must hold the name within the description; those that share more of it are read first.
    """
    asked_names = {term for mention in mentions(question) for term in query_terms(mention.text)}
    found = []
    for start, end, anchor in _descriptions(question):
        described = set(query_terms(question[start:end]))
        anchored = [hit for hit in hits if anchor <= _terms(hit.memory)]
        anchored.sort(key=lambda hit: -len(described & _terms(hit.memory)))
        for hit in anchored[:LEADS_FROM]:
            names = [mention.text for mention in mentions(hit.memory.content)]
            new = [name for name in names if not asked_names & set(query_terms(name))]
            found += [f"{question[:start]}{name}{question[end:]}" for name in new]
    return list(_distinct(found, besides=question))[:MOST_PARTS]


def gathered(root: Sequence[Hit], followed: Sequence[tuple[str, Sequence[Hit]]], *, limit: int) -> list[Hit]:
    """
    Return the evidence of a whole tree, best first, each memory once.

    What the question itself found comes first; what a follow-up found is moved forward where it states what
    that asked for, and otherwise fills up the end.
    """
    forward = [_stating(question, hits) for question, hits in followed]
    rest = (hits for _, hits in followed)
    ordered = [*root[:ROOT_FIRST], *_in_turns(forward), *root[ROOT_FIRST:], *_in_turns(rest)]
    first_seen: dict[str, Hit] = {}
    for hit in ordered:
        first_seen.setdefault(hit.memory.id, hit)
    return list(first_seen.values())[:limit]


def _stating(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that name all that the question names, those with another word of it before others."""
    names = {term for mention in mentions(question) for term in query_terms(mention.text)}
    others = set(query_terms(question)) - names
    naming = [hit for hit in hits if names <= _terms(hit.memory)]
    exact = [hit for hit in naming if others & _terms(hit.memory)]
    return (exact or naming)[:PER_CHILD]


def _descriptions(question: str) -> Iterator[tuple[int, int, set[str]]]:
    """
    Yield the stretches that describe something by a name, innermost first, and what a memory must hold.

    "The lead of Falcon" must be met by a memory with Falcon: that somebody leads it can be said in many ways.
    "Anna's boss" must be met by one with both words: of Anna alone there are too many.
    """
    for mention in reversed(mentions(question)):
        start = question.find(mention.text)
        if start < 0:
            continue
        end = start + len(mention.text)
        if owned := _OWNED.match(question, end):
            yield start, owned.end(), set(query_terms(question[start : owned.end()]))
        openings = [one.start() for one in _OPENING.finditer(question, 0, start)]
        if openings and _RELATION.search(question, openings[-1], start):
            yield openings[-1], end, set(query_terms(mention.text))


def _in_turns(lists: Iterable[Sequence[Hit]]) -> Iterator[Hit]:
    for row in itertools.zip_longest(*lists):
        yield from (hit for hit in row if hit is not None)


def _for_each_name(question: str) -> Iterator[str]:
    """Yield the question for each of two names that it joins: what did Anna do, what did Tom do."""
    plain = _BOTH.sub("", question)
    names = [mention.text for mention in mentions(plain)]
    for first, second in itertools.pairwise(names):
        start, end = plain.find(first), plain.find(second)
        between = plain[start + len(first) : end]
        if start < end and _JOINT.fullmatch(between):
            yield plain[:start] + first + plain[end + len(second) :]
            yield plain[:start] + second + plain[end + len(second) :]


def _clauses(question: str) -> list[str]:
    """Return the clauses of a question; a later one that names nothing takes the first name of the first."""
    for hinge in (_CLAUSES, _HINGES):
        parts = [part.strip(" ,?") for part in hinge.split(question)]
        if len(parts) > 1 and all(len(_plain_terms(part)) > 1 for part in parts):
            names = " ".join(mention.text for mention in mentions(parts[0])[:1])
            return [
                part if not place or mentions(part) else f"{names} {part}".strip()
                for place, part in enumerate(parts)
            ]
    return []


def _plain_terms(text: str) -> set[str]:
    """Return the words that matter and name nothing."""
    return set(query_terms(text)) - {term for mention in mentions(text) for term in query_terms(mention.text)}


def _distinct(questions: Iterable[str], *, besides: str) -> Iterator[str]:
    seen = {frozenset(query_terms(besides))}
    for question in questions:
        key = frozenset(query_terms(question))
        if key and key not in seen:
            seen.add(key)
            yield question


def _terms(memory: Memory) -> set[str]:
    return set(index_terms(memory))


# Make one stretch of time of the phrases of a question.
#
# Called by `recall.period` with what `recall.asked` found. Phrases that belong together become one first
# ("last week on Tuesday", "from 3 March until 7 April", "the Sunday before 25 October"). Of what is left
# the overlap counts; where there is none, a full date beats "recently", and otherwise everything from the
# first to the last is meant. How soft the edges are follows from the length of the phrase:
# docs/lab/0013-time-in-questions.md.


class Asked(Struct, frozen=True, kw_only=True):
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
_OPENING_JOINING = lazy(r"(?:from|vom|dal|desde|du|del|с)\s", re.IGNORECASE)
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
    opens = _OPENS.search(question[max(0, one.first - 12) : one.first]) or _OPENING_JOINING.match(
        question, one.first
    )
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
