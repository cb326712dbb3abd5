"""
The vector index: which memories mean something like this?

Asked by `recall` and by admission; looks at a mirror of the store, which its own process's writes and
others' reach alike. A backend proposes rows, and they are scored exactly from eight-bit vectors, held in
memory while they fit the budget and read from the store when not. A question asked of a large store that
is still being loaded waits for it, up to its patience, and then says how much it has not seen. Why not a
graph or a library: docs/decisions/0002-vector-index.md and 0008-vector-backends.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.index.backend import check_dimension, shortlist_size, similarities
from engramdb.index.foreign import BackendRefusal, ForeignBackend
from engramdb.index.mirror import IndexSnapshot, Mirror, MirrorView, SnapshotStore
from engramdb.index.roster import NOWHERE, chosen_rows
from engramdb.store.contract import ScoredKey, Store, Transaction
from engramdb.values import EmbedderIdentity, Filters, Scope, Status

MANY_VECTORS: Final = 8
"""From this many on, comparing vectors with every row in one pass beats looking each up by its bits."""
PATIENCE_SECONDS: Final = 1.0
"""How long a question waits for the index to load; about 200,000 memories come in meanwhile."""

_TRIED_ROWS = 16  # for each that a sample needs: few may have a vector yet


class IndexState(Struct, frozen=True):
    """What `status` shows of the index."""

    rows: int
    is_loaded: bool
    bytes: int
    backend: str = "exact"


class Nearest(Struct, frozen=True):
    """
    An answer, and what could not take part in it.

    `waiting` memories wait to be embedded, `unread` ones to be loaded; `borrowed` ones were looked up in
    an older space, and count as waiting only where that failed. `notes` say what else went another way.
    """

    found: list[ScoredKey]
    waiting: int = 0
    unread: int = 0
    borrowed: int = 0
    from_disk: bool = False
    """Whether vectors had to be read from the file: slower, not worse."""
    notes: tuple[str, ...] = ()


class VectorIndex:
    """The vectors of one space of one store."""

    def __init__(
        self,
        identity: EmbedderIdentity,
        *,
        memory_bytes: int,
        patience_seconds: float = PATIENCE_SECONDS,
        foreign: ForeignBackend | None = None,
        snapshots: Callable[[Transaction], SnapshotStore] | None = None,
    ) -> None:
        self._identity = identity
        self._patience_seconds = patience_seconds
        self._foreign = foreign
        self._mirror = Mirror(
            identity,
            memory_bytes=memory_bytes,
            snapshots=snapshots if foreign is None else None,  # a snapshot has no vectors to hand on
            listener=None if foreign is None else foreign.put,
        )

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
    ) -> Nearest:
        """
        Return the memories nearest to the query, nearest first, with everything that the snapshot has.

        `also` are keys that another index found: they are scored too, and follow after the nearest.
        `among` are the only keys that may be found, for filters that the roster does not know.
        """
        check_dimension(query, self._identity.dimension)
        space = tx.vectors.space(self._identity)
        if space is None:
            return Nearest([], waiting=tx.vectors.count_pending(None, scope=scope))
        view = self._mirror.catch_up(tx, space, patience_seconds=self._patience_seconds)
        scopes = tx.scopes.visible(scope)
        allowed = self._allowed(view, scopes, filters, among)
        rows, notes = self._shortlist(view, query, allowed, limit)
        look = _IndexReader(tx, space, view, self._identity.metric)
        found = look.best(rows, query, limit)
        others = sorted(set(also) - {one.key for one in found})
        return Nearest(
            found + look.scored(others, query),
            waiting=len(view.roster.waiting(view.columns, scopes=scopes)),
            unread=look.unread(scope),
            from_disk=view.resident is None and bool(found),
            notes=notes,
        )

    def neighbors(
        self, tx: Transaction, vectors: NDArray[np.float32], *, scope: Scope, limit: int
    ) -> list[list[ScoredKey]]:
        """
        Return the active memories of exactly this scope that are nearest to each vector, nearest first.

        Many vectors are compared in one pass. The transaction must be a snapshot, not a write.
        """
        check_dimension(vectors, self._identity.dimension)
        space, owner = tx.vectors.space(self._identity), tx.scopes.find(scope)
        if space is None or owner is None:
            return [[] for _ in vectors]
        view = self._mirror.catch_up(tx, space)
        allowed = self._allowed(view, [owner], Filters(), None)
        if len(vectors) < MANY_VECTORS or view.resident is None:
            look = _IndexReader(tx, space, view, self._identity.metric)
            rows = [self._shortlist(view, vector, allowed, limit)[0] for vector in vectors]
            return [look.best(near, vector, limit) for near, vector in zip(rows, vectors, strict=True)]
        scores, places = view.resident.best(np.flatnonzero(allowed), vectors, limit)
        keys = view.columns.keys[places]
        return [_top(key, score, limit) for key, score in zip(keys, scores, strict=True)]

    def passing(
        self, tx: Transaction, keys: NDArray[np.int64], *, scope: Scope, filters: Filters
    ) -> NDArray[np.bool_] | None:
        """Return which of the keys a scope may see and the filters let through; None where unknown."""
        space = tx.vectors.space(self._identity)
        if space is None or filters.needs_store or not tx.is_snapshot:
            return None
        view = self._mirror.catch_up(tx, space, patience_seconds=self._patience_seconds)
        if view.cursor < tx.vectors.latest_change():
            return None
        rows, found = _known_rows(view, keys)
        scopes = tx.scopes.visible(scope)
        found[found] = view.roster.passing(chosen_rows(view.columns, rows), scopes=scopes, filters=filters)
        return found

    def waiting(self, tx: Transaction, *, scope: Scope) -> NDArray[np.int64] | None:
        """Return the keys that this scope may see and that wait to be embedded; None if all do."""
        if tx.vectors.space(self._identity) is None:
            return None
        view = self._mirror.view
        return view.roster.waiting(view.columns, scopes=tx.scopes.visible(scope))

    def is_complete(self, tx: Transaction) -> bool:
        """Return whether every memory that should have a vector here has one, as far as is known."""
        view = self._mirror.view
        has_space = self._mirror.is_loaded and tx.vectors.space(self._identity) is not None
        return has_space and not len(view.roster.waiting(view.columns))

    def has_vectors(self, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of the keys have a vector here."""
        view = self._mirror.view
        rows, has = _known_rows(view, keys)
        has[has] = view.columns.has_vector[rows]
        return has

    def sample(self, tx: Transaction, count: int, *, scope: Scope) -> list[int]:
        """Return the keys of some memories that a scope may see and that have a vector here, spread out."""
        view = self._mirror.view
        visible = view.roster.visible(view.columns, scopes=tx.scopes.visible(scope))
        rows = np.flatnonzero(visible)
        rows = rows[:: max(1, len(rows) // (_TRIED_ROWS * count))]
        rows = rows[view.columns.has_vector[rows]]
        keys: list[int] = view.columns.keys[rows[:: max(1, len(rows) // count)]].tolist()
        return keys

    def scores_of(self, tx: Transaction, query: NDArray[np.float32], keys: Sequence[int]) -> dict[int, float]:
        """Return how near these memories are, those that have a vector here."""
        space = tx.vectors.space(self._identity)
        if space is None:
            return {}
        look = _IndexReader(tx, space, self._mirror.view, self._identity.metric)
        return {one.key: one.score for one in look.scored(keys, query)}

    def load(self, store: Store, *, stop: threading.Event) -> None:
        """Bring everything into memory, and keep a snapshot of it; for a background thread."""
        self._mirror.load(store, stop=stop)

    def rebuild(self, store: Store) -> None:
        """Rebuild the backend from the store's vectors, while the old one goes on answering."""
        self._mirror.rebuild(store)

    def save_snapshot(self, store: Store) -> None:
        """Keep a snapshot for the next start, if that is worth it."""
        self._mirror.save_snapshot(store)

    def snapshot(self) -> IndexSnapshot:
        """Return everything that answering takes, as it is now."""
        return self._mirror.snapshot()

    def restore(self, snapshot: IndexSnapshot) -> None:
        """Go on from a snapshot."""
        self._mirror.restore(snapshot)

    def state(self) -> IndexState:
        """Return how much is loaded and what it takes."""
        view = self._mirror.view
        is_exact = view.backend is view.resident
        parts = {id(part): part.bytes for part in (view.backend, view.resident) if part is not None}
        return IndexState(
            rows=len(view.columns.keys),
            is_loaded=self._mirror.is_loaded,
            bytes=sum(parts.values()),
            backend="exact" if is_exact else "compressed",
        )

    def _allowed(
        self, view: MirrorView, scopes: Sequence[int], filters: Filters, among: NDArray[np.int64] | None
    ) -> NDArray[np.bool_]:
        allowed = view.roster.mask(view.columns, scopes=scopes, filters=filters)
        if among is not None:
            chosen = np.zeros(len(allowed), np.bool_)
            chosen[_known_rows(view, among)[0]] = True
            allowed &= chosen
        return allowed

    def _shortlist(
        self, view: MirrorView, query: NDArray[np.float32], allowed: NDArray[np.bool_], limit: int
    ) -> tuple[NDArray[np.intp], tuple[str, ...]]:
        """Return the rows to score exactly, all where that is cheap, and what went another way."""
        if self._mirror.looks_at_all(view, allowed):
            if self._foreign is not None:
                self._foreign.recover(self._mirror.batches)
            return np.flatnonzero(allowed), ()
        count = shortlist_size(limit, from_memory=view.resident is not None)
        if self._foreign is None:
            return view.backend.shortlist(query, allowed, count), ()
        proposed = self._foreign.shortlist(query, allowed, count, refill=self._mirror.batches)
        if isinstance(proposed, BackendRefusal):
            return view.backend.shortlist(query, allowed, count), (proposed.reason,)
        return proposed, ()


class _IndexReader(Struct, frozen=True):
    """One question's look at the store and at its mirror."""

    tx: Transaction
    space: int
    view: MirrorView
    metric: str

    def best(self, rows: NDArray[np.intp], query: NDArray[np.float32], limit: int) -> list[ScoredKey]:
        """Return the nearest of these rows."""
        keys = self.view.columns.keys[rows]
        if self.view.resident is None:
            return self._best_stored(keys, query, limit)
        return _top(keys, self.view.resident.scores(rows, query), limit)

    def scored(self, keys: Sequence[int], query: NDArray[np.float32]) -> list[ScoredKey]:
        """Return the given memories with their scores, those without a vector left out."""
        wanted = np.array(keys, np.int64)
        rows, is_known = _known_rows(self.view, wanted)
        if self.view.resident is None or not is_known.all():
            return self._best_stored(wanted, query, len(keys))
        return self.best(rows[self.view.columns.has_vector[rows]], query, len(keys))

    def unread(self, scope: Scope) -> int:
        """Return how many memories that a scope may see were not looked at because patience ran out."""
        if self.view.cursor >= self.tx.vectors.latest_change():
            return 0
        seen = self.view.roster.visible(self.view.columns, scopes=self.tx.scopes.visible(scope))
        counted = self.tx.scopes.tally(scope).by_status
        stored = sum(count for status, count in counted.items() if Status(status).is_indexed)
        return max(1, stored - int(np.count_nonzero(seen)))

    def _best_stored(
        self, keys: NDArray[np.int64], query: NDArray[np.float32], limit: int
    ) -> list[ScoredKey]:
        stored, vectors = self.tx.vectors.fetch(self.space, keys.tolist())
        (scores,) = similarities(self.metric, vectors, query[None, :])
        return _top(np.array(stored, np.int64), scores, limit)


def _known_rows(view: MirrorView, keys: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the rows of the keys that the view has, and which of the keys those are."""
    rows = view.roster.rows_of(keys)
    is_known = (rows > NOWHERE) & (rows < len(view.columns.keys))
    return rows[is_known], is_known


def _top(keys: NDArray[np.int64], scores: NDArray[np.float32], limit: int) -> list[ScoredKey]:
    """Return the best few, best first; equal scores in the order of their keys."""
    if len(scores) > limit:
        top = np.argpartition(-scores, limit - 1)[:limit]
        keys, scores = keys[top], scores[top]
    found = [ScoredKey(int(key), float(score)) for key, score in zip(keys, scores, strict=True)]
    return sorted(found, key=lambda one: (-one.score, one.key))
