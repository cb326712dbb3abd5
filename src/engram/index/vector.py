"""
The vector index: which memories mean something like this?

Asked by `recall`; fed from the store's changes, its own process's writes and others' alike. Codes of one
bit per dimension are scanned for a shortlist, which is then scored exactly from eight-bit vectors, held
in memory while they fit the budget and read from the store when not. While a large store is still being
loaded, questions are answered by an exact scan of it. Why not a graph or a library:
docs/decisions/0002-vector-index.md.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engram.index.resident import Resident
from engram.index.roster import Columns, Roster
from engram.store.contract import Found, Quantised
from engram.values import Filters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from engram.index.codes import Codes
    from engram.store.contract import Changes, Store, Transaction
    from engram.values import EmbedderIdentity, Scope

EXACT_ROWS = 4096
"""Up to so many rows every vector is scored exactly; scanning codes first would save nothing."""
SHORTLIST_PER_RESULT = 8
MIN_SHORTLIST = 500
"""Rows scored exactly for a question: 500 by bits hold 99.7 % of the true top ten on e5."""
MANY_VECTORS = 8
"""From so many on, comparing vectors with every row in one pass beats looking each up by its bits."""
STEP_ROWS = 20_000
"""Changes read at a time; a question waits for one step of catching up, and scans where more is missing."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """What `status` shows of the index."""

    rows: int
    is_loaded: bool
    bytes: int


@dataclass(frozen=True, slots=True)
class Nearest:
    """An answer, and how many memories could not take part because they wait to be embedded."""

    found: list[Found]
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _View:
    """The index at one moment, for one question."""

    columns: Columns
    codes: Codes | None
    resident: Resident | None


class VectorIndex:
    """The vectors of one space of one store."""

    def __init__(self, identity: EmbedderIdentity, *, memory_bytes: int) -> None:
        self._identity = identity
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._roster = Roster()
        self._resident: Resident | None = Resident(identity.dimension)
        self._codes: Codes | None = None
        self._cursor = 0
        self._is_loaded = False

    def search(
        self,
        tx: Transaction,
        query: NDArray[np.float32],
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
        also: Sequence[int] = (),
    ) -> Nearest:
        """
        Return the memories nearest to the query, nearest first, with everything that the snapshot has.

        `also` are keys that another index found: they are scored too, and follow after the nearest.
        """
        space = tx.vectors.space(self._identity)
        if space is None:
            return Nearest([], waiting=tx.vectors.count_pending(None, scope=scope))
        nearest = self._nearest(
            tx, space, query, scopes=tx.scopes.visible(scope), filters=filters, limit=limit
        )
        others = self._score_others(tx, space, nearest.found, also, query)
        return Nearest(nearest.found + others, nearest.waiting)

    def neighbours(
        self, tx: Transaction, vectors: NDArray[np.float32], *, scope: Scope, limit: int
    ) -> list[list[Found]]:
        """
        Return the active memories of exactly this scope that are nearest to each vector, nearest first.

        Many vectors are compared in one pass over the index. The transaction must be a snapshot, not a write.
        """
        space, owner = tx.vectors.space(self._identity), tx.scopes.find(scope)
        if space is None or owner is None:
            return [[] for _ in vectors]
        view = self._caught_up(tx, space) if len(vectors) >= MANY_VECTORS else None
        if view is None or view.resident is None:
            one = [
                self._nearest(tx, space, v, scopes=[owner], filters=Filters(), limit=limit) for v in vectors
            ]
            return [nearest.found for nearest in one]
        allowed = self._roster.mask(view.columns, scopes=[owner], filters=Filters())
        rows = np.flatnonzero(allowed)
        scores, places = view.resident.best(rows, vectors, limit)
        keys = view.columns.keys[places]
        return [_best(key, score, limit) for key, score in zip(keys, scores, strict=True)]

    def _nearest(
        self,
        tx: Transaction,
        space: int,
        query: NDArray[np.float32],
        *,
        scopes: list[int],
        filters: Filters,
        limit: int,
    ) -> Nearest:
        behind = tx.vectors.latest_change() - self._cursor
        if behind > STEP_ROWS and not self._is_loaded:
            return self._scan(tx, space, query, scopes=scopes, filters=filters, limit=limit)
        view = self._caught_up(tx, space)
        allowed = self._roster.mask(view.columns, scopes=scopes, filters=filters)
        waiting = self._roster.count_waiting(view.columns, scopes=scopes)
        rows = self._shortlist(view, query, allowed, limit)
        if view.resident is not None:
            found = _best(view.columns.keys[rows], view.resident.scores(rows, query), limit)
        else:
            found = self._score_stored(tx, space, view.columns.keys[rows].tolist(), query, limit)
        return Nearest(found, waiting)

    def load(self, store: Store, *, stop: threading.Event) -> None:
        """Catch up step by step, so that questions and writes get their turns; for a background thread."""
        while not stop.is_set() and not self._is_loaded:
            with store.read() as tx:
                space = tx.vectors.space(self._identity)
                if space is None:
                    self._is_loaded = True
                    return
                with self._lock:
                    self._step(tx, space)

    def state(self) -> IndexState:
        """Return how much is loaded and what it takes."""
        with self._lock:
            parts = [part.bytes for part in (self._codes, self._resident) if part is not None]
            return IndexState(rows=len(self._roster), is_loaded=self._is_loaded, bytes=sum(parts))

    def _caught_up(self, tx: Transaction, space: int) -> _View:
        with self._lock:
            latest = tx.vectors.latest_change()
            while self._cursor < latest and self._step(tx, space):
                pass
            return _View(self._roster.columns(), self._codes, self._resident)

    def _step(self, tx: Transaction, space: int) -> bool:
        """Take in the next changes and say whether there may be more."""
        changes = tx.vectors.changes(
            space, dimension=self._identity.dimension, since=self._cursor, limit=STEP_ROWS
        )
        if len(changes):
            self._take_in(changes)
        is_more = len(changes) == STEP_ROWS
        self._is_loaded = self._is_loaded or not is_more
        return is_more

    def _take_in(self, changes: Changes) -> None:
        rows = self._roster.apply(changes)
        if self._resident is not None:
            self._resident.put(rows, changes.vectors)
        if self._codes is not None:
            self._codes.put(rows, _floats(changes.vectors))
        elif len(self._roster) > EXACT_ROWS and self._resident is not None:
            has_vector = self._roster.columns().has_vector
            if np.count_nonzero(has_vector) > EXACT_ROWS:  # the mean of a few would spoil the codes of all
                self._codes = self._resident.codes(has_vector)
        if (
            self._resident is not None
            and self._codes is not None
            and self._resident.bytes > self._memory_bytes
        ):
            self._resident = None
        self._cursor = changes.cursor

    def _shortlist(
        self, view: _View, query: NDArray[np.float32], allowed: NDArray[np.bool_], limit: int
    ) -> NDArray[np.intp]:
        """Return the rows to score exactly: all where that is cheap, otherwise the nearest by their bits."""
        wanted = max(MIN_SHORTLIST, SHORTLIST_PER_RESULT * limit)
        affordable = EXACT_ROWS if view.resident is not None else wanted
        if view.codes is None or np.count_nonzero(allowed) <= affordable:
            return np.flatnonzero(allowed)
        return view.codes.nearest(query, allowed, wanted)

    def _score_others(
        self,
        tx: Transaction,
        space: int,
        found: Sequence[Found],
        also: Sequence[int],
        query: NDArray[np.float32],
    ) -> list[Found]:
        others = sorted(set(also) - {one.key for one in found})
        return self._score_stored(tx, space, others, query, len(others)) if others else []

    def _score_stored(
        self, tx: Transaction, space: int, keys: Sequence[int], query: NDArray[np.float32], limit: int
    ) -> list[Found]:
        stored, vectors = tx.vectors.fetch(space, keys)
        return _best(np.array(stored, np.int64), _scores(vectors, query), limit)

    def _scan(
        self,
        tx: Transaction,
        space: int,
        query: NDArray[np.float32],
        *,
        scopes: list[int],
        filters: Filters,
        limit: int,
    ) -> Nearest:
        """Score every allowed vector in the store, a step at a time, keeping the best."""
        best: list[Found] = []
        waiting = 0
        scratch = Roster()
        for changes in self._all_changes(tx, space):
            columns = scratch.encode(changes)
            rows = np.flatnonzero(scratch.mask(columns, scopes=scopes, filters=filters))
            vectors = Quantised(changes.vectors.numbers[rows], changes.vectors.scales[rows])
            found = _best(columns.keys[rows], _scores(vectors, query), limit)
            best = sorted([*best, *found], key=_nearest_first)[:limit]
            waiting += scratch.count_waiting(columns, scopes=scopes)
        return Nearest(best, waiting)

    def _all_changes(self, tx: Transaction, space: int) -> Iterator[Changes]:
        cursor = 0
        while True:
            changes = tx.vectors.changes(
                space, dimension=self._identity.dimension, since=cursor, limit=STEP_ROWS
            )
            if not len(changes):
                return
            yield changes
            cursor = changes.cursor


def _best(keys: NDArray[np.int64], scores: NDArray[np.float32], limit: int) -> list[Found]:
    """Return the best few, best first; equal scores in the order of their keys."""
    if len(scores) > limit:
        top = np.argpartition(-scores, limit - 1)[:limit]
        keys, scores = keys[top], scores[top]
    found = [Found(int(key), float(score)) for key, score in zip(keys, scores, strict=True)]
    return sorted(found, key=_nearest_first)


def _nearest_first(found: Found) -> tuple[float, int]:
    return -found.score, found.key


def _scores(vectors: Quantised, query: NDArray[np.float32]) -> NDArray[np.float32]:
    scores: NDArray[np.float32] = (vectors.numbers.astype(np.float32) @ query) * vectors.scales
    return scores


def _floats(vectors: Quantised) -> NDArray[np.float32]:
    floats: NDArray[np.float32] = vectors.numbers.astype(np.float32) * vectors.scales[:, None]
    return floats
