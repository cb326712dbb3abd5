"""Many writers at once, in one process and in several: every write is stored, and found by all."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Filters, Settings
from engramdb.errors import StoreBusy
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunChild

MAX_WAIT_SECONDS = 5.0
"""On a machine that does much else; 0.3 s were measured (docs/lab/0061-load-and-linear-time.md)."""

# Writes 500 memories, then waits for a line with the number of processes, and looks for a memory of each.
WRITE_AND_FIND = """
    import sys
    from engramdb import Engram, Settings
    from engramdb.testing import TinyEmbedder

    path, name = sys.argv[1], int(sys.argv[2])
    settings = Settings(durability="relaxed", policy="notebook")
    with Engram.open(path, settings=settings, embedder=TinyEmbedder(), background=False) as engram:
        engram.recall("is anybody there?")
        for number in range(500):
            engram.remember(f"note {number} of process{name} codeword p{name}n{number}")
        print("written", flush=True)
        processes = int(sys.stdin.readline())
        found = 0
        for other in range(processes):
            theirs = f"note {name} of process{other} codeword p{other}n{name}"
            answer = engram.recall(theirs, limit=1)
            found += [hit.memory.content for hit in answer.hits] == [theirs]
        print(found, engram.status().memories, flush=True)
"""

# Writes, with a pause or without, until told to stop; says how often, and how long it waited at most.
WRITE_AND_WAIT = """
    import select, sys, time
    from engramdb import Engram, Settings
    from engramdb.testing import TinyEmbedder

    path, name, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember(f"{name} begins")
        print("ready", flush=True)
        sys.stdin.readline()
        waits = []
        while not select.select([sys.stdin], [], [], pause)[0]:
            start = time.monotonic()
            engram.remember(f"statement {len(waits)} of {name}")
            waits.append(time.monotonic() - start)
        print(len(waits), max(waits), flush=True)
"""

OPEN_AT_ONCE = """
    import sys
    from engramdb import Engram
    from engramdb.testing import TinyEmbedder

    print("ready", flush=True)
    for path in sys.stdin:
        with Engram.open(path.strip(), embedder=TinyEmbedder(), background=False) as engram:
            engram.remember(f"process {sys.argv[1]} was here")
        print("done", flush=True)
"""


@pytest.mark.slow
def test_eight_processes_write_one_file(store_path: Path, child: RunChild) -> None:
    """Eight times five hundred writes give four thousand memories, and each process finds all others'."""
    processes = [child.start(WRITE_AND_FIND, store_path, name) for name in range(8)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"

    said = [process.communicate("8\n")[0].split() for process in processes]

    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        assert said == [["8", "4000"]] * 8
        assert engram.status().by_status == {"active": 4000}
        assert engram.doctor().ok


@pytest.mark.slow
def test_processes_take_turns_at_writing(store_path: Path, child: RunChild) -> None:
    """Two that write now and then are not kept waiting by a third that writes without a pause."""
    names = {"bulk": 0.0, "first": 0.02, "second": 0.02}
    processes = [child.start(WRITE_AND_WAIT, store_path, name, pause) for name, pause in names.items()]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    time.sleep(5)
    said = [process.communicate("stop\n")[0].split() for process in processes]

    assert all(int(count) > 10 for count, _ in said)
    assert max(float(wait) for _, wait in said) < MAX_WAIT_SECONDS


@pytest.mark.slow
def test_processes_that_make_the_same_file_at_once_agree(tmp_path: Path, child: RunChild) -> None:
    """Four processes open a file that none of them finds: one lays it out, all of them write."""
    processes = [child.start(OPEN_AT_ONCE, name) for name in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    stores = [tmp_path / f"{number}.db" for number in range(15)]

    for store in stores:
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(f"{store}\n")
            process.stdin.flush()
        answers = [process.stdout.readline() for process in processes if process.stdout is not None]
        assert answers == ["done\n"] * 4
    for process in processes:
        process.communicate()

    for store in stores:
        with Engram.open(store, embedder=TinyEmbedder(), background=False, must_exist=True) as engram:
            assert engram.status().memories == 4


def test_sixteen_threads_share_one_engram(store_path: Path) -> None:
    """Threads need no lock of their own: all writes are stored, once each, in every index."""
    settings = Settings(durability="relaxed", policy="notebook")
    with (
        Engram.open(store_path, settings=settings, embedder=TinyEmbedder(), background=False) as engram,
        ThreadPoolExecutor(16) as pool,
    ):

        def write(name: int) -> list[str]:
            return [engram.remember(f"note {number} of thread {name}").id for number in range(50)]

        ids = [memory_id for written in pool.map(write, range(16)) for memory_id in written]

        assert len(set(ids)) == 800
        assert engram.status().by_status == {"active": 800}
        assert engram.doctor().ok


def test_threads_that_say_the_same_reinforce_one_memory(engram: Engram) -> None:
    """Eight threads that remember one statement at once make one memory with seven reinforcements."""
    with ThreadPoolExecutor(8) as pool:
        stored = list(pool.map(lambda _: engram.remember("The sky is blue"), range(8)))

    (memory,) = engram.list()
    assert {one.id for one in stored} == {memory.id}
    assert memory.reinforcements == 7
    assert len(engram.history(memory.id)) == 8


def test_too_many_waiting_writers_are_refused_and_nothing_is_lost(store_path: Path) -> None:
    """Back-pressure is an error that the caller sees: what was not refused is stored."""
    settings = Settings(max_waiting_writers=2, durability="relaxed", policy="notebook")
    refused = threading.Semaphore(0)
    stored: list[str] = []
    with Engram.open(store_path, settings=settings, embedder=TinyEmbedder(), background=False) as engram:

        def write(number: int) -> None:
            try:
                stored.append(engram.remember(f"note {number}").id)
            except StoreBusy:
                refused.release()

        threads = [threading.Thread(target=write, args=(number,)) for number in range(10)]
        with engram._parts.store.atomic():
            for thread in threads:
                thread.start()
            for _ in range(8):
                assert refused.acquire(timeout=30)
        for thread in threads:
            thread.join()

        assert len(stored) == 2
        assert {memory.id for memory in engram.list()} == set(stored)


def test_readers_do_not_wait_for_a_writer(engram: Engram) -> None:
    """A question asked in the middle of another thread's write is answered from before that write."""
    engram.remember("I like tea")
    inside, go_on = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with contextlib.suppress(ZeroDivisionError), engram._parts.store.atomic() as tx:
            (memory,) = tx.memories.list(scope=engram._scope, filters=Filters(), limit=1, before=None)
            tx.memories.replace(memory.evolve(pinned=True))
            inside.set()
            go_on.wait(30)
            raise ZeroDivisionError

    writer = threading.Thread(target=write_slowly)
    writer.start()
    inside.wait(30)
    during = engram.recall("tea").hits[0].memory
    go_on.set()
    writer.join()

    assert not during.pinned
    assert not engram.list()[0].pinned
