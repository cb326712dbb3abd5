"""Vector indexes by embedding space, and the scale between two spaces."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.errors import EmbeddingError
from engramdb.index.foreign import ForeignBackend
from engramdb.index.mirror import SnapshotStore
from engramdb.index.vector import IndexState, Nearest, VectorIndex
from engramdb.store.contract import ScoredKey, Store, Transaction
from engramdb.values import EmbedderIdentity, Filters, Scope

# Put the scores of one vector space on the scale of another.

SAMPLE: Final = 128
"""Memories scored in both spaces; twice as many changed nothing."""
MIN_SHARED: Final = 32
"""With fewer, a chance sample is worse than the floors."""


class Scale(Struct, frozen=True):
    """A straight line from older scores to newer ones."""

    factor: float
    offset: float

    def __call__(self, found: Sequence[ScoredKey]) -> list[ScoredKey]:
        """Return the same memories with their scores on the newer scale."""
        return [ScoredKey(one.key, self.factor * one.score + self.offset) for one in found]


def fit_scale(
    older: Mapping[int, float], newer: Mapping[int, float], *, floors: tuple[float, float]
) -> Scale:
    """Return the scale that fits what was scored in both; `floors` are the older's and the newer's."""
    shared = sorted(older.keys() & newer.keys())
    before = np.array([older[key] for key in shared])
    after = np.array([newer[key] for key in shared])
    if len(shared) >= MIN_SHARED and before.std() > 0:
        factor = float(after.std() / before.std())
        return Scale(factor, float(after.mean()) - factor * float(before.mean()))
    factor = (1 - floors[1]) / (1 - floors[0])
    return Scale(factor, floors[1] - factor * floors[0])


# The vector indexes by space: that of the present embedder, and older ones while they are needed.
#
# A changed embedder begins a new, empty space. While its memories are embedded again, those that still wait
# are looked up where they have a vector, with the older embedder, and their scores are put on the newer
# one's scale. Some embedders learn their dimension only by being asked, so an index is made when its space
# is first known.


class NamesSpace(Protocol):
    """The part of an embedder that names its space and says where unrelated texts lie in it."""

    @property
    def identity(self) -> EmbedderIdentity: ...
    @property
    def similarity_floor(self) -> float: ...


class EmbedsOlderQueries(NamesSpace, Protocol):
    """The part of an older embedder that asking its space takes."""

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class VectorSpaces:
    """Vector indexes by space."""

    def __init__(
        self,
        embedder: NamesSpace,
        *,
        memory_bytes: int,
        older: Sequence[EmbedsOlderQueries] = (),
        foreign: ForeignBackend | None = None,
        snapshots: Callable[[Transaction], SnapshotStore] | None = None,
    ) -> None:
        """`older` are embedders whose spaces may hold what the present one lacks, the latest first."""
        self._embedder = embedder
        self._older = older
        self._memory_bytes = memory_bytes
        self._foreign = foreign
        self._snapshots = snapshots
        self._lock = threading.Lock()
        self._indexes: dict[EmbedderIdentity, VectorIndex] = {}
        self._latest: EmbedderIdentity | None = None

    def search(
        self,
        tx: Transaction,
        query: NDArray[np.float32],
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
        also: Sequence[int] = (),
        among: NDArray[np.int64] | None = None,
        text: str = "",
    ) -> Nearest:
        """
        Return the memories nearest to the query in the embedder's space, and how near `also` are.

        With the `text` of the question, memories that wait to be embedded are looked up in older spaces.
        """
        asked = _SpaceQuery(text, query, scope, filters, limit, also, among)
        current = self._current()
        nearest = asked.of(current, tx, query)
        if nearest.waiting and text:
            missing = current.waiting(tx, scope=scope)
            for embedder in self._older:
                nearest, missing = self._borrow(tx, embedder, asked, nearest, missing)
        elif len(self._indexes) > 1 and current.is_complete(tx):
            self._let_go_of_older()
        return nearest

    def neighbors(
        self, tx: Transaction, vectors: NDArray[np.float32], *, scope: Scope, limit: int
    ) -> list[list[ScoredKey]]:
        """Return the active memories of exactly this scope that are nearest to each vector."""
        return self._current().neighbors(tx, vectors, scope=scope, limit=limit)

    def passing(
        self, tx: Transaction, keys: NDArray[np.int64], *, scope: Scope, filters: Filters
    ) -> NDArray[np.bool_] | None:
        """Return which of the keys a scope may see and the filters let through; None where unknown."""
        try:
            current = self._current()
        except EmbeddingError:  # noted in health by the embedder itself
            return None
        return current.passing(tx, keys, scope=scope, filters=filters)

    def load(self, store: Store, *, stop: threading.Event) -> None:
        """Bring the embedder's space into memory, and older ones that it needs, in the background."""
        current = self._current()
        current.load(store, stop=stop)
        for embedder in self._older:
            with suppress(EmbeddingError):  # a question that needs it will say so
                with store.read() as tx:
                    index = None if current.is_complete(tx) else self._older_index(tx, embedder)
                if index is not None:
                    index.load(store, stop=stop)

    def rebuild(self, store: Store) -> None:
        """Rebuild the index of the embedder's space, while the old one goes on answering."""
        self._current().rebuild(store)

    def save_snapshot(self, store: Store) -> None:
        """Keep a snapshot of the embedder's space for the next start, if that is worth it."""
        self._current().save_snapshot(store)

    def state(self) -> IndexState | None:
        """Return how much of the present space is loaded, or None if none was asked for."""
        with self._lock:
            index = None if self._latest is None else self._indexes.get(self._latest)
        return None if index is None else index.state()

    def _borrow(
        self,
        tx: Transaction,
        embedder: EmbedsOlderQueries,
        asked: _SpaceQuery,
        nearest: Nearest,
        missing: NDArray[np.int64] | None,
    ) -> tuple[Nearest, NDArray[np.int64] | None]:
        """Return the answer with what an older space knows of the missing, and what is missing yet."""
        try:
            index = self._older_index(tx, embedder)
            if index is None or not nearest.waiting:
                return nearest, missing
            (query,) = embedder.embed_queries([asked.text])
        except EmbeddingError as exc:
            return replace(nearest, notes=(*nearest.notes, f"an older embedder failed: {exc}")), missing
        answer = asked.within(missing).of(index, tx, query)
        waiting = answer.waiting
        if missing is not None:
            missing = missing[~index.has_vectors(missing)]
            waiting = len(missing)
        current = self._current()
        both = current.sample(tx, SAMPLE, scope=asked.scope)
        scale = fit_scale(
            index.scores_of(tx, query, both),
            current.scores_of(tx, asked.query, both),
            floors=(embedder.similarity_floor, self._embedder.similarity_floor),
        )
        merged = Nearest(
            _merge_found(nearest.found, scale(answer.found), limit=asked.limit, also=asked.also),
            waiting=waiting,
            unread=max(nearest.unread, answer.unread),
            borrowed=nearest.borrowed + nearest.waiting - waiting,
            notes=(*nearest.notes, *answer.notes),
        )
        return merged, missing

    def _current(self) -> VectorIndex:
        self._latest = self._embedder.identity
        return self._of(self._latest)

    def _older_index(self, tx: Transaction, embedder: EmbedsOlderQueries) -> VectorIndex | None:
        """Return the index of an older embedder's space, or None if it has none that helps."""
        identity = embedder.identity
        has_space = identity != self._latest and tx.vectors.space(identity) is not None
        return self._of(identity) if has_space else None

    def _of(self, identity: EmbedderIdentity) -> VectorIndex:
        with self._lock:
            if identity not in self._indexes:
                self._indexes[identity] = VectorIndex(
                    identity,
                    memory_bytes=self._memory_bytes,
                    foreign=self._foreign if identity == self._latest else None,
                    snapshots=self._snapshots,
                )
            return self._indexes[identity]

    def _let_go_of_older(self) -> None:
        with self._lock:
            self._indexes = {one: index for one, index in self._indexes.items() if one == self._latest}


class _SpaceQuery(Struct, frozen=True):
    """A question, to be asked of one index or another."""

    text: str
    query: NDArray[np.float32]
    scope: Scope
    filters: Filters
    limit: int
    also: Sequence[int]
    among: NDArray[np.int64] | None

    def of(self, index: VectorIndex, tx: Transaction, query: NDArray[np.float32]) -> Nearest:
        """Return an index's answer."""
        return index.search(
            tx,
            query,
            scope=self.scope,
            filters=self.filters,
            limit=self.limit,
            also=self.also,
            among=self.among,
        )

    def within(self, keys: NDArray[np.int64] | None) -> _SpaceQuery:
        """Return the question asked of these keys only, and of the same as before."""
        if keys is None or self.among is None:
            return replace(self, among=self.among if keys is None else keys)
        return replace(self, among=np.intersect1d(keys, self.among))


def _merge_found(
    found: Sequence[ScoredKey], borrowed: Sequence[ScoredKey], *, limit: int, also: Sequence[int]
) -> list[ScoredKey]:
    """Return the best few of both, best first, with all that were asked for by name after them."""
    known = {one.key for one in found}
    every = [*found, *(one for one in borrowed if one.key not in known)]
    every.sort(key=lambda one: (-one.score, one.key))
    named = set(also)
    return every[:limit] + [one for one in every[limit:] if one.key in named]
