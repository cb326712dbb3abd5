"""A process that is killed while it reads turns loses none of them, and none is read twice."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Filters, Settings, Status
from engramdb.testing import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 6
CHILD = """
import sys
from engramdb import Engram, Settings
path, start = sys.argv[1], int(sys.argv[2])
with Engram.open(path, settings=Settings(embedder="static", policy="notebook")) as engram:
    for number in range(start, start + 400):
        engram.observe(f"I use widget{number} for everything.", speaker="Ann", session=f"s{number % 5}")
        print(number, flush=True)
"""


def observe_until_killed(path: Path, start: int, turns: int) -> list[int]:
    """Let a process observe turns, kill it without warning after some, and return those it acknowledged."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), str(start)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    seen = [int(child.stdout.readline()) for _ in range(turns)]
    child.kill()
    rest = [int(line) for line in child.stdout.read().splitlines() if line.strip().isdigit()]
    child.stdout.close()
    child.wait()
    return seen + rest


@pytest.mark.slow
def test_a_killed_reader_loses_no_turn_and_reads_none_twice(tmp_path: Path) -> None:
    """Whatever moment it dies at, every acknowledged turn is there and becomes exactly one memory."""
    path, chance = tmp_path / "memory.db", random.Random(7)  # noqa: S311 - moments, not secrets
    acknowledged: list[int] = []
    for round_ in range(ROUNDS):
        acknowledged += observe_until_killed(path, 1000 * (round_ + 1), chance.randint(5, 60))

    later = ManualClock(datetime.now(UTC) + timedelta(minutes=10))  # what the dead had claimed is free again
    settings = Settings(embedder="static", policy="notebook")
    with Engram.open(path, settings=settings, clock=later, background=False) as engram:
        engram.flush()
        turns = engram.turns(limit=1000)
        memories = engram.list(filters=Filters(statuses=frozenset(Status)), limit=1000)
        is_sound = engram.doctor().ok

    said = {turn.content for turn in turns}
    assert {f"I use widget{number} for everything." for number in acknowledged} <= said
    evidence = Counter(turn for memory in memories for turn in memory.provenance.turns)
    assert evidence == Counter(turn.id for turn in turns)
    assert len(memories) == len(turns) < 1000
    assert is_sound
