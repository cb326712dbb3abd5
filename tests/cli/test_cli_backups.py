"""Commands that write leave a daily backup behind, after their answer; commands that read leave none."""

from __future__ import annotations

import errno
import json
import os
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


def test_commands_that_are_no_verbs_back_up_too(engram_command: Command, aged: Path, tmp_path: Path) -> None:
    """An import writes, and a sync of notes; a rehearsal of either does not."""
    source, notes = tmp_path / "facts.txt", tmp_path / "notes"
    source.write_text("Ada likes tea.\n")
    store = ("--store", str(aged))
    for words in (["import", str(source), "--dry-run"], ["notebook", "sync", str(notes), "--dry-run"]):
        assert engram_command(*words, *store).exit_code == 0
    after_rehearsals = len(list_backups(aged))

    imported = engram_command("import", str(source), *store)
    after_import = len(list_backups(aged))
    for one in list_backups(aged)[:1]:
        Path(one.path).unlink()
    synced = engram_command("notebook", "sync", str(notes), *store)

    assert (imported.exit_code, synced.exit_code) == (0, 0)
    assert (after_rehearsals, after_import, len(list_backups(aged))) == (1, 2, 2)


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


def test_a_failing_disk_costs_no_answer(
    engram_command: Command, aged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the system says of the copy is told in a line, and the write counts."""

    def fail(_handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)

    told = engram_command("remember", "coffee is at five", "--store", str(aged), "--json")

    assert told.exit_code == 0
    assert json.loads(told.stdout)["content"] == "coffee is at five"
    assert told.stderr.startswith("engram: the daily backup failed: E1")
    assert "Input/output error" in told.stderr
    assert len(list_backups(aged)) == 1
