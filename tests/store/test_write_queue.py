"""Writers take turns in the order they came; too many, or too long a wait, is refused."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from engramdb.errors import StoreBusy
from engramdb.store.sqlite import connection
from engramdb.store.sqlite.connection import WriteQueue

if TYPE_CHECKING:
    from conftest import RunChild

# The interrupt goes to the main thread of a process of its own, as Ctrl-C does.
INTERRUPT_A_WAITING_WRITER = """
    import os, signal, threading, time
    from engramdb.store.sqlite.connection import WriteQueue

    line = WriteQueue(max_waiting=8, timeout_seconds=30)
    holding, let_go = threading.Event(), threading.Event()

    def hold():
        with line.turn():
            holding.set()
            let_go.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    holding.wait()
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        with line.turn():
            print("not interrupted")
    except KeyboardInterrupt:
        print("interrupted", line.waiting)
    let_go.set()
    holder.join()
    started = time.monotonic()
    with line.turn():
        print("the next writer had its turn", time.monotonic() - started < 5)
"""


def wait_for(line: WriteQueue, waiting: int) -> None:
    """Return when so many threads stand in line."""
    deadline = time.monotonic() + 30
    while line.waiting != waiting:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_writers_take_turns_in_the_order_they_came() -> None:
    """First come, first served, whatever the operating system would prefer."""
    line = WriteQueue(max_waiting=50, timeout_seconds=30)
    served: list[int] = []

    def write(number: int) -> None:
        with line.turn():
            served.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    with line.turn():
        for number, thread in enumerate(threads, start=1):
            thread.start()
            wait_for(line, number)
    for thread in threads:
        thread.join()

    assert served == list(range(20))


def serve(line: WriteQueue, *, background: int, foreground: int) -> list[str]:
    """Let first the background and then others stand in line, and return in which order they were served."""
    served: list[str] = []

    def write(name: str) -> None:
        with line.turn(is_background=name == "background"):
            served.append(name)

    names = ["background"] * background + ["other"] * foreground
    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    with line.turn():
        for number, thread in enumerate(threads, start=1):
            thread.start()
            wait_for(line, number)
    for thread in threads:
        thread.join()
    return served


def test_work_in_the_background_lets_others_go_first() -> None:
    """A dream that waits already stands behind everybody who comes while it waits."""
    line = WriteQueue(max_waiting=50, timeout_seconds=30)

    assert serve(line, background=2, foreground=3) == ["other"] * 3 + ["background"] * 2


def test_work_in_the_background_comes_to_an_end_though_others_never_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a while it has given way for long enough."""
    monkeypatch.setattr(connection, "MAX_GIVING_WAY_SECONDS", 0.0)
    line = WriteQueue(max_waiting=50, timeout_seconds=30)

    assert serve(line, background=1, foreground=3) == ["background", "other", "other", "other"]


def test_only_one_writes_at_a_time() -> None:
    """However many threads push, never are two inside."""
    line = WriteQueue(max_waiting=50, timeout_seconds=30)
    inside, most = 0, 0

    def write() -> None:
        nonlocal inside, most
        for _ in range(50):
            with line.turn():
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == 1
    assert line.waiting == 0


def test_a_full_line_refuses_the_next() -> None:
    """The one who would stand behind the last place is told at once."""
    line = WriteQueue(max_waiting=1, timeout_seconds=30)
    waiter = threading.Thread(target=lambda: line.turn().__enter__())

    with line.turn():
        waiter.start()
        wait_for(line, 1)
        with pytest.raises(StoreBusy, match="1 writers are waiting"), line.turn():
            pass
    waiter.join()


def test_a_wait_that_is_too_long_is_refused_and_leaves_the_line() -> None:
    """The one who gave up is not called later, and those behind move up."""
    line = WriteQueue(max_waiting=5, timeout_seconds=0.05)

    with line.turn(), pytest.raises(StoreBusy, match=r"0\.05"):
        line.turn().__enter__()

    assert line.waiting == 0
    with line.turn():
        assert True


def test_an_error_inside_a_turn_hands_it_on() -> None:
    """A write that fails does not keep the line standing."""
    line = WriteQueue(max_waiting=5, timeout_seconds=1)

    with pytest.raises(ZeroDivisionError), line.turn():
        raise ZeroDivisionError

    with line.turn():
        assert line.waiting == 0


def test_an_interrupted_writer_leaves_the_line(child: RunChild) -> None:
    """Ctrl-C while waiting does not leave a ghost in line to whom the turn would be handed for ever."""
    said = child(INTERRUPT_A_WAITING_WRITER, timeout_seconds=60)

    assert said.splitlines() == ["interrupted 0", "the next writer had its turn True"]
