"""The border to foreign code: whatever a part does, its caller gets an error of ours, in time."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from engramdb import Engram, Settings
from engramdb.errors import ClockUnusable, EmbedderUnavailable, ModelUnavailable
from engramdb.health import Health
from engramdb.lifecycle.drafts import Draft
from engramdb.models.embedder import checked_vectors
from engramdb.models.guard import (
    FAILURES_TO_OPEN,
    FIRST_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    MAX_ABANDONED,
    ForeignGuard,
    Unusable,
)
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import EmbedderIdentity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

QUOTED = "the spare key is under the blue flowerpot"


class Stopwatch:
    """Seconds that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Stopwatch:
    """The breaker's own time."""
    return Stopwatch()


@pytest.fixture
def health() -> Health:
    """How the parts fare."""
    return Health(ManualClock())


@pytest.fixture
def guard(health: Health, watch: Stopwatch) -> ForeignGuard:
    """A guard whose pauses a test moves through."""
    return ForeignGuard(health, monotonic=watch)


def ask(
    guard: ForeignGuard, run: Callable[[], Any], *, seconds: float | None = 5.0, texts: Sequence[str] = ()
) -> Any:
    """Call a part."""
    return guard.call(
        "part", run, failure=ModelUnavailable, check=lambda one: one, timeout_seconds=seconds, texts=texts
    )


def fail() -> None:
    """Fail as foreign code does."""
    raise ZeroDivisionError(QUOTED)


@pytest.mark.parametrize(
    "raised",
    [
        ValueError(QUOTED),
        SystemExit(QUOTED),
        KeyboardInterrupt(QUOTED),
        MemoryError(QUOTED),
        RecursionError(QUOTED),
        GeneratorExit(QUOTED),
        StopIteration(QUOTED),
        EmbedderUnavailable(QUOTED),
        EmbedderUnavailable("no", hint=QUOTED),
        type("Odd", (BaseException,), {})(QUOTED),
    ],
    ids=lambda one: type(one).__name__,
)
def test_whatever_foreign_code_raises_becomes_an_error_that_quotes_nothing(
    guard: ForeignGuard, health: Health, raised: BaseException
) -> None:
    """Neither the error nor health holds a word of what it was given."""

    def run() -> None:
        raise raised

    with pytest.raises(ModelUnavailable) as caught:
        ask(guard, run, texts=[QUOTED])

    told = f"{caught.value} {health.parts()}"
    assert not [word for word in QUOTED.split() if len(word) > 3 and word in told]
    assert health.is_failing("part")


def test_what_foreign_code_says_is_shown_where_it_quotes_nothing(guard: ForeignGuard) -> None:
    """An embedder that explains itself in words of its own is understood."""

    def run() -> None:
        raise EmbedderUnavailable("quota exceeded")

    with pytest.raises(ModelUnavailable, match="quota exceeded"):
        ask(guard, run, texts=[QUOTED])


def test_a_hang_costs_its_deadline_once_and_is_left_behind(guard: ForeignGuard, watch: Stopwatch) -> None:
    """The next call fails at once; hanging calls are counted, and none is added beyond the limit."""
    release = threading.Event()
    begun = time.monotonic()
    for _ in range(MAX_ABANDONED):
        watch.now += LONGEST_PAUSE_SECONDS + 1
        with pytest.raises(ModelUnavailable, match="did not answer within"):
            ask(guard, release.wait, seconds=0.05)
    watch.now += LONGEST_PAUSE_SECONDS + 1
    with pytest.raises(ModelUnavailable, match="still busy with 4 earlier calls"):
        ask(guard, release.wait, seconds=0.05)
    assert time.monotonic() - begun < 5

    release.set()
    time.sleep(0.1)
    watch.now += LONGEST_PAUSE_SECONDS + 1
    assert ask(guard, lambda: 7) == 7


def test_a_breaker_opens_probes_and_closes(guard: ForeignGuard, watch: Stopwatch) -> None:
    """Closed, open after failures in a row, half-open after a pause that grows, closed after a success."""
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(ModelUnavailable, match="ZeroDivisionError"):
            ask(guard, fail)
    (opened,) = guard.states()
    with pytest.raises(ModelUnavailable, match="left alone after 5 failures"):
        ask(guard, lambda: pytest.fail("it was called while open"))
    watch.now += FIRST_PAUSE_SECONDS + 0.1
    (probing,) = guard.states()
    with pytest.raises(ModelUnavailable):
        ask(guard, fail)
    (longer,) = guard.states()
    watch.now += 2 * FIRST_PAUSE_SECONDS + 0.1
    assert ask(guard, lambda: "works") == "works"

    assert (opened.state, probing.state, longer.state) == ("open", "half-open", "open")
    assert longer.retry_seconds == 2 * opened.retry_seconds == 2 * FIRST_PAUSE_SECONDS
    assert opened.reason is not None
    assert "ZeroDivisionError" in opened.reason
    assert guard.states() == ()


def test_one_call_at_a_time_probes(guard: ForeignGuard, watch: Stopwatch) -> None:
    """While it is under way, others fail at once and do not pile up behind it."""
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(ModelUnavailable):
            ask(guard, fail)
    watch.now += FIRST_PAUSE_SECONDS + 0.1

    def probe() -> str:
        with pytest.raises(ModelUnavailable, match="left alone"):
            ask(guard, lambda: "second")
        return "first"

    assert ask(guard, probe) == "first"


def together(count: int, call: Callable[[], object]) -> None:
    """Make calls in threads of their own, all admitted before the first of them ends."""
    threads = [threading.Thread(target=call) for _ in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(timeout=30)
    assert not any(one.is_alive() for one in threads)


@pytest.mark.parametrize("count", [FAILURES_TO_OPEN, 12, 40])
def test_calls_that_fail_together_are_one_reason_to_pause(guard: ForeignGuard, count: int) -> None:
    """However many were under way when the breaker opened: none of them was a probe."""
    all_in = threading.Barrier(count)

    def fail_together() -> None:
        all_in.wait(timeout=30)
        fail()

    def call() -> None:
        with pytest.raises(ModelUnavailable):
            ask(guard, fail_together, seconds=30)

    together(count, call)

    (state,) = guard.states()
    assert (state.retry_seconds, state.failures) == (FIRST_PAUSE_SECONDS, count)


@pytest.mark.parametrize("ends", ["fails", "is left off"])
def test_a_call_from_before_neither_ends_a_probe_nor_counts_as_one(
    guard: ForeignGuard, watch: Stopwatch, ends: str
) -> None:
    """It began before the breaker opened and ends while another call probes the part."""
    breaker = guard.breaker("part")
    before = breaker.admit(ModelUnavailable)
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(ModelUnavailable):
            ask(guard, fail)
    watch.now += FIRST_PAUSE_SECONDS + 0.1
    assert isinstance(before, int)

    def probe() -> str:
        if ends == "fails":
            breaker.failed(ModelUnavailable("late"), admitted=before, seconds=20)
        else:
            breaker.left_off(before)
        with pytest.raises(ModelUnavailable, match="left alone"):
            ask(guard, lambda: pytest.fail("a second probe beside the first"))
        return "works"

    assert ask(guard, probe) == "works"
    breaker.failed(ModelUnavailable("later still"), admitted=before, seconds=20)
    assert guard.states() == ()


def look(guard: ForeignGuard) -> object:
    """Look at an attribute of the part, which works."""
    return guard.call(
        "part",
        lambda: "name",
        failure=ModelUnavailable,
        check=lambda one: one,
        timeout_seconds=5,
        is_work=False,
    )


def test_a_look_at_an_attribute_closes_no_breaker(guard: ForeignGuard, watch: Stopwatch) -> None:
    """A part whose name can be read and that fails at its work is left alone, and stays so."""
    for _ in range(FAILURES_TO_OPEN):
        look(guard)
        with pytest.raises(ModelUnavailable):
            ask(guard, fail)
    (opened,) = guard.states()
    watch.now += FIRST_PAUSE_SECONDS + 0.1
    look(guard)
    with pytest.raises(ModelUnavailable, match="ZeroDivisionError"):
        ask(guard, fail)
    (longer,) = guard.states()

    assert (opened.failures, opened.state) == (FAILURES_TO_OPEN, "open")
    assert longer.retry_seconds == 2 * FIRST_PAUSE_SECONDS


def test_a_success_forgets_earlier_failures(guard: ForeignGuard) -> None:
    """Four failures, a success and four failures leave the breaker closed."""
    for _ in range(2):
        for _ in range(FAILURES_TO_OPEN - 1):
            with pytest.raises(ModelUnavailable):
                ask(guard, fail)
        assert ask(guard, lambda: 1) == 1

    assert guard.states() == ()


def test_an_interrupted_caller_says_nothing_about_the_part(guard: ForeignGuard, health: Health) -> None:
    """Ctrl-C goes through, and neither health nor the breaker counts it."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    for _ in range(FAILURES_TO_OPEN + 1):
        with pytest.raises(KeyboardInterrupt):
            ask(guard, interrupted, seconds=None)

    assert guard.states() == ()
    assert health.parts() == ()


SPACE = EmbedderIdentity(name="x", dimension=3, revision="1")
GOOD = [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]]


@pytest.mark.parametrize(
    "rows",
    [
        None,
        "vectors",
        object(),
        [],
        [[1.0, 0.0, 0.0]],
        [*GOOD, [0.0, 1.0, 0.0]],
        [[1.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.0, 0.0], [0.0, float("nan"), 0.0]],
        [[1.0, 0.0, 0.0], [0.0, float("inf"), 0.0]],
        [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        [["a", "b", "c"], ["d", "e", "f"]],
        [[1j, 0, 0], [0, 1j, 0]],
        [[True, False, False], [False, True, False]],
        np.full((2, 3), 1e30, np.float64),
        np.zeros((2, 3, 1), np.float32),
        np.array([b"abc", b"def"]),
    ],
)
def test_no_lie_of_an_embedder_becomes_a_vector(rows: object) -> None:
    """Too few, too many, too short, no numbers, endless, zeros: each is refused as a whole."""
    with pytest.raises(Unusable):
        checked_vectors(rows, 2, SPACE)


@pytest.mark.parametrize(
    "rows",
    [
        GOOD,
        np.array(GOOD, np.float64),
        np.array(GOOD, np.float16),
        np.array(GOOD) * 17,
        [[3, 0, 0], [0, 4, 0]],
    ],
)
def test_a_vector_of_any_length_and_kind_of_number_is_brought_to_length_one(rows: object) -> None:
    """Float32, of length one: what is stored is comparable."""
    vectors = checked_vectors(rows, 2, SPACE)

    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=2e-3)


class PickyEmbedder(TinyEmbedder):
    """Raises a stranger's error for every batch that holds one certain text."""

    is_on = True

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Raise, quoting what it was given, or work."""
        if self.is_on and any("poison" in text for text in texts):
            raise RuntimeError(f"cannot embed {texts}")
        return super().embed_documents(texts)


def test_one_text_that_cannot_be_embedded_keeps_no_other_from_it(store_path: Path) -> None:
    """The write is stored, the others of its batch get their vectors, and the one waits until it can."""
    embedder, notes = PickyEmbedder(), [f"note {number}" for number in range(40)]
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        list(engram.remember_many([Draft(content=one) for one in (*notes, "a poison pill")]))
        waiting = engram.status().awaiting_embedding
        with pytest.raises(EmbedderUnavailable, match="1 memory cannot be embedded"):
            engram.embed_pending()
        left = engram.status().awaiting_embedding
        embedder.is_on = False
        engram._parts.guard.half_open()

        assert (waiting, left) == (41, 1)
        assert engram.embed_pending() == 1
        assert not engram.recall("poison").quality.is_degraded


def test_an_identity_that_can_be_read_is_no_sign_of_health(store_path: Path) -> None:
    """An embedder that fails is failing, however often its name is looked at."""
    embedder = TinyEmbedder()
    embedder.failure = "out of order"
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        engram.remember("I like tea")
        assert engram._parts.embedder.identity.name == "tiny"
        assert engram._parts.embedder.calibration is not None

        assert engram._parts.health.is_failing("embedder")


class SleepyEmbedder(TinyEmbedder):
    """Hangs until it is woken."""

    def __init__(self) -> None:
        super().__init__()
        self.awake = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Hang."""
        self.awake.wait(30)
        return super().embed_documents(texts)


def test_an_embedder_that_hangs_costs_one_deadline_and_no_memory(store_path: Path) -> None:
    """Ten writes and questions take one time-out together; status says what is left alone, and until when."""
    settings, embedder = Settings(embedder_timeout_seconds=1.2), SleepyEmbedder()
    with Engram.open(store_path, settings=settings, embedder=embedder, background=False) as engram:
        begun = time.monotonic()
        for number in range(5):
            engram.remember(f"note {number}")
            answer = engram.recall(f"note {number}")
            assert answer.hits
            assert "E3001" in answer.quality.missing[0].reason
        took = time.monotonic() - begun
        report = engram.status()
        embedder.awake.set()
        engram._parts.guard.half_open()

        assert took < 6
        assert [one.state for one in report.breakers] == ["open"]
        assert any(one.startswith("The embedder is left alone") for one in report.advice)
        assert engram.embed_pending() == 5
        assert engram.status().breakers == ()


class BadClock:
    """A clock that a test breaks."""

    def __init__(self) -> None:
        self.answer: Any = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> Any:
        """Tell what it is told to, or raise it."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


BAD_MOMENTS = [
    ValueError(QUOTED),
    None,
    "now",
    1_700_000_000.0,
    datetime(2026, 1, 1),  # noqa: DTZ001 - that is the fault
    datetime(9999, 12, 31, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
]


@pytest.mark.parametrize("answer", BAD_MOMENTS, ids=str)
def test_a_clock_that_breaks_later_costs_no_write(store_path: Path, answer: object) -> None:
    """Time goes on from the last moment it told, status says so, and it is believed again when it works."""
    clock = BadClock()
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("I like tea")
        clock.answer = answer
        stored = engram.remember("I like coffee")
        report = engram.status()
        clock.answer = datetime(2027, 1, 1, tzinfo=UTC)
        later = engram.remember("I like water")

        assert stored.created_at.year == 2026
        assert any("E5022" in one for one in report.advice)
        assert later.created_at == clock.answer
        assert not any("E5022" in one for one in engram.status().advice)


@pytest.mark.parametrize("answer", BAD_MOMENTS, ids=str)
def test_a_clock_that_never_worked_is_refused_before_a_store_is_made(
    store_path: Path, answer: object
) -> None:
    """There is no moment to go on from."""
    clock = BadClock()
    clock.answer = answer

    with pytest.raises(ClockUnusable):
        Engram.open(store_path, clock=clock, background=False)

    assert not store_path.exists()
