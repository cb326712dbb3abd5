"""The index changes its backend while questions are asked, and every answer is the true one."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engramdb.index import backend, mirror
from engramdb.index.vector import VectorIndex

from .made import FAMILY, IDENTITY, add, ask, families, fill, loaded, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from numpy.typing import NDArray

    from engramdb.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.xdist_group("index-switch")

BEFORE = backend.EXACT_ROWS - 96
ASKERS = 3  # one less than the store has readers: a fourth would starve whoever loads or rebuilds


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """A store with a few memories less than are all looked at."""
    opened = open_store(store_path)
    fill(opened, families(BEFORE // FAMILY))
    yield opened
    opened.close()


class Askers:
    """Threads that ask for one family after another, and note every answer that is not that family."""

    def __init__(self, index: VectorIndex, store: SqliteStore, vectors: NDArray[np.float32]) -> None:
        self._index, self._store, self._vectors = index, store, vectors
        self._stop = threading.Event()
        self.wrong: list[tuple[int, list[int]]] = []
        self.asked = 0

    def during(self, action: Callable[[], object]) -> None:
        """Ask while the action runs, and a little before and after it."""
        with ThreadPoolExecutor(ASKERS) as pool:
            running = [pool.submit(self._ask_on, seed) for seed in range(ASKERS)]
            try:
                self._wait_for_answers(running)
                action()
                self._wait_for_answers(running)
            finally:
                self._stop.set()
            for one in running:
                one.result()

    def _ask_on(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        while not self._stop.is_set():
            row = int(rng.integers(len(self._vectors)))
            found = ask(self._index, self._store, self._vectors[row], limit=FAMILY)
            first = row - row % FAMILY + 1  # keys count from one
            if set(found) != set(range(first, first + FAMILY)):
                self.wrong.append((row, found))
            self.asked += 1

    def _wait_for_answers(self, running: Sequence[Future[None]]) -> None:
        """Let the threads finish a few questions, unless one has failed."""
        goal = self.asked + 5 * ASKERS
        while self.asked < goal and not self.wrong and not any(one.done() for one in running):
            time.sleep(0.001)


def test_growing_out_of_the_exact_backend_changes_no_answer(store: SqliteStore) -> None:
    """While memories are added past the limit, old ones are found as by an exact look."""
    index = VectorIndex(IDENTITY, memory_bytes=10**9)
    askers = Askers(index, store, families(BEFORE // FAMILY))
    more = families(200, seed=8)

    def grow() -> None:
        for start in range(0, len(more), 100):
            fill(store, more[start : start + 100], word=f"more {start}")

    askers.during(grow)

    assert askers.wrong == []
    assert askers.asked > 10 * ASKERS
    assert index.state().backend == "compressed"


def test_running_out_of_memory_changes_no_answer(store: SqliteStore) -> None:
    """When the vectors outgrow the budget they are left to the store, under the same questions."""
    fill(store, families(100, seed=8), word="more")
    row_bytes = IDENTITY.dimension + 4
    index = VectorIndex(IDENTITY, memory_bytes=5_200 * row_bytes)
    askers = Askers(index, store, families(BEFORE // FAMILY))

    askers.during(lambda: fill(store, families(40, seed=9), word="yet more"))

    assert askers.wrong == []
    assert index.state().bytes < 5_400 * IDENTITY.dimension / 4


def rebuild_often(index: VectorIndex, store: SqliteStore) -> None:
    """Make the backend anew, several times."""
    for _ in range(8):
        index.rebuild(store)


def test_a_rebuild_under_load_changes_no_answer(store: SqliteStore) -> None:
    """A new backend is made beside the old one, which answers until the new one is ready."""
    fill(store, families(200, seed=8), word="more")
    index = loaded(store)
    askers = Askers(index, store, families(BEFORE // FAMILY))

    askers.during(lambda: rebuild_often(index, store))

    assert askers.wrong == []


def test_what_is_written_during_a_rebuild_is_in_the_new_backend(store: SqliteStore) -> None:
    """Changes that come while the new backend is being built are added before it takes over."""
    fill(store, families(200, seed=8), word="more")
    index = loaded(store)
    late = families(30, seed=10)

    with ThreadPoolExecutor(1) as pool:
        rebuilding = pool.submit(rebuild_often, index, store)
        keys = []
        for number, vector in enumerate(late):
            keys += fill(store, vector[None], word=f"late {number}")
            ask(index, store, vector)
        rebuilding.result()

    assert [ask(index, store, vector, limit=1) for vector in late] == [[key] for key in keys]


def test_a_memory_removed_from_a_rebuilt_index_stays_removed(store: SqliteStore) -> None:
    """A rebuild brings nothing back that the store no longer has."""
    fill(store, families(200, seed=8), word="more")
    index = loaded(store)
    vectors = families(BEFORE // FAMILY)
    with store.atomic() as tx:
        tx.vectors.remove(1)
        tx.memories.replace(tx.memories.by_keys([1])[1].evolve(version=2))

    index.rebuild(store)

    assert 1 not in ask(index, store, vectors[0], limit=FAMILY)


def test_questions_are_answered_while_the_index_loads_in_the_background(store: SqliteStore) -> None:
    """Who asks during the load helps with it instead of reading everything twice."""
    with store.atomic() as tx:
        keys = [add(tx, f"many {number}") for number in range(mirror.STEP_ROWS + 5_000)]
        vectors = families(len(keys) // FAMILY, seed=12)
        tx.vectors.put(tx.vectors.make_space(IDENTITY), keys, vectors)
    index = VectorIndex(IDENTITY, memory_bytes=10**9, patience_seconds=60)
    askers = Askers(index, store, families(BEFORE // FAMILY))

    askers.during(lambda: index.load(store, stop=threading.Event()))

    assert askers.wrong == []
    assert index.state().is_loaded
