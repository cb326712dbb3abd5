"""Commands that write leave a daily backup behind, after their answer; commands that read leave none."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.engine.backups import MAX_COMMAND_BYTES, folder_of, list_backups
from engramdb.testing import ManualClock

if TYPE_CHECKING:
    from surfaces.fixtures import Command


@pytest.fixture
def aged(engram_command: Command, tmp_path: Path) -> Path:
    """A store whose only backup is two days old."""
    place = tmp_path / "memory.db"
    engram_command("remember", "tea is at four", "--store", str(place))
    engram_command("backup", "--store", str(place))
    (made,) = list_backups(place)
    stamp = (datetime.now(UTC) - timedelta(days=2)).strftime("%Y%m%dT%H%M%S.%fZ")
    Path(made.path).rename(folder_of(place) / f"memory-{stamp}.db")
    return place


def test_a_command_that_writes_makes_one_a_day(engram_command: Command, aged: Path) -> None:
    """The second command of the day finds a new copy and makes none."""
    first = engram_command("remember", "coffee is at five", "--store", str(aged))
    after_one = len(list_backups(aged))
    engram_command("remember", "cake is at six", "--store", str(aged))

    assert (first.exit_code, first.stderr) == (0, "")
    assert (after_one, len(list_backups(aged))) == (2, 2)


def test_a_command_that_reads_or_rehearses_makes_none(engram_command: Command, aged: Path) -> None:
    """Looking is not writing, nor is `--dry-run`."""
    for words in (["recall", "tea"], ["list"], ["status"], ["dream", "--dry-run"], ["age", "--dry-run"]):
        assert engram_command(*words, "--store", str(aged)).exit_code == 0

    assert len(list_backups(aged)) == 1


def test_a_young_store_and_a_large_one_have_none(engram_command: Command, aged: Path) -> None:
    """The first day needs no copy; what takes long to copy is left to processes that go on."""
    young = aged.with_name("young.db")
    engram_command("remember", "tea is at four", "--store", str(young))
    with aged.open("ab") as store:
        store.truncate(MAX_COMMAND_BYTES + 1)
    engram_command("remember", "coffee is at five", "--store", str(aged))

    assert not folder_of(young).exists()
    assert len(list_backups(aged)) == 1


def test_a_failed_backup_is_told_and_costs_no_answer(engram_command: Command, tmp_path: Path) -> None:
    """The write counts; that the copy failed, and why, stands on stderr."""
    place, clock = tmp_path / "memory.db", ManualClock(datetime.now(UTC) - timedelta(days=3))
    with Engram.open(place, clock=clock, background=False) as engram:
        engram.remember("tea is at four")
    folder_of(place).write_text("in the way")

    told = engram_command("remember", "coffee is at five", "--store", str(place), "--json")

    assert told.exit_code == 0
    assert json.loads(told.stdout)["content"] == "coffee is at five"
    assert told.stderr.startswith("engram: the daily backup failed: E1")
