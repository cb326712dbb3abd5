"""The vector index finds what an exact look at every vector would find, on each of its paths."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engramdb.errors import DimensionMismatch
from engramdb.index import backend, mirror
from engramdb.index.vector import VectorIndex
from engramdb.store.sqlite.precision import quantize
from engramdb.values import GLOBAL, Filters, Status

from .made import ANN, DIMENSION, IDENTITY, add, ask, families, fill, loaded, open_store, unit, unit_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from engramdb.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.xdist_group("vector-index")

ROWS, CLUSTERS = 12_000, 150
RARE = Filters(categories=frozenset({"rare"}))


@dataclass(frozen=True)
class Corpus:
    """A store with clustered vectors, and the vectors as the store holds them."""

    store: SqliteStore
    keys: NDArray[np.int64]
    vectors: NDArray[np.float32]
    is_rare: NDArray[np.bool_]
    is_anns: NDArray[np.bool_]

    def exactly(
        self, query: NDArray[np.float32], *, limit: int = 10, among: NDArray[np.bool_] | None = None
    ) -> list[int]:
        """The nearest keys by brute force, of those that may be seen."""
        among = np.ones(len(self.keys), np.bool_) if among is None else among
        scores = np.where(among, self.vectors @ query, -np.inf)
        return [int(key) for key in self.keys[np.argsort(-scores, kind="stable")[:limit]]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    """Twelve thousand memories, a hundredth of them rare, a tenth of them Ann's, all visible to Ann."""
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(CLUSTERS, DIMENSION))
    raw = centres[rng.integers(CLUSTERS, size=ROWS)] + 0.6 * rng.normal(size=(ROWS, DIMENSION)) + 0.4
    vectors = unit_rows(raw)
    is_rare, is_anns = rng.random(ROWS) < 0.01, rng.random(ROWS) < 0.1
    store = open_store(tmp_path_factory.mktemp("vectors") / "memory.db")
    with store.atomic() as tx:
        keys = [
            add(
                tx,
                f"note {n}",
                category="rare" if is_rare[n] else "general",
                scope=ANN if is_anns[n] else GLOBAL,
            )
            for n in range(ROWS)
        ]
        tx.vectors.put(tx.vectors.make_space(IDENTITY), keys, vectors)
    kept = quantize(vectors)
    exact = unit_rows(kept.numbers.astype(np.float32))
    yield Corpus(store, np.array(keys, np.int64), exact, is_rare, is_anns)
    store.close()


def questions(corpus: Corpus, count: int = 60) -> NDArray[np.float32]:
    """Vectors near to stored ones."""
    rng = np.random.default_rng(11)
    raw = corpus.vectors[rng.integers(ROWS, size=count)] + 0.08 * rng.normal(size=(count, DIMENSION))
    return unit_rows(raw)


def test_the_shortlist_holds_what_an_exact_look_would_find(corpus: Corpus) -> None:
    """Scanning one bit per dimension first loses at most three of a hundred of the true top ten."""
    index = loaded(corpus.store)
    asked = questions(corpus)

    overlap = [
        len(set(ask(index, corpus.store, query, scope=ANN)) & set(corpus.exactly(query))) / 10
        for query in asked
    ]

    assert ROWS > backend.EXACT_ROWS
    assert np.mean(overlap) >= 0.97


def test_the_nearest_of_all_is_found_first(corpus: Corpus) -> None:
    """A question that is a stored vector finds that memory, with a similarity of one."""
    index = loaded(corpus.store)

    with corpus.store.read() as tx:
        for row in (0, 5_000, ROWS - 1):
            query = corpus.vectors[row] / np.linalg.norm(corpus.vectors[row])
            best = index.search(tx, query, scope=ANN, filters=Filters(), limit=1).found[0]

            assert best.key == corpus.keys[row]
            assert best.score == pytest.approx(1, abs=0.01)


def test_vectors_that_do_not_fit_in_memory_give_the_same_answers(corpus: Corpus) -> None:
    """An index that may keep no vectors reads them from the store and finds the same memories."""
    resident, frugal = loaded(corpus.store), loaded(corpus.store, memory_bytes=0)

    for query in questions(corpus, 20):
        assert ask(frugal, corpus.store, query, scope=ANN) == ask(resident, corpus.store, query, scope=ANN)
    assert frugal.state().bytes < resident.state().bytes / 4


def test_a_question_of_an_index_that_has_read_nothing_sees_everything(corpus: Corpus) -> None:
    """The first question after a start waits for the index and is answered as any later one."""
    fresh, warm = VectorIndex(IDENTITY, memory_bytes=10**9, patience_seconds=60), loaded(corpus.store)

    for query in questions(corpus, 5):
        assert ask(fresh, corpus.store, query, scope=ANN) == ask(warm, corpus.store, query, scope=ANN)


@pytest.mark.parametrize("memory_bytes", [10**9, 0], ids=["resident", "frugal"])
def test_a_filter_that_lets_one_in_a_hundred_through_is_exact(corpus: Corpus, memory_bytes: int) -> None:
    """Filters choose before the search, so a narrow one never comes back with too few or with others."""
    index = loaded(corpus.store, memory_bytes=memory_bytes)

    for query in questions(corpus, 20):
        found = ask(index, corpus.store, query, scope=ANN, filters=RARE)

        assert found == corpus.exactly(query, among=corpus.is_rare)


def test_a_scope_is_exact_on_every_path(corpus: Corpus) -> None:
    """What the reader may not see is not found: by codes, from the store, or by the scan."""
    indexes = [
        loaded(corpus.store),
        loaded(corpus.store, memory_bytes=0),
        VectorIndex(IDENTITY, memory_bytes=10**9),
    ]
    everyones = set(corpus.keys[~corpus.is_anns].tolist())

    for query in questions(corpus, 5):
        for index in indexes:
            assert set(ask(index, corpus.store, query, scope=GLOBAL, limit=100)) <= everyones


def test_asking_for_more_than_there_is_gives_all(corpus: Corpus) -> None:
    """A limit above the number of allowed memories is no error and loses none."""
    index = loaded(corpus.store)

    found = ask(index, corpus.store, questions(corpus, 1)[0], scope=ANN, filters=RARE, limit=1000)

    assert set(found) == set(corpus.keys[corpus.is_rare].tolist())


def test_no_status_means_no_memory(corpus: Corpus) -> None:
    """A filter that lets no status through finds nothing, on every path."""
    nothing = Filters(statuses=frozenset())

    assert ask(loaded(corpus.store), corpus.store, questions(corpus, 1)[0], scope=ANN, filters=nothing) == []


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    opened = open_store(store_path)
    yield opened
    opened.close()


def test_writes_of_another_process_are_found_by_the_next_question(
    store: SqliteStore, store_path: Path
) -> None:
    """The index catches up before it answers: with new, changed and forgotten memories."""
    index = VectorIndex(IDENTITY, memory_bytes=10**9)
    assert ask(index, store, unit(1)) == []
    other = open_store(store_path)

    with other.atomic() as tx:
        key = add(tx, "from elsewhere")
        tx.vectors.put(tx.vectors.make_space(IDENTITY), [key], unit(1)[None])
    after_write = ask(index, store, unit(1))
    with other.atomic() as tx:
        memory = tx.memories.by_keys([key])[key]
        tx.memories.replace(memory.evolve(status=Status.FORGOTTEN))
        tx.vectors.remove(key)
    after_forgetting = ask(index, store, unit(1))
    other.close()

    assert after_write == [key]
    assert after_forgetting == []


def test_a_snapshot_finds_what_it_can_see(store: SqliteStore) -> None:
    """A question inside an older snapshot does not fail because the index already knows newer memories."""
    index = VectorIndex(IDENTITY, memory_bytes=10**9)
    with store.atomic() as tx:
        first = add(tx, "first")
        tx.vectors.put(tx.vectors.make_space(IDENTITY), [first], unit(1)[None])

    with store.read() as old:
        old.memories.count()
        writer = threading.Thread(target=add_and_ask, args=(store, index))
        writer.start()
        writer.join()
        found = index.search(old, unit(1), scope=GLOBAL, filters=Filters(), limit=10).found

    assert first in {one.key for one in found}


def add_and_ask(store: SqliteStore, index: VectorIndex) -> None:
    """Store another memory and bring the index up to it."""
    with store.atomic() as tx:
        space = tx.vectors.make_space(IDENTITY)
        tx.vectors.put(space, [add(tx, "second")], unit(1, 1)[None])
    ask(index, store, unit(1))


def test_a_changed_vector_replaces_the_old_one(store: SqliteStore) -> None:
    """After a rebuild with other vectors the index scores by the new ones."""
    index = VectorIndex(IDENTITY, memory_bytes=10**9)
    with store.atomic() as tx:
        space = tx.vectors.make_space(IDENTITY)
        key = add(tx, "note")
        tx.vectors.put(space, [key], unit(1)[None])
    with store.read() as tx:
        before = index.search(tx, unit(0, 1), scope=GLOBAL, filters=Filters(), limit=1).found[0].score
    with store.atomic() as tx:
        tx.vectors.put(space, [key], unit(0, 1)[None])

    with store.read() as tx:
        after = index.search(tx, unit(0, 1), scope=GLOBAL, filters=Filters(), limit=1).found[0].score

    assert before == pytest.approx(0, abs=0.01)
    assert after == pytest.approx(1, abs=0.01)


def test_a_new_space_that_fills_slowly_finds_as_well_as_one_that_was_full(store: SqliteStore) -> None:
    """
    The index of a changed embedder starts with thousands of memories and no vector, or one.

    What it learns from the first few vectors must not spoil the search once all are there.
    """
    rng = np.random.default_rng(3)
    raw = rng.normal(size=(6_000, DIMENSION)) + 3.0  # all in one corner, as e5's are
    vectors = unit_rows(raw)
    with store.atomic() as tx:
        keys = [add(tx, f"note {number}") for number in range(len(vectors))]
        space = tx.vectors.make_space(IDENTITY)
    index = VectorIndex(IDENTITY, memory_bytes=10**9)

    empty = ask(index, store, vectors[0])
    for rows in (slice(0, 1), slice(1, 10), slice(10, 6_000)):
        with store.atomic() as tx:
            tx.vectors.put(space, keys[rows], vectors[rows])
        ask(index, store, vectors[0])
    at_once = VectorIndex(IDENTITY, memory_bytes=10**9)
    at_once.load(store, stop=threading.Event())

    assert empty == []
    for query in vectors[::300]:
        assert ask(index, store, query) == ask(at_once, store, query)


def test_what_waits_for_its_vector_is_counted_in_scope(store: SqliteStore) -> None:
    """The answer says how many memories could not take part, of those that the reader may see."""
    index = VectorIndex(IDENTITY, memory_bytes=10**9)
    with store.atomic() as tx:
        space = tx.vectors.make_space(IDENTITY)
        tx.vectors.put(space, [add(tx, "embedded")], unit(1)[None])
        add(tx, "waiting for all")
        add(tx, "waiting for Ann", scope=ANN)

    with store.read() as tx:
        everyone = index.search(tx, unit(1), scope=GLOBAL, filters=Filters(), limit=5)
        ann = index.search(tx, unit(1), scope=ANN, filters=Filters(), limit=5)

    assert (everyone.waiting, ann.waiting) == (1, 2)


def test_memories_embedded_newest_first_are_all_found(store: SqliteStore) -> None:
    """
    The feed of changes may bring older memories after newer ones, over several steps of loading.

    That is how a background re-embedding leaves a store; every memory keeps its own row.
    """
    vectors = families(mirror.STEP_ROWS // 10 + 300)
    with store.atomic() as tx:
        keys = [add(tx, f"note {number}") for number in range(len(vectors))]
        space = tx.vectors.make_space(IDENTITY)
        for start in range(len(keys) - 1000, -1, -1000):
            tx.vectors.put(space, keys[start : start + 1000], vectors[start : start + 1000])

    index = loaded(store)

    asked = range(0, len(keys), 997)
    assert index.state().rows == len(keys)
    assert [ask(index, store, vectors[row], limit=1) for row in asked] == [[keys[row]] for row in asked]


def test_an_answer_says_how_much_it_has_not_seen(store: SqliteStore) -> None:
    """Out of patience, a question is answered from what is loaded and from what other indexes found."""
    vectors = families(mirror.STEP_ROWS // 10 + 100)
    keys = fill(store, vectors)
    hasty = VectorIndex(IDENTITY, memory_bytes=10**9, patience_seconds=0)

    with store.read() as tx:
        early = hasty.search(tx, vectors[-1], scope=GLOBAL, filters=Filters(), limit=3, also=[keys[-1]])
        later = hasty.search(tx, vectors[-1], scope=GLOBAL, filters=Filters(), limit=3)

    assert early.unread == 1000
    assert keys[-1] in {one.key for one in early.found}
    assert later.unread == 0
    assert later.found[0].key == keys[-1]


@pytest.mark.parametrize("memory_bytes", [10**9, 0], ids=["resident", "frugal"])
def test_what_other_indexes_found_is_scored_by_the_same_measure(corpus: Corpus, memory_bytes: int) -> None:
    """A memory far from the question gets its true similarity, whether vectors are in memory or not."""
    index = loaded(corpus.store, memory_bytes=memory_bytes)
    query = questions(corpus, 1)[0]
    far = int(np.argmin(corpus.vectors @ query))

    with corpus.store.read() as tx:
        found = index.search(
            tx, query, scope=ANN, filters=Filters(), limit=5, also=[int(corpus.keys[far])]
        ).found

    assert len(found) == 6
    assert found[-1].key == corpus.keys[far]
    assert found[-1].score == pytest.approx(float(corpus.vectors[far] @ query), abs=0.01)


def test_only_the_keys_that_another_filter_let_through_are_found(corpus: Corpus) -> None:
    """Filters that the columns do not know come as keys, and are as exact as the others."""
    index = loaded(corpus.store)
    chosen = np.arange(ROWS) % 7 == 0

    for query in questions(corpus, 10):
        with corpus.store.read() as tx:
            found = index.search(tx, query, scope=ANN, filters=RARE, limit=5, among=corpus.keys[chosen]).found

        assert [one.key for one in found] == corpus.exactly(query, limit=5, among=corpus.is_rare & chosen)


def test_a_vector_of_another_length_is_an_error_with_a_code(corpus: Corpus) -> None:
    """A question from another model is refused, not answered with nonsense."""
    index = loaded(corpus.store)

    with corpus.store.read() as tx:
        with pytest.raises(DimensionMismatch) as asked:
            index.search(tx, np.ones(DIMENSION + 1, np.float32), scope=ANN, filters=Filters(), limit=1)
        with pytest.raises(DimensionMismatch):
            index.neighbors(tx, np.ones((2, 3), np.float32), scope=ANN, limit=1)

    assert asked.value.code == "E3003"
