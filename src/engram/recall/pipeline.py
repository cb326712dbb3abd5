"""
Answer one query: gather from every index, fuse, weigh, explain.

Called by the engine; reads one snapshot of the store from beginning to end. An index that fails or has
only part of the memories is named in the answer with its reason, and the others answer without it.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from engram.errors import EmbeddingError
from engram.recall.fuse import Fused, explain, fuse
from engram.recall.quality import average, ndcg
from engram.recall.trust import trust
from engram.store.contract import Found
from engram.text.tokens import count_tokens
from engram.values import Hit, Missing, Quality, Recall

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.index.vector import Nearest
    from engram.policy import RecallPolicy
    from engram.store.contract import Store, Transaction
    from engram.values import Filters, Memory, Query, Scope

LEXICAL, VECTOR = "lexical", "vector"


class EmbedsQueries(Protocol):
    """The part of an embedder that recall needs."""

    @property
    def similarity_floor(self) -> float: ...
    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class FindsByWords(Protocol):
    """The part of the lexical index that recall needs."""

    def search(
        self, tx: Transaction, text: str, *, scope: Scope, filters: Filters, limit: int
    ) -> list[Found]: ...


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
    ) -> Nearest: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Everything that recall reads from."""

    store: Store
    embedder: EmbedsQueries
    lexical: FindsByWords
    vector: FindsByVector
    policy: RecallPolicy


@dataclass(slots=True)
class _Notes:
    """What is learned on the way, for the quality of the answer."""

    missing: list[Missing] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the block's milliseconds to the stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.stages[stage] = self.stages.get(stage, 0.0) + (time.perf_counter() - started) * 1000


def recall(query: Query, sources: Sources, *, now: datetime) -> Recall:
    """Return the memories that fit the query, best first, and how the answer came about."""
    notes, started = _Notes(), time.perf_counter()
    weights = {VECTOR: sources.policy.vector_weight, LEXICAL: 1 - sources.policy.vector_weight}
    vector = _embed(query, sources, notes)
    with sources.store.read() as tx:
        answers = _gather(tx, query, vector, sources, notes)
        with notes.timed("fuse"):
            fused = fuse(answers, weights)
        with notes.timed("fetch"):
            best = _fetch(tx, fused, query)
    with notes.timed("weigh"):
        reasons = explain([one.key for one, _ in best], answers, weights)
        hits = tuple(
            Hit(
                memory=memory,
                score=one.score,
                trust=trust(memory, relevance=one.score, now=now, policy=sources.policy),
                reasons=reasons[one.key],
            )
            for one, memory in best
        )
    elapsed = (time.perf_counter() - started) * 1000
    return Recall(query=query, hits=hits, quality=_quality(hits, fused, answers, notes, elapsed))


def with_missing(answer: Recall, index: str, reason: str) -> Recall:
    """Return the answer with one more thing that did not take part."""
    missing = (*answer.quality.missing, Missing(index=index, reason=reason))
    return replace(answer, quality=replace(answer.quality, missing=missing))


def _embed(query: Query, sources: Sources, notes: _Notes) -> NDArray[np.float32] | None:
    with notes.timed("embed"):
        try:
            (vector,) = sources.embedder.embed_queries([query.text])
        except EmbeddingError as exc:
            notes.missing.append(Missing(index=VECTOR, reason=str(exc)))
            return None
        found: NDArray[np.float32] = vector
        return found


def _gather(
    tx: Transaction, query: Query, vector: NDArray[np.float32] | None, sources: Sources, notes: _Notes
) -> dict[str, list[Found]]:
    limit = max(sources.policy.candidates, query.limit)
    answers = {}
    with notes.timed(LEXICAL):
        answers[LEXICAL] = sources.lexical.search(
            tx, query.text, scope=query.scope, filters=query.filters, limit=limit
        )
    if vector is not None:
        with notes.timed(VECTOR):
            nearest = sources.vector.search(
                tx,
                vector,
                scope=query.scope,
                filters=query.filters,
                limit=limit,
                also=[one.key for one in answers[LEXICAL]],
            )
            answers[VECTOR] = above_floor(nearest.found, sources.embedder.similarity_floor)
        if nearest.waiting:
            notes.missing.append(
                Missing(index=VECTOR, reason=f"{nearest.waiting} memories wait to be embedded")
            )
    return answers


def above_floor(found: Sequence[Found], floor: float) -> list[Found]:
    """Return cosines as similarities: 0 for what is unrelated in the embedder's eyes, 1 for the same."""
    return [Found(one.key, max(0.0, (one.score - floor) / (1 - floor))) for one in found]


def _fetch(tx: Transaction, fused: Sequence[Fused], query: Query) -> list[tuple[Fused, Memory]]:
    """Return the best as memories; whatever an index remembers wrongly is left out here once more."""
    best: list[tuple[Fused, Memory]] = []
    for start in range(0, len(fused), query.limit):
        page = fused[start : start + query.limit]
        memories = tx.memories.by_keys([one.key for one in page])
        found = [(one, memories[one.key]) for one in page if one.key in memories]
        best += [(one, memory) for one, memory in found if _fits(memory, query)]
        if len(best) >= query.limit:
            break
    return best[: query.limit]


def _fits(memory: Memory, query: Query) -> bool:
    return query.scope.sees(memory.scope) and memory.status in query.filters.statuses


def _quality(
    hits: Sequence[Hit],
    fused: Sequence[Fused],
    answers: dict[str, list[Found]],
    notes: _Notes,
    milliseconds: float,
) -> Quality:
    return Quality(
        answered=tuple(answers),
        missing=tuple(notes.missing),
        candidates=len(fused),
        average_relevancy=average([hit.trust.relevance for hit in hits]),
        ndcg=ndcg([hit.trust.composite for hit in hits]),
        tokens=sum(count_tokens(hit.memory.content) for hit in hits),
        milliseconds=milliseconds,
        stages=notes.stages,
    )
