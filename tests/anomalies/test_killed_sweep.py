"""A sweep that is killed goes on where it was, and whoever writes meanwhile hardly notices it."""

from __future__ import annotations

import contextlib
import json
import shutil
import statistics
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from engramdb import Engram, Settings
from engramdb.errors import StoreClosed
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Kind, Layer, Memory, Scope, Status, new_id

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunChild

    from engramdb.values import AgeReport

BORN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = BORN + timedelta(days=150)
MEMORIES = 2_000
PATIENCE_SECONDS = 60
LIMITS = {"aging": {"evict_most": 300, "project_most": 350}}
SWEEP = """
    import json, sys
    from datetime import datetime
    from engramdb import Engram, Settings
    from engramdb.lifecycle import sweep as age
    from engramdb.testing import ManualClock, TinyEmbedder

    path, preset, now, limits = sys.argv[1:]
    age.MOST_WRITE_ROWS, age.PAUSE_SECONDS = 16, 0.02  # many places to be killed at
    settings = Settings(policy=preset, overrides=json.loads(limits))
    clock, embedder = ManualClock(datetime.fromisoformat(now)), TinyEmbedder()
    with Engram.open(path, settings=settings, clock=clock, embedder=embedder, background=False) as engram:
        print("ready", flush=True)
        engram.age()
    print("done", flush=True)
"""
SHARES = (0.05, 0.3, 0.6, 0.9)
"""Of all that a sweep does, what is done when it is killed; at the last, rules choose among those due."""


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["notebook", "tiered"])
def test_a_killed_sweep_ends_as_if_nothing_had_happened(
    store_path: Path, child: RunChild, preset: str
) -> None:
    """Killed at several places and then left to finish, it does what an uninterrupted one does to a copy."""
    fill(store_path, preset)
    whole = store_path.with_name("whole.db")
    shutil.copy(store_path, whole)
    expected = age(whole, preset)

    killed = [
        kill_a_sweep(store_path, child, preset, after=int(share * expected.changed)) for share in SHARES
    ]
    last = age(store_path, preset)

    assert 0 < killed[0] < killed[1] < killed[2] < killed[3] < expected.changed
    assert last.resumed
    assert not expected.resumed
    assert last.by_rule == expected.by_rule
    assert last.looked_at == expected.looked_at
    assert everything(store_path) == everything(whole)


@pytest.mark.slow
def test_closing_during_a_sweep_loses_nothing(store_path: Path) -> None:
    """The sweep ends early, and the next one goes on."""
    fill(store_path, "notebook")
    whole = store_path.with_name("whole.db")
    shutil.copy(store_path, whole)
    expected = age(whole, "notebook")
    engram = opened(store_path, "notebook")

    def sweep() -> None:
        with contextlib.suppress(StoreClosed):  # where it was about to write
            engram.age()

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    wait_until_moved(store_path, 50)
    engram.close()
    sweeper.join()
    last = age(store_path, "notebook")

    assert last.resumed
    assert last.by_rule == expected.by_rule
    assert everything(store_path) == everything(whole)


@pytest.mark.slow
def test_writing_goes_on_during_a_sweep(store_path: Path) -> None:
    """
    Statements come in while some thousand memories leave, and do not wait for the sweep to end.

    The typical wait is judged, and not the longest: one stalled disk write would be taken for a lock.
    """
    fill(store_path, "notebook")
    reports: list[AgeReport] = []
    with opened(store_path, "notebook") as engram:
        sweeper = threading.Thread(target=lambda: reports.append(engram.age()))
        started = time.perf_counter()
        sweeper.start()
        waits: list[float] = []
        while sweeper.is_alive():
            before = time.perf_counter()
            engram.remember(f"note {len(waits)} of today")
            waits.append(time.perf_counter() - before)
        swept = time.perf_counter() - started
        sweeper.join()

    assert reports[0].changed > MEMORIES / 2
    assert len(waits) > 10
    assert statistics.median(waits) < swept / 10


def fill(path: Path, preset: str) -> None:
    """Store memories of all kinds, most of which some rule is due for, past the write pipeline."""
    with opened(path, preset) as engram, engram._parts.store.atomic() as tx:
        for number in range(MEMORIES):
            made = BORN - timedelta(minutes=number)
            one = Memory(
                id=new_id(made),
                content=f"statement {number}",
                created_at=made,
                updated_at=made,
                scope=Scope(project=f"p{number % 2}"),
                layer=list(Layer)[number % 4],
                kind=list(Kind)[number % 2],
                importance=(number % 12) / 40,
                confidence=1.0 if number % 3 else 0.3,
                pinned=number % 50 == 0,
            )
            key = tx.memories.add(one, fingerprint=one.id.encode())
            tx.terms.put(key, ["statement", str(number)])
            tx.memories.mark_enriched(key)


def opened(path: Path, preset: str) -> Engram:
    """The store as it is opened when the memories have become old."""
    settings = Settings(policy=preset, overrides=LIMITS)
    clock = ManualClock(LATER)
    return Engram.open(path, settings=settings, clock=clock, embedder=TinyEmbedder(), background=False)


def age(path: Path, preset: str) -> AgeReport:
    """Sweep once, to the end."""
    with opened(path, preset) as engram:
        return engram.age()


def kill_a_sweep(path: Path, child: RunChild, preset: str, *, after: int) -> int:
    """Let a process sweep, kill it without warning after so many moves, and return how many there were."""
    sweeper = child.start(SWEEP, path, preset, LATER.isoformat(), json.dumps(LIMITS))
    assert sweeper.stdout is not None
    assert sweeper.stdout.readline() == "ready\n"
    wait_until_moved(path, after)
    sweeper.kill()
    rest = sweeper.communicate()[0]
    assert "done" not in rest
    return moved(path)


def wait_until_moved(path: Path, number: int) -> None:
    """Wait until a sweep has made so many moves."""
    until = time.monotonic() + PATIENCE_SECONDS
    while moved(path) < number:
        assert time.monotonic() < until
        time.sleep(0.005)


def moved(path: Path) -> int:
    """How many moves of sweeps the histories hold."""
    return int(rows(path, "SELECT count(*) FROM history WHERE actor = 'aging'")[0][0])


def everything(path: Path) -> tuple[list[Any], list[Any]]:
    """Where every memory stands, and what happened to it."""
    memories = "SELECT content, status, layer, updated_at, pinned FROM memories ORDER BY key"
    happened = (
        "SELECT m.content, h.action, h.old_status, h.new_status, h.reason, h.changes, h.at FROM history h "
        "JOIN memories m ON m.id = h.memory_id ORDER BY m.key, h.key"
    )
    assert {status for _, status, *_ in rows(path, memories)} <= set(Status)
    return rows(path, memories), rows(path, happened)


def rows(path: Path, sql: str) -> list[Any]:
    """What a question to the file itself gives."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()
