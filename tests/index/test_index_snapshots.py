"""An index that goes on from a snapshot answers as one that read every memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec.structs import replace

from engramdb.errors import StoreCorrupt
from engramdb.index import mirror
from engramdb.index import mirror as snapshots
from engramdb.index.vector import VectorIndex
from engramdb.values import GLOBAL, Filters, Status

from .made import FAMILY, IDENTITY, add, ask, families, fill, loaded, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from engramdb.store.contract import SnapshotPart, Transaction
    from engramdb.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.xdist_group("index-snapshots")

MANY = 600  # families: more memories than are all looked at
RARE = Filters(categories=frozenset({"rare"}))


class SnapshotParts:
    """A place for snapshots, such as a store's table."""

    def __init__(self) -> None:
        self.parts: dict[int, Sequence[SnapshotPart]] = {}
        self.loads = 0

    def load_snapshot(self, space: int) -> Sequence[SnapshotPart]:
        """The parts of a space, or none."""
        self.loads += 1
        return self.parts.get(space, ())

    def save_snapshot(self, space: int, parts: Sequence[SnapshotPart]) -> None:
        """Keep the parts of a space."""
        self.parts[space] = parts

    def of(self, tx: Transaction) -> SnapshotParts:
        """Itself, whatever the transaction."""
        return self


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    opened = open_store(store_path)
    yield opened
    opened.close()


@pytest.fixture
def saved() -> SnapshotParts:
    """An empty place for snapshots."""
    return SnapshotParts()


@pytest.mark.parametrize("count", [3, MANY], ids=["exact", "compressed"])
def test_a_restored_index_answers_the_same(store: SqliteStore, count: int) -> None:
    """With filters and without, for small stores and large ones."""
    vectors = families(count)
    fill(store, vectors)
    with store.atomic() as tx:
        add(tx, "without a vector", category="rare")
        rare = add(tx, "rare", category="rare")
        tx.vectors.put(tx.vectors.make_space(IDENTITY), [rare], vectors[:1])
    index, again = loaded(store), VectorIndex(IDENTITY, memory_bytes=10**9)

    again.restore(index.snapshot())

    assert again.state().rows == index.state().rows
    for query in vectors[:: max(1, len(vectors) // 20)]:
        for filters in (Filters(), RARE):
            with store.read() as tx:
                expected = index.search(tx, query, scope=GLOBAL, filters=filters, limit=FAMILY)
                found = again.search(tx, query, scope=GLOBAL, filters=filters, limit=FAMILY)

            assert replace(found, from_disk=expected.from_disk) == expected


def test_a_restored_index_catches_up(store: SqliteStore) -> None:
    """What was written, changed and forgotten after the snapshot is known to the next question."""
    vectors = families(MANY)
    keys = fill(store, vectors)
    snapshot = loaded(store).snapshot()
    with store.atomic() as tx:
        tx.memories.replace(tx.memories.by_keys([keys[0]])[keys[0]].evolve(status=Status.FORGOTTEN))
        tx.vectors.remove(keys[0])
    (new,) = fill(store, families(1, seed=9)[:1], word="new")
    index = VectorIndex(IDENTITY, memory_bytes=10**9)

    index.restore(snapshot)

    assert keys[0] not in ask(index, store, vectors[0])
    assert ask(index, store, families(1, seed=9)[0], limit=1) == [new]
    assert ask(index, store, vectors[-1], limit=1) == [keys[-1]]


def test_the_next_start_begins_with_the_kept_snapshot(store: SqliteStore, saved: SnapshotParts) -> None:
    """Loading keeps a snapshot; a later index reads it instead of the memories, and gets its vectors then."""
    vectors = families(mirror.MIN_SNAPSHOT_ROWS // FAMILY)
    keys = fill(store, vectors)
    loaded(store, snapshots=saved.of)
    index = VectorIndex(IDENTITY, memory_bytes=10**9, snapshots=saved.of, patience_seconds=0)

    with store.read() as tx:
        first = index.search(tx, vectors[7], scope=GLOBAL, filters=Filters(), limit=FAMILY)
    before = index.state()
    index.load(store, stop=threading.Event())

    assert first.unread == 0  # without patience: the snapshot has everything
    assert {one.key for one in first.found} == set(keys[:FAMILY])
    assert before.bytes < len(keys) * IDENTITY.dimension / 4
    assert index.state().bytes > len(keys) * IDENTITY.dimension
    assert set(ask(index, store, vectors[7], limit=FAMILY)) == set(keys[:FAMILY])


def test_small_stores_keep_no_snapshot(store: SqliteStore, saved: SnapshotParts) -> None:
    """Where loading is quick, nothing is stored twice."""
    fill(store, families(MANY))

    loaded(store, snapshots=saved.of)

    assert saved.parts == {}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda parts: parts[:-1],
        lambda parts: [replace(parts[0], head=b"{}"), *parts[1:]],
        lambda parts: [replace(parts[0], head=parts[0].head.replace(b"compressed", b"other")), *parts[1:]],
        lambda parts: [replace(parts[0], columns=parts[0].columns[:-1]), *parts[1:]],
        lambda parts: [replace(part, cursor=part.cursor + 10**6) for part in parts],
    ],
    ids=["part missing", "no head", "other scan", "short", "from the future"],
)
def test_a_snapshot_that_cannot_be_read_is_passed_over(
    store: SqliteStore, saved: SnapshotParts, spoil: Callable[[list[SnapshotPart]], list[SnapshotPart]]
) -> None:
    """It is derived: the index reads the memories instead, and says the same."""
    vectors = families(MANY)
    keys = fill(store, vectors)
    saved.parts[1] = spoil(snapshots.split_snapshot(loaded(store).snapshot()))

    index = VectorIndex(IDENTITY, memory_bytes=10**9, snapshots=saved.of, patience_seconds=60)

    assert ask(index, store, vectors[5], limit=1) == [keys[5]]
    assert saved.loads == 1


def test_parts_make_the_same_snapshot_again(store: SqliteStore) -> None:
    """Cutting and joining loses nothing, and puts the rows in the order of their keys."""
    vectors = families(snapshots.PART_ROWS // FAMILY + 50)
    with store.atomic() as tx:
        keys = [add(tx, f"note {number}") for number in range(len(vectors))]
        space = tx.vectors.make_space(IDENTITY)
        tx.vectors.put(space, keys[500:], vectors[500:])
        tx.vectors.put(space, keys[:500], vectors[:500])
    snapshot = loaded(store).snapshot()

    parts = snapshots.split_snapshot(snapshot)
    again = snapshots.join_snapshot(parts)

    assert len(parts) == 2
    assert again.keys.tolist() == sorted(keys)
    order = np.argsort(snapshot.keys)
    np.testing.assert_array_equal(again.backend.rows, snapshot.backend.rows[order])
    np.testing.assert_array_equal(again.roster.rows, snapshot.roster.rows[order])


def test_a_snapshot_of_another_version_is_refused(store: SqliteStore) -> None:
    """Numbers that stand for other words than today's would filter wrongly."""
    fill(store, families(3))
    snapshot = loaded(store).snapshot()
    head = snapshot.roster.head.replace(b"active", b"lively")

    with pytest.raises(StoreCorrupt):
        VectorIndex(IDENTITY, memory_bytes=0).restore(
            replace(snapshot, roster=replace(snapshot.roster, head=head))
        )
