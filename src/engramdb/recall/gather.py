"""Gather candidates from the indexes inside scope and filters."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.errors import EmbeddingError, EngramError
from engramdb.index.vector import Nearest
from engramdb.lifecycle.neighbors import FindsByWords
from engramdb.lifecycle.screening import JudgesHostility
from engramdb.models.calibration import Calibration
from engramdb.policy import RecallPolicy
from engramdb.recall.as_of import believed
from engramdb.recall.fuse import Fused, ScoresTexts, collapse
from engramdb.recall.intent import Intent, classify
from engramdb.recall.period import Period
from engramdb.settings import DateOrder
from engramdb.store.contract import ScoredKey, Sketch, Store, Transaction
from engramdb.text.normalize import counted
from engramdb.text.terms import query_terms, said_words, terms
from engramdb.values import (
    Edge,
    EdgeType,
    EmbedderIdentity,
    Filters,
    Level,
    Memory,
    MemoryId,
    Missing,
    Query,
    Reason,
    Scope,
    SecurityTier,
    Turn,
)
from engramdb.vault.indexing import open_memory

if TYPE_CHECKING:
    from engramdb.recall.pipeline import Asking


class JudgesQuestions(Protocol):
    """The part of a judge that recall needs: what a question takes for granted, and what answers it."""

    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> list[bool] | None: ...
    def answers(self, question: str, memories: Sequence[str], *, seconds: float) -> list[float] | None: ...


SESSION_CROWD = 50
"""Only what scores above this rank lends to its neighbors in the session (docs/lab/0018-recall.md),"""
CROWD_SHARE = 2
"""and of few candidates only the better half."""
MIN_HITS = 3
"""So many hits are given even below the least score, where nothing better is there."""
NOTHING_BELOW = 0.02
"""What scores less than this is never given: an empty answer says more."""


# From candidates to memories: the best that fit, as they are or as they were, and which of them are
# disputed.
#
# Whatever an index remembers wrongly is left out here once more, and so is what has a last day that is
# over.

PAST_CANDIDATES = 4
"""Of the past so many times as many candidates are looked at, since many were not there yet."""
_OF_A_WHOLE = frozenset({Intent.ENTITY, Intent.EXPLORATORY})
_KIND_IN_HEADING = re.compile(r" \(\w+\)")
_SPARE = 3
"""Of the past so many more than asked are fetched, since some stand for the same thing."""


def answering(
    asking: Asking, best: Sequence[tuple[Fused, Memory]], fits: Mapping[int, float]
) -> list[tuple[Fused, Memory]]:
    """Return what fits well enough to be an answer, and a few at any rate: the best may be asked in vain."""
    policy = asking.policy
    return [
        (one, memory)
        for place, (one, memory) in enumerate(best)
        if fits.get(one.key, 0.0) >= (NOTHING_BELOW if place < MIN_HITS else policy.least_score)
    ]


def fetch(
    tx: Transaction, asking: Asking, order: Sequence[Fused], *, wanted: int
) -> list[tuple[Fused, Memory]]:
    """Return the best as memories; whatever an index remembers wrongly is left out here once more."""
    if asking.then.is_past:
        return _fetch_past(tx, asking, order, wanted=wanted)
    best: list[tuple[Fused, Memory]] = []
    for start in range(0, len(order), wanted):
        page = order[start : start + wanted]
        memories = tx.memories.by_keys([one.key for one in page])
        found = [(one, memories[one.key]) for one in page if one.key in memories]
        best += [
            (one, memory)
            for one, memory in found
            if _fits(memory, asking.query, asking.now) and _is_asked_for(memory, asking.query.text)
        ]
        best = collapse(best, lambda pair: pair[1])
        if len(best) >= wanted:
            break
    return best[:wanted]


def _fetch_past(
    tx: Transaction, asking: Asking, order: Sequence[Fused], *, wanted: int
) -> list[tuple[Fused, Memory]]:
    """Return the best of what counts at the moments asked for, as the memories that they were then."""
    scored = {one.key: one for one in order}
    found = believed(
        tx,
        list(scored),
        then=asking.then,
        scope=asking.query.scope,
        filters=asking.query.filters,
        now=asking.now,
        limit=wanted + _SPARE,
    )
    if len(found) < wanted and len(order) >= asking.plan.candidates * PAST_CANDIDATES:
        asking.notes.lost("past", "most candidates are of another time; others may be missing")
    return collapse([(scored[key], memory) for key, memory in found], lambda pair: pair[1])[:wanted]


def open_sketches(tx: Transaction, keys: Sequence[int]) -> dict[int, Sketch]:
    """Return what ranking needs to know of memories; of a confidential one, no word of its secret."""
    sketches = tx.candidates.sketches(keys)
    secret = [key for key, one in sketches.items() if one.security == SecurityTier.CONFIDENTIAL]
    for key, memory in tx.memories.by_keys(secret).items() if secret else ():
        shown = open_memory(memory)
        context = " ".join([shown.answers or "", *shown.refers_to])
        sketches[key] = replace(sketches[key], subject=shown.subject, content=shown.content, context=context)
    return sketches


def _fits(memory: Memory, query: Query, now: datetime) -> bool:
    """Tell whether a memory may be shown; one whose last day is over counts as gone before a sweep comes."""
    is_seen = query.scope.sees(memory.scope) and memory.status in query.filters.statuses
    return is_seen and not memory.is_over(now)


def _is_asked_for(memory: Memory, question: str) -> bool:
    """
    Tell whether a memory belongs into an answer, which only a profile may not.

    It repeats what is stored by itself, so it is given to whoever names what it is of, or wants to know about
    somebody or everything; any other question is answered by its statements, for a tenth of the tokens.
    """
    if not memory.is_profile:
        return True
    heading = memory.content.partition("\n")[0].partition(":")[0]
    named = _KIND_IN_HEADING.sub("", heading)
    return bool({*query_terms(named)} & {*query_terms(question)}) or classify(question).intent in _OF_A_WHOLE


def contradicted(tx: Transaction, asking: Asking, best: Sequence[tuple[Fused, Memory]]) -> set[str]:
    """Return which of these memories stand against another one, by the moment that is asked about."""
    until = asking.then.as_of or asking.now
    keys = [one.key for one, _ in best]
    linked = tx.edges.touching(keys)
    against = {
        key
        for source, target, kind in zip(linked.sources, linked.targets, linked.types, strict=True)
        if kind == EdgeType.CONTRADICTS
        for key in (int(source), int(target))
    }
    return {
        memory.id
        for one, memory in best
        if one.key in against
        and any(
            edge.type is EdgeType.CONTRADICTS
            and edge.created_at <= until
            and tx.memories.get(_other_end(edge, memory), scope=asking.query.scope) is not None
            for edge in tx.edges.of(memory.id)
        )
    }


def _other_end(edge: Edge, memory: Memory) -> MemoryId:
    return edge.target if edge.source == memory.id else edge.source


# What was said beside a good memory is worth something too: an answer often stands next to its question.


def crowd_score(ranked: Sequence[Fused]) -> float:
    """Return the score of the rank from which on candidates are a crowd."""
    return ranked[min(SESSION_CROWD, len(ranked) // CROWD_SHARE)].score if ranked else 0.0


def surround(
    tx: Transaction, ranked: Sequence[Fused], query: Query, policy: RecallPolicy
) -> dict[int, float]:
    """Return what each memory gains from the good ones beside it in its session."""
    crowd = crowd_score(ranked)
    above = {one.key: one.score - crowd for one in ranked[:SESSION_CROWD] if one.score > crowd}
    if not above or not policy.session_reach:
        return {}
    best: defaultdict[tuple[int, int], float] = defaultdict(float)
    beside = tx.candidates.session_neighbors(
        list(above), reach=len(policy.session_reach), scope=query.scope, filters=query.filters
    )
    for seed, neighbor, distance in beside:
        best[neighbor, distance] = max(best[neighbor, distance], above[seed])
    gained: defaultdict[int, float] = defaultdict(float)
    for (neighbor, distance), excess in best.items():
        gained[neighbor] += policy.session_reach[distance - 1] * excess
    return dict(gained)


# Ask every index what might fit the question.
#
# An index that fails, or that has only part of the memories, is noted with its reason, and the others
# answer.

LEXICAL, VECTOR = "lexical", "vector"
FEW_PASSING = 20_000
"""Up to so many memories that pass a filter by words are handed to the vector search as a list."""


class EmbedsQueries(Protocol):
    """The part of an embedder that recall needs."""

    @property
    def identity(self) -> EmbedderIdentity: ...
    @property
    def similarity_floor(self) -> float: ...
    @property
    def similarity_ceiling(self) -> float: ...
    @property
    def calibration(self) -> Calibration: ...
    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class FindsByVector(Protocol):
    """The part of the vector index that recall needs."""

    def search(
        self,
        tx: Transaction,
        query: NDArray[np.float32],
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
        also: Sequence[int],
        among: NDArray[np.int64] | None = None,
        text: str = "",
    ) -> Nearest: ...


class FindsByLinks(Protocol):
    """The part of the graph that recall needs."""

    def activate(
        self,
        tx: Transaction,
        seeds: Mapping[int, float],
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
        hops: int,
        decay: float,
        floor: float,
        through_entities: bool,
    ) -> list[ScoredKey]: ...


class WeighsWords(FindsByWords, Protocol):
    """The part of the text index that recall needs."""

    def rarity(self, tx: Transaction, words: Sequence[str], *, scope: Scope) -> dict[str, float]: ...


class MatchesWords(Protocol):
    """What holds each word of a question against the nearest one of a text."""

    def covers(self, weights: Mapping[str, float], texts: Sequence[str]) -> NDArray[np.float32]: ...


class Sources(Struct, frozen=True, kw_only=True):
    """Everything that recall reads from."""

    store: Store
    embedder: EmbedsQueries
    lexical: WeighsWords
    vector: FindsByVector
    graph: FindsByLinks
    policy: RecallPolicy
    reranker: ScoresTexts | None = None
    judge: JudgesQuestions | None = None
    """What reads the question beside what was found, where there is such a judge,"""
    answering_seconds: float = 0.0
    """and for how long it may look for what answers it."""
    matcher: MatchesWords | None = None
    """What compares word by word, where the embedder only adds words up."""
    date_order: DateOrder = "auto"
    forgotten: KnowsForgotten | None = None
    """What knows which of the words that were said must not be shown."""
    hostility: JudgesHostility | None = None
    """What tells beside the patterns whether words try to steer an agent; a quick one."""


class KnowsForgotten(Protocol):
    """The part of what knows the forgotten that recall needs."""

    def is_told(self, tx: Transaction, turn: Turn, excerpt: str) -> bool: ...


class Notes(Struct):
    """What is learned on the way, for the quality of the answer."""

    missing: list[Missing] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    level: Level = Level.FULL

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the block's milliseconds to the stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.stages[stage] = self.stages.get(stage, 0.0) + (time.perf_counter() - started) * 1000

    def lost(self, index: str, reason: str, level: Level | None = None) -> None:
        """Note that something did not take part, and how much poorer the answer is for it."""
        self.missing.append(Missing(index=index, reason=reason))
        if level is not None and list(Level).index(level) > list(Level).index(self.level):
            self.level = level

    def failed(self, index: str, error: EngramError, instead: str, level: Level | None = None) -> None:
        """Note that something failed, by its code and message, and what was done without it."""
        self.lost(index, f"{error.code} {error.message}; {instead}", level)


def embed(question: str, sources: Sources, notes: Notes) -> NDArray[np.float32] | None:
    """Return the question's vector; None, and a note, where the embedder fails."""
    with notes.timed("embed"):
        try:
            (vector,) = sources.embedder.embed_queries([question])
        except EmbeddingError as exc:
            notes.failed(VECTOR, exc, "memories were found by their words only", Level.TEXT_ONLY)
            return None
        found: NDArray[np.float32] = vector
        return found


def gather(
    tx: Transaction,
    query: Query,
    vector: NDArray[np.float32] | None,
    sources: Sources,
    notes: Notes,
    *,
    words: str,
    candidates: int,
) -> dict[str, list[ScoredKey]]:
    """Return each index's answer, best first; `words` is what the text index is asked."""
    limit = max(candidates, query.limit)
    answers: dict[str, list[ScoredKey]] = {}
    with notes.timed(LEXICAL):
        answers[LEXICAL] = sources.lexical.search(
            tx, words, scope=query.scope, filters=query.filters, limit=limit
        )
    if vector is None:
        return answers
    with notes.timed(VECTOR):
        also = [one.key for one in answers[LEXICAL]]
        nearest = _nearest(tx, query, vector, sources, limit=limit, also=also)
        answers[VECTOR] = as_similarities(nearest.found, sources.embedder)
    if nearest.from_disk:
        notes.level = Level.DISK_VECTORS
    if nearest.waiting:
        told = counted(nearest.waiting, "memory waits", "memories wait")
        notes.lost(VECTOR, f"{told} to be embedded", Level.REDUCED)
    if nearest.borrowed:
        told = counted(nearest.borrowed, "memory is", "memories are")
        notes.lost(VECTOR, f"{told} still in the space of an earlier model", Level.REDUCED)
    if nearest.unread:
        told = counted(nearest.unread, "memory is", "memories are")
        notes.lost(VECTOR, f"{told} not loaded yet", Level.REDUCED)
    for told in nearest.notes:
        notes.lost(VECTOR, told, Level.REDUCED)
    return answers


MAX_OF_PERIOD = 2000
"""Up to so many memories of a time are all candidates; of more, those that words and meaning choose."""


def gather_period(
    tx: Transaction, query: Query, asking: Asking, *, words: str
) -> tuple[dict[str, list[ScoredKey]], list[int]]:
    """
    Return each index's answer from within the time that the question names, and all that is of that time.

    "What happened yesterday?" has no word in common with what did; among what is of yesterday any order will
    do. What is missing was noted when the whole store was asked.
    """
    period, sources = asking.plan.period, asking.sources
    if period is None or (period.start is None and period.end is None):
        return {}, []
    since, until = _narrower(query.filters, period)
    if since is not None and until is not None and since >= until:
        return {}, []
    within = replace(query, filters=replace(query.filters, since=since, until=until))
    answers = gather(
        tx, within, asking.vector, sources, Notes(), words=words, candidates=asking.plan.candidates
    )
    keys = tx.candidates.in_period(
        since, until, scope=query.scope, filters=query.filters, limit=MAX_OF_PERIOD
    )
    if keys and asking.vector is not None:
        nearest = sources.vector.search(
            tx,
            asking.vector,
            scope=query.scope,
            filters=query.filters,
            limit=len(keys),
            also=(),
            among=np.array(keys, np.int64),
            text=query.text,
        )
        answers[VECTOR] = as_similarities(nearest.found, sources.embedder)
    return answers, keys or []


def _narrower(filters: Filters, period: Period) -> tuple[datetime | None, datetime | None]:
    starts = [at for at in (filters.since, period.start) if at is not None]
    ends = [at for at in (filters.until, period.end) if at is not None]
    return max(starts, default=None), min(ends, default=None)


def united(found: Sequence[ScoredKey], others: Sequence[ScoredKey]) -> list[ScoredKey]:
    """Return two lists of one index as one, best first and each memory once."""
    known = {one.key for one in found}
    return sorted([*found, *(one for one in others if one.key not in known)], key=lambda one: -one.score)


def _nearest(
    tx: Transaction,
    query: Query,
    vector: NDArray[np.float32],
    sources: Sources,
    *,
    limit: int,
    also: Sequence[int],
) -> Nearest:
    """
    Return the nearest memories that pass the filters.

    Filters by words, such as an entity or a path, are answered by the store: before the search where few
    memories pass, and after it, in ever larger steps until enough passed, where many do.
    """
    scope, filters = query.scope, query.filters
    search = partial(
        sources.vector.search, tx, vector, scope=scope, filters=filters, also=also, text=query.text
    )
    if not filters.needs_store:
        return search(limit=limit)
    keys = tx.memories.keys_passing(scope=scope, filters=filters, limit=FEW_PASSING)
    if keys is not None:
        return search(limit=limit, among=np.array(keys, np.int64))
    size = limit
    while True:
        nearest = search(limit=size)
        passing = tx.candidates.filter_keys([one.key for one in nearest.found], scope=scope, filters=filters)
        found = [one for one in nearest.found if one.key in passing]
        if len(found) >= limit or len(nearest.found) < size:
            return replace(nearest, found=found)
        size *= 4


def as_similarities(found: Sequence[ScoredKey], embedder: EmbedsQueries) -> list[ScoredKey]:
    """
    Return cosines as similarities that mean the same whichever embedder gave them.

    0 is what is unrelated in its eyes, 1 what says the same as the question: for some that is far below a
    cosine of 1.
    """
    floor, ceiling = embedder.similarity_floor, embedder.similarity_ceiling
    ceiling = ceiling if ceiling > floor else 1.0
    return [ScoredKey(one.key, min(1.0, max(0.0, (one.score - floor) / (ceiling - floor)))) for one in found]


# Say truly what the text index found a memory by: its own words, or only a topic inferred from them.

TOPIC = "topic"


def named_truly(
    reasons: tuple[Reason, ...], memory: Memory, *, asked: AbstractSet[str]
) -> tuple[Reason, ...]:
    """Return the reasons, the text index's called `topic` where the memory holds none of the asked terms."""
    if not any(reason.index == LEXICAL for reason in reasons) or shares_word(memory, asked):
        return reasons
    return tuple(replace(one, index=TOPIC) if one.index == LEXICAL else one for one in reasons)


def shares_word(memory: Memory, asked: AbstractSet[str]) -> bool:
    """Return whether one of the terms is in what was said, in its day, or in the name of who said it."""
    return not asked.isdisjoint(terms(said_words(open_memory(memory))))
