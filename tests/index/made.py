"""Stores, vectors and questions that the tests of the vector index share."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from engramdb.index.vector import VectorIndex
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import GLOBAL, EmbedderIdentity, Filters, Memory, Scope, new_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from engramdb.store.contract import Transaction

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DIMENSION = 64
IDENTITY = EmbedderIdentity(name="random", dimension=DIMENSION, revision="1")
ANN = Scope(user="ann")
FAMILY = 10


def open_store(path: Path) -> SqliteStore:
    """A store that does not wait for the disk."""
    return SqliteStore.open(str(path), now=NOW, is_durable=False)


def add(tx: Transaction, content: str, **parts: Any) -> int:
    """Store a memory without a vector and return its key."""
    memory = Memory(id=new_id(NOW), content=content, created_at=NOW, updated_at=NOW, **parts)
    return tx.memories.add(memory, fingerprint=content.encode())


def unit_rows(raw: NDArray[Any]) -> NDArray[np.float32]:
    """The rows with the length one."""
    rows: NDArray[np.float32] = (raw / np.linalg.norm(raw, axis=-1, keepdims=True)).astype(np.float32)
    return rows


def unit(*numbers: float) -> NDArray[np.float32]:
    """A vector with these first numbers and the length one."""
    return unit_rows(np.pad(np.array(numbers, np.float64), (0, DIMENSION - len(numbers))))


def families(count: int, *, seed: int = 3, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Vectors in families of ten that lie close together and far from all others."""
    rng = np.random.default_rng(seed)
    heads = np.repeat(rng.normal(size=(count, dimension)), FAMILY, axis=0)
    return unit_rows(heads + 0.1 * rng.normal(size=heads.shape))


def fill(
    store: SqliteStore,
    vectors: NDArray[np.float32],
    *,
    identity: EmbedderIdentity = IDENTITY,
    word: str = "note",
) -> list[int]:
    """Store a memory for each vector and return their keys."""
    with store.atomic() as tx:
        keys = [add(tx, f"{word} {number}") for number in range(len(vectors))]
        tx.vectors.put(tx.vectors.make_space(identity), keys, vectors)
    return keys


def loaded(store: SqliteStore, *, memory_bytes: int = 10**9, **parts: Any) -> VectorIndex:
    """An index that has read the whole store."""
    index = VectorIndex(IDENTITY, memory_bytes=memory_bytes, **parts)
    index.load(store, stop=threading.Event())
    assert index.state().is_loaded
    return index


def ask(
    index: VectorIndex,
    store: SqliteStore,
    query: NDArray[np.float32],
    *,
    scope: Scope = GLOBAL,
    filters: Filters = Filters(),
    limit: int = 10,
    also: Sequence[int] = (),
) -> list[int]:
    """The keys that the index finds, nearest first."""
    with store.read() as tx:
        nearest = index.search(tx, query, scope=scope, filters=filters, limit=limit, also=also)
    return [one.key for one in nearest.found]
