"""
Ask every index what might fit the question.

Called by `recall.pipeline`; calls the embedder, the lexical and the vector index inside one snapshot of
the store. An index that fails, or that has only part of the memories, is noted with its reason, and the
others answer.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from engram.errors import EmbeddingError
from engram.store.contract import Found
from engram.values import Level, Missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from engram.index.vector import Nearest
    from engram.policy import RecallPolicy
    from engram.providers.calibration import Calibration
    from engram.recall.rerank import Reranker
    from engram.store.contract import Store, Transaction
    from engram.values import EmbedderIdentity, Filters, Query, Scope

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
    def calibration(self) -> Calibration: ...
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
    ) -> list[Found]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Everything that recall reads from."""

    store: Store
    embedder: EmbedsQueries
    lexical: FindsByWords
    vector: FindsByVector
    graph: FindsByLinks
    policy: RecallPolicy
    reranker: Reranker | None = None


@dataclass(slots=True)
class Notes:
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


def embed(question: str, sources: Sources, notes: Notes) -> NDArray[np.float32] | None:
    """Return the question's vector; None, and a note, where the embedder fails."""
    with notes.timed("embed"):
        try:
            (vector,) = sources.embedder.embed_queries([question])
        except EmbeddingError as exc:
            notes.lost(VECTOR, str(exc), Level.TEXT_ONLY)
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
) -> dict[str, list[Found]]:
    """Return each index's answer, best first; `words` is what the text index is asked."""
    limit = max(candidates, query.limit)
    answers: dict[str, list[Found]] = {}
    with notes.timed(LEXICAL):
        answers[LEXICAL] = sources.lexical.search(
            tx, words, scope=query.scope, filters=query.filters, limit=limit
        )
    if vector is None:
        return answers
    with notes.timed(VECTOR):
        also = [one.key for one in answers[LEXICAL]]
        nearest = _nearest(tx, query, vector, sources, limit=limit, also=also)
        answers[VECTOR] = above_floor(nearest.found, sources.embedder.similarity_floor)
    if nearest.from_disk:
        notes.level = Level.DISK_VECTORS
    if nearest.waiting:
        notes.lost(VECTOR, f"{nearest.waiting} memories wait to be embedded", Level.REDUCED)
    if nearest.borrowed:
        notes.lost(
            VECTOR, f"{nearest.borrowed} memories are still in the space of an earlier model", Level.REDUCED
        )
    if nearest.unread:
        notes.lost(VECTOR, f"{nearest.unread} memories are not loaded yet", Level.REDUCED)
    for told in nearest.notes:
        notes.lost(VECTOR, told, Level.REDUCED)
    return answers


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
        passing = tx.candidates.passing([one.key for one in nearest.found], scope=scope, filters=filters)
        found = [one for one in nearest.found if one.key in passing]
        if len(found) >= limit or len(nearest.found) < size:
            return replace(nearest, found=found)
        size *= 4


def above_floor(found: Sequence[Found], floor: float) -> list[Found]:
    """Return cosines as similarities: 0 for what is unrelated in the embedder's eyes, 1 for the same."""
    return [Found(one.key, min(1.0, max(0.0, (one.score - floor) / (1 - floor)))) for one in found]
