"""A process that is killed while it reads turns loses none of them, and none is read twice."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from speaking import say

from engramdb import Engram, Filters, Settings, Status
from engramdb.capture import pipeline
from engramdb.capture.pipeline import CLAIM_SECONDS
from engramdb.testing import ManualClock, TinyEmbedder

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


CLAIM_AND_DIE = """
import os, signal, sys
from datetime import timedelta
from engramdb import Engram
from engramdb.capture.pipeline import CLAIM_SECONDS
from engramdb.testing import ManualClock, TinyEmbedder
engram = Engram.open(sys.argv[1], clock=ManualClock(), embedder=TinyEmbedder(), background=False)
now = engram._parts.clock.now()
with engram._parts.store.atomic() as tx:
    tx.turns.claim(now=now, until=now + timedelta(seconds=CLAIM_SECONDS), limit=9)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_reader_had_claimed_is_read_by_another_after_a_minute(store_path: Path) -> None:
    """Nobody waits five minutes for a process that is gone."""
    with Engram.open(store_path, clock=ManualClock(), embedder=TinyEmbedder(), background=False) as engram:
        say(engram, "I like the tea from Porto.", session="s")
    died = subprocess.run([sys.executable, "-c", CLAIM_AND_DIE, str(store_path)], check=False).returncode
    clock = ManualClock()
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        at_once = engram.flush()
        clock.advance(seconds=CLAIM_SECONDS + 1)

        assert (died, at_once, engram.flush()) == (-9, 0, 1)
        assert engram.recall("tea from Porto").hits


def test_a_reader_that_lives_keeps_its_claim_however_long_it_reads(
    engram: Engram, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chat model may take minutes; nobody else begins the same turns meanwhile."""
    monkeypatch.setattr(pipeline, "RENEW_SECONDS", 0.02)
    monkeypatch.setattr(pipeline, "CLAIM_SECONDS", 0.2)
    turn = say(engram, "I like the tea from Porto.", session="s")
    store = engram._parts.store
    with store.atomic() as tx:
        assert tx.turns.claim(now=clock.now(), until=clock.now() + timedelta(seconds=0.2), limit=9)

    with pipeline._renewed(store, [turn.id], now=clock.now()):
        time.sleep(0.5)
        clock.advance(seconds=0.45)
        assert engram.flush() == 0
    clock.advance(seconds=1)
    assert engram.flush() == 1
