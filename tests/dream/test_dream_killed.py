"""A process that is killed while it dreams: another one goes on with its work and comes to the same."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Any

import apsw

from .dreamt import NOW, every, keep, opened

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunChild

STEPS = ("merge", "patterns")
DREAM = """
    import sys
    from datetime import datetime
    from engramdb import Engram, Settings
    from engramdb.dream import run
    from engramdb.testing import ManualClock, TinyEmbedder

    run.PAUSE_SECONDS = 0.02  # many moments to be killed at
    clock, embedder = ManualClock(datetime.fromisoformat(sys.argv[2])), TinyEmbedder()
    with Engram.open(sys.argv[1], clock=clock, embedder=embedder, background=False) as engram:
        print("ready", flush=True)
        engram.dream(steps=("merge", "patterns"))
    print("done", flush=True)
"""
THINGS = 40


def test_a_killed_process_is_gone_on_for(store_path: Path, child: RunChild) -> None:
    """Its lease is taken over at once, since it is gone, and nothing of what it did is done twice."""
    with opened(store_path) as engram:
        for number in range(THINGS):
            keep(engram, f"I like brand{number} tea")
            keep(engram, f"I really like brand{number} tea")
    whole = store_path.with_name("whole.db")
    shutil.copy(store_path, whole)
    with opened(whole) as engram:
        engram.dream(steps=STEPS)
        expected = state(every(engram))

    merged = kill_a_dream(store_path, child, after=THINGS // 3)
    with opened(store_path) as engram:
        report = engram.dream(steps=STEPS)
        found = state(every(engram))

    assert 0 < merged < THINGS
    assert report.resumed
    assert report.changed == THINGS - merged
    assert found == expected


def kill_a_dream(path: Path, child: RunChild, *, after: int) -> int:
    """Let a process dream, kill it without warning after so many merges, and return how many there were."""
    dreamer = child.start(DREAM, path, NOW.isoformat())
    assert dreamer.stdout is not None
    assert dreamer.stdout.readline() == "ready\n"
    until = time.monotonic() + 60
    while merges(path) < after:
        assert time.monotonic() < until
        time.sleep(0.005)
    dreamer.kill()
    assert "done" not in dreamer.communicate()[0]
    return merges(path)


def merges(path: Path) -> int:
    """How many merges the file holds."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)
    try:
        rows: list[Any] = connection.execute("SELECT count(*) FROM merges").fetchall()
        return int(rows[0][0])
    finally:
        connection.close()


def state(memories: dict[str, Any]) -> list[Any]:
    """Where everything stands."""
    return sorted((one.content, one.status, one.reinforcements, one.layer) for one in memories.values())
