"""A filtered search says exactly what looking at every memory would say: no result lost, none let in."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.index.vector import VectorIndex
from engramdb.store.sqlite.precision import quantize
from engramdb.values import GLOBAL, Filters, Kind, Layer, MemoryType, Scope, Status

from .made import ANN, IDENTITY, NOW, add, families, loaded, open_store, unit_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from engramdb.store.sqlite.store import SqliteStore
    from engramdb.values import Memory

pytestmark = pytest.mark.xdist_group("filtered-search")

SCOPES = (GLOBAL, ANN, Scope(project="alpha"), Scope(project="alpha", user="ann"))
CATEGORIES = ("fact", "preference", "rare")
DAYS = 30
LIMIT = 5

filters = st.builds(
    Filters,
    statuses=st.frozensets(st.sampled_from([Status.ACTIVE, Status.ARCHIVED]), min_size=1),
    layers=st.frozensets(st.sampled_from([Layer.EPISODIC, Layer.SEMANTIC])),
    types=st.frozensets(st.sampled_from(list(MemoryType)), max_size=1),
    kinds=st.frozensets(st.sampled_from(list(Kind)), max_size=1),
    categories=st.frozensets(st.sampled_from([*CATEGORIES, "unheard of"]), max_size=2),
    since=st.none() | st.integers(0, DAYS).map(lambda day: NOW + timedelta(days=day)),
    until=st.none() | st.integers(0, DAYS).map(lambda day: NOW + timedelta(days=day)),
)


class Filled:
    """A store of memories of every sort, two indexes over it, and their vectors as the store holds them."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        vectors = families(600)
        with store.atomic() as tx:
            keys = [add(tx, f"note {number}", **_sort(number)) for number in range(len(vectors))]
            embedded = [row for row in range(len(keys)) if row % 11]
            some = [keys[row] for row in embedded]
            tx.vectors.put(tx.vectors.make_space(IDENTITY), some, vectors[embedded])
            self.memories = tx.memories.by_keys(some)
        kept = unit_rows(quantize(vectors).numbers.astype(np.float32))
        self.vectors = dict(zip(keys, kept, strict=True))
        self.indexes = [loaded(store), loaded(store, memory_bytes=0)]

    def truth(self, query: NDArray[np.float32], scope: Scope, filters: Filters) -> list[int]:
        """The nearest by looking at every memory that has a vector."""
        fitting = [
            key
            for key, memory in self.memories.items()
            if scope.sees(memory.scope) and _fits(memory, filters)
        ]
        return sorted(fitting, key=lambda key: -float(self.vectors[key] @ query))[:LIMIT]


def _fits(memory: Memory, filters: Filters) -> bool:
    """Whether a memory passes the filters, by their definition."""
    return (
        memory.status in filters.statuses
        and (not filters.layers or memory.layer in filters.layers)
        and (not filters.types or memory.type in filters.types)
        and (not filters.kinds or memory.kind in filters.kinds)
        and (not filters.categories or memory.category in filters.categories)
        and (filters.since is None or memory.when >= filters.since)
        and (filters.until is None or memory.when < filters.until)
    )


def _sort(number: int) -> dict[str, Any]:
    """What the memory of this number is; every combination comes up."""
    return {
        "scope": SCOPES[number % 4],
        "category": CATEGORIES[0 if number % 3 else 1] if number % 100 else "rare",
        "layer": Layer.EPISODIC if number % 5 < 3 else Layer.SEMANTIC,
        "type": list(MemoryType)[number % len(MemoryType)],
        "kind": list(Kind)[number // 7 % len(Kind)],
        "status": Status.ARCHIVED if number % 9 == 0 else Status.ACTIVE,
        "occurred_at": NOW + timedelta(days=number % DAYS),
    }


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """Six thousand memories: more than are all looked at."""
    store = open_store(tmp_path_factory.mktemp("filtered") / "memory.db")
    yield Filled(store)
    store.close()


@given(filters=filters, scope=st.sampled_from(SCOPES), asked=st.integers(0, 5_999))
def test_a_filtered_search_equals_the_exact_truth(
    filled: Filled, filters: Filters, scope: Scope, asked: int
) -> None:
    """On any combination of scope and filters, with the vectors in memory and without."""
    query = families(600)[asked]
    truth = filled.truth(query, scope, filters)

    for index in filled.indexes:
        with filled.store.read() as tx:
            found = index.search(tx, query, scope=scope, filters=filters, limit=LIMIT).found

        near = [key for key in truth if filled.vectors[key] @ query > 0.8]
        assert [one.key for one in found[: len(near)]] == near  # what is far may be anyone of hundreds
        assert len(found) == len(truth)


@given(filters=filters, scope=st.sampled_from(SCOPES), asked=st.integers(0, 5_999))
def test_an_index_that_just_started_says_the_same(
    filled: Filled, filters: Filters, scope: Scope, asked: int
) -> None:
    """A fresh index answers its first question as one that has long been loaded."""
    query, fresh = families(600)[asked], VectorIndex(IDENTITY, memory_bytes=10**9, patience_seconds=60)

    with filled.store.read() as tx:
        first = fresh.search(tx, query, scope=scope, filters=filters, limit=LIMIT)
        usual = filled.indexes[0].search(tx, query, scope=scope, filters=filters, limit=LIMIT)

    assert first.found == usual.found
    assert first.waiting == usual.waiting
