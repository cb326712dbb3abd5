"""Recalls are counted: none is lost, whoever counts at once, and nobody waits for the counting."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings, Status
from engramdb.policy import PRESETS
from engramdb.testing import ManualClock, TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import RunChild

    from engramdb import Memory

THREADS, TIMES = 8, 40
PATIENCE_SECONDS = 60
IN_A_PROCESS = """
    import sys
    from engramdb import Engram, Settings
    from engramdb.testing import TinyEmbedder

    path, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with Engram.open(path, settings=Settings(), embedder=TinyEmbedder()) as engram:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(times):
            engram.recall("tea", session=name if number % 2 else "shared")
            if number % 10 == 0:
                engram.get(engram.list()[0].id)  # which writes what was noted so far
"""


def opened(
    path: Path, *, background: bool = False, clock: ManualClock | None = None, policy: str = "balanced"
) -> Engram:
    """A memory with a small embedder."""
    settings = Settings(policy=policy)
    return Engram.open(path, settings=settings, clock=clock, embedder=TinyEmbedder(), background=background)


def in_threads(action: Callable[[int], None], number: int = THREADS) -> None:
    """Do something in several threads at once, and wait for all of them."""
    threads = [threading.Thread(target=action, args=(one,)) for one in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# --- none is lost -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("background", [False, True])
def test_threads_that_recall_at_once_lose_no_count(store_path: Path, background: bool) -> None:
    """Eight threads, forty recalls each: three hundred and twenty, in eight sessions."""
    with opened(store_path, background=background) as engram:
        memory = engram.remember("I like tea")

        def ask(number: int) -> None:
            for _ in range(TIMES):
                engram.recall("tea", session=f"s{number}")

        in_threads(ask)

    log = stored(store_path, memory.id).access
    assert (log.count, log.sessions, len(log.recent)) == (THREADS * TIMES, THREADS, 20)


def test_processes_that_recall_at_once_lose_no_count(store_path: Path, child: RunChild) -> None:
    """Two processes, one session of each and one that both share."""
    with opened(store_path) as engram:
        memory = engram.remember("I like tea")

    both = [child.start(IN_A_PROCESS, store_path, name, 60) for name in ("one", "other")]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.communicate("go\n", timeout=120)

    log = stored(store_path, memory.id).access
    assert [process.returncode for process in both] == [0, 0]
    assert (log.count, log.sessions) == (120, 3)


def test_changing_a_memory_does_not_undo_its_counts(store_path: Path) -> None:
    """Pinning and stating again write the whole row while others recall it, and take no recall away."""
    with opened(store_path) as engram:
        memory = engram.remember("I like tea")

        def work(number: int) -> None:
            for _ in range(TIMES):
                if number == 0:
                    engram.pin(memory.id)
                    engram.unpin(memory.id)
                elif number == 1:
                    engram.remember("I like tea")
                else:
                    engram.recall("tea")

        in_threads(work, 4)

    assert stored(store_path, memory.id).access.count == 2 * TIMES


def test_what_is_being_written_when_the_engine_closes_is_written(store_path: Path) -> None:
    """Closing waits for a note that stands in line behind another writer."""
    is_held, may_end = threading.Event(), threading.Event()
    engram = opened(store_path, background=True)
    memory = engram.remember("I like tea")

    def hold() -> None:
        with engram._parts.store.atomic():
            is_held.set()
            may_end.wait(PATIENCE_SECONDS)

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait(PATIENCE_SECONDS)
    engram.recall("tea")
    wait_for(lambda: engram._parts.store._line.waiting == 1)  # type: ignore[attr-defined]
    closer = threading.Thread(target=engram.close)
    closer.start()
    closer.join(0.5)
    may_end.set()
    closer.join()
    holder.join()

    assert stored(store_path, memory.id).access.count == 1


# --- what is counted ----------------------------------------------------------------------------------------


def test_the_last_twenty_moments_are_kept(store_path: Path, clock: ManualClock) -> None:
    """Oldest first; the total goes on."""
    with opened(store_path, clock=clock) as engram:
        memory, moments = engram.remember("I like tea"), []
        for _ in range(25):
            clock.advance(hours=1)
            moments.append(clock.now())
            engram.recall("tea")

        log = engram.get(memory.id).access

    assert log.count == 25
    assert log.recent == tuple(moments[-20:])
    assert log.last_at == moments[-1]


def test_a_session_counts_once(store_path: Path, clock: ManualClock) -> None:
    """However often it asks, today and later; recalls without a session add none."""
    with opened(store_path, clock=clock) as engram:
        memory = engram.remember("I like tea")
        for session in ("a", "b", "a", None, None, "b"):
            engram.recall("tea", session=session)
        first = engram.get(memory.id).access
        clock.advance(days=3)
        for session in ("a", "c"):
            engram.recall("tea", session=session)
        second = engram.get(memory.id).access

    assert (first.count, first.sessions) == (6, 2)
    assert (second.count, second.sessions) == (8, 3)


WEEKLY_GAIN = {name: 0.1 if name == "beliefs" else 0.175 for name in PRESETS}
"""What a recall a week after the one before adds: 0.1 · (1 + 0.25 · log2(1 + 7)), and its source's 0.1."""


@pytest.mark.parametrize(("preset", "gain"), WEEKLY_GAIN.items())
def test_weekly_recalls_raise_stability_from_one_to_five(
    store_path: Path, clock: ManualClock, preset: str, gain: float
) -> None:
    """Each by the same, up to five and no further; in `beliefs` forty recalls lead there."""
    with opened(store_path, clock=clock, policy=preset) as engram:
        memory, grown = engram.remember("I like tea"), []
        for _ in range(45):
            clock.advance(days=7)
            engram.recall("tea")
            grown.append(engram.get(memory.id).stability)

    assert grown == pytest.approx([min(5, 1 + gain * number) for number in range(1, 46)])


@pytest.mark.parametrize("is_one_batch", [True, False])
@pytest.mark.parametrize("preset", PRESETS)
def test_a_burst_of_recalls_counts_as_one(
    store_path: Path, clock: ManualClock, preset: str, is_one_batch: bool
) -> None:
    """Ten questions within the hour are one reason to hold it longer, written together or one by one."""
    with opened(store_path, clock=clock, policy=preset) as engram:
        memory = engram.remember("I like tea")
        clock.advance(days=7)
        for _ in range(10):
            clock.advance(minutes=5)
            engram.recall("tea")
            if not is_one_batch:
                engram.get(memory.id)  # which writes what was noted so far
        found = engram.get(memory.id)

    assert found.access.count == 10
    assert found.stability == pytest.approx(1 + WEEKLY_GAIN[preset], abs=0.001)


def test_only_what_was_given_is_counted(store_path: Path) -> None:
    """Neither `get` nor `list` is a recall, nor is being looked at and left out."""
    with opened(store_path) as engram:
        tea, sky = engram.remember("I like tea"), engram.remember("the sky is blue")

        engram.recall("tea", limit=1)
        engram.list()

        assert engram.get(tea.id).access.count == 1
        assert engram.get(sky.id).access.count == 0


def test_being_recalled_is_no_evidence(store_path: Path, clock: ManualClock) -> None:
    """Neither confidence, nor confirmation, nor the moment of the last change moves."""
    with opened(store_path, clock=clock) as engram:
        before = engram.remember("I like tea", confidence=0.5)
        clock.advance(days=1)
        engram.recall("tea")

        after = engram.get(before.id)

    assert after.access.count == 1
    assert (after.confidence, after.confirmed_at, after.updated_at) == (0.5, None, before.updated_at)
    assert after.reinforcements == 0


# --- and nobody waits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("background", [False, True])
def test_a_question_does_not_wait_for_a_writer(store_path: Path, background: bool) -> None:
    """While somebody else holds the store for writing, recall answers; the note is written later."""
    answers: list[int] = []
    with opened(store_path, background=background) as engram:
        memory = engram.remember("I like tea")
        with engram._parts.store.atomic():
            asker = threading.Thread(target=lambda: answers.append(len(engram.recall("tea").hits)))
            asker.start()
            asker.join(PATIENCE_SECONDS)
            answered_meanwhile = list(answers)

        assert answered_meanwhile == [1]
    assert stored(store_path, memory.id).access.count == 1


def test_a_store_that_cannot_be_written_still_answers(store_path: Path) -> None:
    """The count is let go, and `status` says which part fails and why."""
    with opened(store_path) as engram:
        memory = engram.remember("I like tea")
        engram._parts.store._writer.pragma("query_only", True)  # type: ignore[attr-defined]

        answer = engram.recall("tea")
        again = engram.get(memory.id)
        (part,) = [part for part in engram.status().parts if part.name == "read notes"]

        assert [hit.memory.id for hit in answer.hits] == [memory.id]
        assert again.access.count == 0
        assert part.is_failing


def test_counting_is_no_change(store_path: Path) -> None:
    """The counter that indexes follow, in this process and in others, stands still."""
    with opened(store_path) as engram:
        memory = engram.remember("I like tea")
        before = latest_change(engram)

        for _ in range(5):
            engram.recall("tea", session="s")
        counted = engram.get(memory.id).access.count

        assert counted == 5
        assert latest_change(engram) == before


def test_a_forgotten_memory_keeps_what_was_counted(store_path: Path) -> None:
    """A recall that was noted just before it was forgotten is still written."""
    with opened(store_path) as engram:
        memory = engram.remember("I like tea")
        engram.recall("tea")
        engram.forget(memory.id)

        gone = engram.get(memory.id)
        assert (gone.status, gone.access.count) == (Status.FORGOTTEN, 1)


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


def latest_change(engram: Engram) -> int:
    """The number of the newest change."""
    with engram._parts.store.read() as tx:
        return tx.vectors.latest_change()


def stored(path: Path, memory_id: str) -> Memory:
    """A memory as the file has it once everybody has closed."""
    with opened(path) as engram:
        return engram.get(memory_id)
