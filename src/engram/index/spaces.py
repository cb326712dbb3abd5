"""
The vector index of whichever space the embedder speaks in, made when that is first known.

Asked by `recall` in place of a single index: some embedders learn their dimension only by being asked, and
a changed embedder begins a new space.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from engram.index.vector import IndexState, Nearest, VectorIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.store.contract import Found, Store, Transaction
    from engram.values import EmbedderIdentity, Filters, Scope


class HasIdentity(Protocol):
    """The part of an embedder that names its space."""

    @property
    def identity(self) -> EmbedderIdentity: ...


class VectorSpaces:
    """Vector indexes by space."""

    def __init__(self, embedder: HasIdentity, *, memory_bytes: int) -> None:
        self._embedder = embedder
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._indexes: dict[EmbedderIdentity, VectorIndex] = {}

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
        """Return the memories nearest to the query in the embedder's space, and how near `also` are."""
        return self._current().search(tx, query, scope=scope, filters=filters, limit=limit, also=also)

    def neighbours(
        self, tx: Transaction, vectors: NDArray[np.float32], *, scope: Scope, limit: int
    ) -> list[list[Found]]:
        """Return the active memories of exactly this scope that are nearest to each vector."""
        return self._current().neighbours(tx, vectors, scope=scope, limit=limit)

    def load(self, store: Store, *, stop: threading.Event) -> None:
        """Bring the embedder's space into memory; for a background thread."""
        self._current().load(store, stop=stop)

    def state(self) -> IndexState | None:
        """Return how much of the newest space is loaded, or None if none was asked for."""
        with self._lock:
            indexes = list(self._indexes.values())
        return indexes[-1].state() if indexes else None

    def _current(self) -> VectorIndex:
        identity = self._embedder.identity
        with self._lock:
            if identity not in self._indexes:
                self._indexes[identity] = VectorIndex(identity, memory_bytes=self._memory_bytes)
            return self._indexes[identity]
