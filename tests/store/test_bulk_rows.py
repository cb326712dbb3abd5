"""Links stored together are stored as if one by one; a turn's moment is told to who may see the turn."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from engramdb.errors import EdgeNotAllowed
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import Edge, EdgeType, Memory, new_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RELATED, INFERRED = EdgeType.RELATED_TO, EdgeType.INFERRED_FROM


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    opened = SqliteStore.open(str(store_path), now=NOW, is_durable=False)
    yield opened
    opened.close()


@pytest.fixture
def three(store: SqliteStore) -> list[Memory]:
    """Three stored memories."""
    memories = [
        Memory(id=new_id(NOW), content=f"Statement {number}.", created_at=NOW, updated_at=NOW)
        for number in range(3)
    ]
    with store.atomic() as tx:
        for memory in memories:
            tx.memories.add(memory, fingerprint=memory.id.encode())
    return memories


def edge(source: Memory, target: Memory, kind: EdgeType = RELATED, weight: float = 0.5) -> Edge:
    """Return a link."""
    return Edge(source=source.id, target=target.id, type=kind, weight=weight, created_at=NOW)


def test_each_of_many_links_has_its_own_number_in_the_feed(store: SqliteStore, three: list[Memory]) -> None:
    """Whoever follows the feed meets them in their order, one at a time if need be."""
    a, b, c = three

    with store.atomic() as tx:
        tx.edges.add(edge(a, c))
        tx.edges.add_all([edge(a, b), edge(b, c), edge(a, c, weight=0.9)])

    with store.read() as tx:
        cursor, first = tx.edges.changes(since=0, limit=1)
        latest, others = tx.edges.changes(since=cursor, limit=10)
    pairs = [
        *zip(first.sources, first.targets, strict=True),
        *zip(others.sources, others.targets, strict=True),
    ]
    assert pairs == [(1, 2), (2, 3), (1, 3)]
    assert others.weights[-1] == pytest.approx(0.9)
    assert latest == 4


def test_no_links_change_nothing(store: SqliteStore) -> None:
    """A statement without neighbours does not move the feed."""
    with store.atomic() as tx:
        tx.edges.add_all([])

        assert tx.edges.latest_change() == 0


def test_links_that_together_close_a_circle_of_inference_are_refused(
    store: SqliteStore, three: list[Memory]
) -> None:
    """Each is harmless by itself; what one has begun counts when the next is looked at."""
    a, b, c = three

    with pytest.raises(EdgeNotAllowed), store.atomic() as tx:
        tx.edges.add_all([edge(a, b, INFERRED), edge(b, c, INFERRED), edge(c, a, INFERRED)])

    with store.read() as tx:
        assert tx.edges.of(a.id) == []
