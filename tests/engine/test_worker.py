"""The background worker: jobs go on whatever one of them does, and nobody waits for them forever."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from engramdb import worker as worker_module
from engramdb.clock import SystemClock
from engramdb.errors import StoreBusy
from engramdb.health import Health
from engramdb.worker import MAX_CRASHES, MAX_RESTARTS, Worker

PATIENCE_SECONDS = 30.0


@contextmanager
def working(health: Health | None = None) -> Iterator[Worker]:
    """A worker that is closed in the end."""
    worker = Worker("test", health=health or Health(SystemClock()))
    try:
        yield worker
    finally:
        worker.close(PATIENCE_SECONDS)


def wait_until(is_true: Callable[[], bool]) -> None:
    """Return once it is true; fails after a while."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses after a failure are short enough for a test."""
    monkeypatch.setattr(worker_module, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(worker_module, "LONGEST_PAUSE_SECONDS", 0.02)


def test_no_thread_runs_before_there_is_something_to_do() -> None:
    """A process that asks for nothing in the background has no thread for it."""
    with working() as worker:
        assert not worker.state().is_alive
        worker.submit("one", lambda: None)

        assert worker.wait(PATIENCE_SECONDS)
        assert worker.state().is_alive


def test_of_two_requests_with_one_key_the_latest_counts() -> None:
    """What waits is replaced; other keys and other jobs are left alone."""
    ran: list[str] = []
    begun, may_go_on = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        may_go_on.wait(PATIENCE_SECONDS)

    with working() as worker:
        worker.submit("hold", hold)
        assert begun.wait(PATIENCE_SECONDS)
        worker.submit("read", lambda: ran.append("first"), key="a")
        worker.submit("read", lambda: ran.append("other"), key="b")
        worker.submit("read", lambda: ran.append("second"), key="a")
        may_go_on.set()

        assert worker.wait(PATIENCE_SECONDS)
    assert sorted(ran) == ["other", "second"]


def test_beyond_a_limit_the_oldest_requests_are_dropped() -> None:
    """A job that only prepares something does not pile up."""
    ran: list[int] = []
    may_go_on = threading.Event()
    with working() as worker:
        worker.submit("hold", lambda: may_go_on.wait(PATIENCE_SECONDS))
        for number in range(5):
            worker.submit("prepare", partial(ran.append, number), key=number, max_waiting=2)
        may_go_on.set()

        assert worker.wait(PATIENCE_SECONDS)
    assert ran == [3, 4]


def test_a_failing_job_is_tried_again_until_it_works() -> None:
    """A store that is busy may be free a moment later, however often it was not."""
    attempts: list[int] = []

    def fail_often() -> None:
        attempts.append(1)
        if len(attempts) <= 2 * MAX_CRASHES:
            raise StoreBusy("somebody writes")

    with working() as worker:
        worker.submit("read", fail_often)
        wait_until(lambda: len(attempts) > 2 * MAX_CRASHES)
        wait_until(lambda: worker.state().running is None)

        (job,) = worker.state().jobs
    assert (job.failures, job.error, job.is_given_up) == (0, None, False)


def test_a_job_with_a_bug_is_given_up_and_the_others_go_on() -> None:
    """Health tells the type and the place of the error, never its words, which may be a memory's."""
    health, ran = Health(SystemClock()), list[str]()

    def crash() -> None:
        raise ValueError("the secret of a memory")

    with working(health) as worker:
        worker.submit("broken", crash)
        wait_until(lambda: any(job.is_given_up for job in worker.state().jobs))
        worker.submit("broken", lambda: ran.append("broken"))
        worker.submit("sound", lambda: ran.append("sound"))
        assert worker.wait(PATIENCE_SECONDS)

        broken = next(job for job in worker.state().jobs if job.name == "broken")
    (part,) = health.parts()
    assert ran == ["sound"]
    assert broken.crashes == MAX_CRASHES
    assert part.name == "broken"
    assert part.failures == MAX_CRASHES
    assert (part.failure or "").startswith("ValueError at test_worker.py:")
    assert "secret" not in f"{part.failure} {broken.error}"


def test_a_repeated_job_does_not_count_as_waiting() -> None:
    """`wait` is for what was asked for; upkeep never ends."""
    ran: list[int] = []
    with working() as worker:
        worker.every(0.01, "upkeep", lambda: ran.append(1))
        worker.every(0.01, "upkeep", lambda: ran.append(100))
        wait_until(lambda: len(ran) >= 3)

        assert worker.wait(PATIENCE_SECONDS)
    assert set(ran) == {1}


def test_closing_and_waiting_take_no_longer_than_they_are_given() -> None:
    """A job that does not end holds nobody up."""
    begun, may_end = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        may_end.wait(PATIENCE_SECONDS)

    with working() as worker:
        worker.submit("hang", hang)
        worker.submit("next", lambda: None)
        assert begun.wait(PATIENCE_SECONDS)

        started = time.monotonic()
        is_done = worker.wait(0.05)
        worker.close(0.05)
        spent = time.monotonic() - started
        may_end.set()

    assert not is_done
    assert spent < PATIENCE_SECONDS / 2
    assert worker.state().waiting == 0


def test_nothing_is_taken_on_after_the_end() -> None:
    """A late request is dropped, and waiting for it returns."""
    ran: list[int] = []
    with working() as worker:
        worker.close()
        worker.submit("late", lambda: ran.append(1))

        assert worker.wait(0)
    assert ran == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_waits_for_no_thread_of_its_parent() -> None:
    """The child has the object and not the thread: waiting and closing return at once."""
    may_end = threading.Event()
    with working() as worker:
        worker.submit("hold", lambda: may_end.wait(PATIENCE_SECONDS))
        child = os.fork()
        if child == 0:
            worker.submit("never", lambda: None)
            worker.wait()
            worker.close()
            os._exit(7)
        _, status = os.waitpid(child, 0)
        may_end.set()

    assert os.waitstatus_to_exitcode(status) == 7


@pytest.mark.parametrize(
    "raised", [SystemExit, KeyboardInterrupt, MemoryError, RecursionError, GeneratorExit]
)
def test_nothing_that_a_job_raises_ends_the_thread(raised: type[BaseException]) -> None:
    """The job counts as crashed, and the next one runs on the same thread."""
    ran: list[str] = []

    def crash() -> None:
        raise raised

    with working() as worker:
        worker.submit("bad", crash, retry=False)
        worker.submit("good", lambda: ran.append("good"))
        assert worker.wait(PATIENCE_SECONDS)

        state = worker.state()
    assert ran == ["good"]
    assert (state.restarts, {job.name: job.crashes for job in state.jobs}) == (0, {"bad": 1, "good": 0})


def test_a_thread_that_died_is_noticed_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where even the work on the work fails, what waits is still done, and status counts it."""
    ran: list[str] = []
    with working() as worker:
        note, left = worker._note, [MemoryError()]

        def note_badly(*arguments: object) -> None:
            if left:
                raise left.pop()
            note(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(worker, "_note", note_badly)
        worker.submit("first", lambda: ran.append("first"))
        worker.submit("second", lambda: ran.append("second"))
        assert worker.wait(PATIENCE_SECONDS)

        assert (ran, worker.state().restarts, worker.state().is_alive) == (["first", "second"], 1, True)


def test_a_thread_that_keeps_dying_is_left_dead_and_nobody_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is a limit, after which waiting says at once that the work is not done."""
    with working() as worker:

        def die(*_: object) -> None:
            raise MemoryError

        monkeypatch.setattr(worker, "_note", die)
        for number in range(MAX_RESTARTS + 2):
            worker.submit("doomed", lambda: None, key=number)
        wait_until(lambda: not worker.state().is_alive)
        begun = time.monotonic()

        assert not worker.wait(PATIENCE_SECONDS)
        assert time.monotonic() - begun < PATIENCE_SECONDS / 2
        assert worker.state().restarts == MAX_RESTARTS


def test_a_job_that_was_given_up_can_be_restarted() -> None:
    """Once what made it crash is mended, it goes on where it was."""
    is_mended = threading.Event()
    ran: list[str] = []

    def run() -> None:
        if not is_mended.is_set():
            raise ValueError
        ran.append("done")

    with working() as worker:
        worker.submit("broken", run)
        wait_until(lambda: any(job.is_given_up for job in worker.state().jobs))
        is_mended.set()

        assert worker.restart() == ("broken",)
        assert worker.wait(PATIENCE_SECONDS)
    assert ran == ["done"]


def test_closing_names_the_job_that_did_not_end() -> None:
    """It waits as long as it is told, and says what was not finished."""
    may_end, begun = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        may_end.wait(PATIENCE_SECONDS)

    worker = Worker("test", health=Health(SystemClock()))
    worker.submit("endless", hang)
    begun.wait(PATIENCE_SECONDS)

    assert worker.close(0.05) == "endless"
    may_end.set()
    assert worker.close(PATIENCE_SECONDS) is None
