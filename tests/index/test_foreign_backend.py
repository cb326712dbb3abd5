"""A stranger's index sees eight bits and row numbers, may be asked so often, and is never relied on."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from engramdb.index import foreign
from engramdb.index.foreign import BackendRefusal, ForeignBackend
from engramdb.store.contract import QuantizedVectors
from engramdb.store.sqlite.precision import quantize
from engramdb.testing import ManualClock
from engramdb.values import GLOBAL, Filters

from .made import DIMENSION, FAMILY, families, fill, loaded, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from engramdb.index.vector import Nearest
    from engramdb.store.sqlite.store import SqliteStore

MANY = 600
PATIENT = 30.0  # seconds: a busy machine is no slow stranger


class Stranger:
    """An exact index of someone else's, which notes what it is given."""

    def __init__(self) -> None:
        self.vectors = np.zeros((0, DIMENSION), np.float32)
        self.given: list[Any] = []
        self.failure: BaseException | None = None
        self.gate = threading.Event()
        self.gate.set()

    def put(self, rows: NDArray[np.intp], vectors: QuantizedVectors) -> None:
        """Keep the vectors."""
        self.given.append((rows, vectors))
        grown = np.zeros((max(len(self.vectors), int(rows.max()) + 1), DIMENSION), np.float32)
        grown[: len(self.vectors)] = self.vectors
        grown[rows] = vectors.numbers * vectors.scales[:, None]
        self.vectors = grown

    def shortlist(self, query: QuantizedVectors, count: int) -> NDArray[np.intp]:
        """The nearest rows, unless told to fail or to wait."""
        self.given.append(query)
        if self.failure is not None:
            raise self.failure
        assert self.gate.wait(PATIENT)
        scores = self.vectors @ (query.numbers[0] * query.scales[0])
        return np.argsort(-scores)[:count]


OPENED: list[Fenced] = []


@pytest.fixture(autouse=True)
def _end_all() -> Iterator[None]:
    """End the threads of every fence that a test has put up."""
    yield
    while OPENED:
        fenced = OPENED.pop()
        fenced.stranger.gate.set()
        fenced.backend.close()


class Fenced:
    """A stranger behind its fence, with a clock and an account of what was audited."""

    def __init__(self, *, rate: float = 1000, timeout_seconds: float = PATIENT) -> None:
        self.stranger, self.clock = Stranger(), ManualClock()
        self.audited: Counter[str] = Counter()
        self.backend = ForeignBackend(
            self.stranger, rate=rate, audit=self._audit, clock=self.clock, timeout_seconds=timeout_seconds
        )
        OPENED.append(self)

    def _audit(self, action: str, counts: Mapping[str, int]) -> None:
        for name, count in counts.items():
            self.audited[f"{action}: {name}"] += count


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """A store with more memories than are all looked at."""
    opened = open_store(store_path)
    fill(opened, families(MANY))
    yield opened
    opened.close()


def search(
    store: SqliteStore, fenced: Fenced, query: NDArray[np.float32], *, filters: Filters = Filters()
) -> Nearest:
    """What an index that uses the stranger answers."""
    index = loaded(store, foreign=fenced.backend)
    with store.read() as tx:
        return index.search(tx, query, scope=GLOBAL, filters=filters, limit=FAMILY)


def family(row: int) -> set[int]:
    """The keys of a row's family."""
    first = row - row % FAMILY + 1
    return set(range(first, first + FAMILY))


def test_a_stranger_is_given_row_numbers_and_eight_bits_only(store: SqliteStore) -> None:
    """Neither the stored vectors nor the question reach it in full precision."""
    fenced = Fenced()

    answer = search(store, fenced, families(MANY)[42])

    assert {one.key for one in answer.found} == family(42)
    assert answer.notes == ()
    (rows, vectors), query = fenced.stranger.given
    assert rows.tolist() == list(range(MANY * FAMILY))
    for one in (vectors, query):
        assert isinstance(one, QuantizedVectors)
        assert one.numbers.dtype == np.int8


def test_what_a_stranger_is_given_is_audited_in_counts(store: SqliteStore) -> None:
    """The account says how many vectors and questions went out, and nothing of what they mean."""
    fenced = Fenced()

    search(store, fenced, families(MANY)[0])

    assert fenced.audited["foreign index fed: vectors"] == MANY * FAMILY
    assert fenced.audited["foreign index asked: queries"] == 1


def test_changing_what_it_was_given_changes_nothing_of_ours(store: SqliteStore) -> None:
    """The stranger gets copies."""
    vectors = quantize(families(1))
    before = vectors.numbers.copy()
    fenced = Fenced()

    fenced.backend.put(np.arange(FAMILY), vectors)
    fenced.backend.shortlist(families(1)[0], np.ones(FAMILY, np.bool_), 3)
    _, given = fenced.stranger.given[0]
    given.numbers[:] = 0

    np.testing.assert_array_equal(vectors.numbers, before)


def test_asked_too_often_it_is_passed_over_until_the_minute_has_gone_on(store: SqliteStore) -> None:
    """So many a minute, and the answer is right all the same, and says so."""
    fenced = Fenced(rate=2)
    index, query = loaded(store, foreign=fenced.backend), families(MANY)[7]

    def notes() -> tuple[str, ...]:
        with store.read() as tx:
            answer = index.search(tx, query, scope=GLOBAL, filters=Filters(), limit=FAMILY)
        assert {one.key for one in answer.found} == family(7)
        return answer.notes

    first, second, third = notes(), notes(), notes()
    fenced.clock.advance(seconds=30)
    later = notes()

    assert first == second == later == ()
    assert "more often" in third[0]
    assert fenced.audited["foreign index refused: queries"] == 1


def test_a_stranger_that_fails_is_replaced_by_ours(store: SqliteStore) -> None:
    """The answer is the built-in backend's, and names the failure, but not the stranger's words."""
    fenced = Fenced()
    fenced.stranger.failure = KeyError("Ann's secret")

    first = search(store, fenced, families(MANY)[7])
    second = search(store, fenced, families(MANY)[7])

    assert {one.key for one in first.found} == family(7)
    assert first.notes == second.notes == ("the foreign index failed with KeyError",)


def test_a_slow_stranger_is_not_waited_for_twice(store: SqliteStore) -> None:
    """After one question ran out of time, others do not wait until the stranger is back."""
    fenced = Fenced(timeout_seconds=1)
    allowed, query = np.ones(FAMILY, np.bool_), families(1)[0]
    fenced.backend.put(np.arange(FAMILY), quantize(families(1)))

    fenced.stranger.gate.clear()
    late = fenced.backend.shortlist(query, allowed, 3)
    busy = fenced.backend.shortlist(query, allowed, 3)
    fenced.stranger.gate.set()

    assert isinstance(late, BackendRefusal)
    assert "in time" in late.reason
    assert isinstance(busy, BackendRefusal)
    assert "still busy" in busy.reason
    wait_until_free(fenced)
    assert not isinstance(fenced.backend.shortlist(query, allowed, 3), BackendRefusal)


def wait_until_free(fenced: Fenced) -> None:
    """Let the stranger finish what it is at."""
    free = threading.Event()
    fenced.backend._calls.put(free.set)
    assert free.wait(PATIENT)


def test_a_stranger_that_cannot_keep_up_is_given_up() -> None:
    """The vectors that wait for it do not pile up without end."""
    fenced = Fenced(timeout_seconds=0.01)
    fenced.stranger.gate.clear()
    fenced.backend.put(np.arange(FAMILY), quantize(families(1)))
    fenced.backend.shortlist(families(1)[0], np.ones(FAMILY, np.bool_), 3)

    for _ in range(foreign.MAX_QUEUED_BATCHES + 2):
        fenced.backend.put(np.arange(FAMILY), quantize(families(1)))
    refused = fenced.backend.shortlist(families(1)[0], np.ones(FAMILY, np.bool_), 3)
    fenced.stranger.gate.set()

    assert refused == BackendRefusal("the foreign index fell behind")


@pytest.mark.parametrize(
    "proposal",
    [[], [-1, 10**9], ["a"], [[1, 2]], None, [0.5, 1.5]],
    ids=["nothing", "no rows", "words", "a table", "none", "fractions"],
)
def test_a_proposal_that_makes_no_sense_is_not_used(store: SqliteStore, proposal: Any) -> None:
    """Whatever a stranger returns, the answer is right."""

    class Odd(Stranger):
        def shortlist(self, query: QuantizedVectors, count: int) -> NDArray[np.intp]:
            return proposal  # type: ignore[no-any-return]

    fenced = Fenced()
    fenced.stranger.__class__ = Odd

    answer = search(store, fenced, families(MANY)[7])

    assert {one.key for one in answer.found} == family(7)
    assert len(answer.notes) == 1


def test_a_stranger_cannot_bring_in_what_the_filter_keeps_out(store: SqliteStore) -> None:
    """It proposes from all rows; only what the reader may see is looked at, and nothing is lost."""
    fill(store, families(MANY, seed=4), word="archive me")
    with store.atomic() as tx:
        for key in range(1, 2_000):
            memory = tx.memories.by_keys([key])[key]
            tx.memories.replace(memory.evolve(category="rare"))
    fenced = Fenced()

    answer = search(store, fenced, families(MANY)[2_500], filters=Filters(categories=frozenset({"general"})))

    assert {one.key for one in answer.found} == family(2_500)
    assert min(one.key for one in answer.found) >= 2_000


def test_a_closed_stranger_is_asked_nothing_more() -> None:
    """Its thread ends, and questions go to ours."""
    fenced = Fenced()

    fenced.backend.close()

    refused = fenced.backend.shortlist(families(1)[0], np.ones(FAMILY, np.bool_), 3)
    assert refused == BackendRefusal("the foreign index was closed")
    assert fenced.stranger.given == []


def test_a_stranger_that_comes_back_is_filled_again_and_asked(store: SqliteStore) -> None:
    """What it missed while it failed it is given from the beginning; until then ours answers."""
    fenced, query = Fenced(), families(MANY)[7]
    index = loaded(store, foreign=fenced.backend)

    def ask() -> Nearest:
        with store.read() as tx:
            return index.search(tx, query, scope=GLOBAL, filters=Filters(), limit=FAMILY)

    fenced.stranger.failure = SystemExit("gone")
    failed = ask()
    fenced.stranger.failure = None
    fenced.stranger.given.clear()
    fenced.backend._breaker.half_open()
    filling = ask()
    wait_until_free(fenced)
    back = ask()

    assert failed.notes == ("the foreign index failed with SystemExit",)
    assert filling.notes in {("the foreign index is filled again",), ()}
    assert back.notes == ()
    assert fenced.stranger.given
    assert {one.key for one in back.found} == {one.key for one in failed.found} == family(7)
