"""A restore that fails or is killed at any step leaves the store, or the backup in its place, whole."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from engramdb import Engram, Settings
from engramdb.errors import StorageError
from engramdb.testing import ManualClock, TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY = "5c" * 32
BACKED_UP, SINCE = "I like tea", "I like coffee"
KILLED_AT = """
import os, sys
from engramdb import Engram, Settings
from engramdb.store.sqlite import backups
left = int(sys.argv[2])
def end_at_last(event, args):
    global left
    if event in ("os.link", "os.rename", "os.remove"):
        left -= 1
        if not left:
            os._exit(9)
begin = backups.put_back
def put_back(*paths):
    sys.addaudithook(end_at_last)
    begin(*paths)
backups.put_back = put_back
Engram.restore_backup(sys.argv[1], settings=Settings(key=sys.argv[3]))
"""


@pytest.fixture(params=["", KEY], ids=["plain", "encrypted"])
def key(request: pytest.FixtureRequest) -> str:
    """The key of the store, if it has one."""
    return str(request.param)


@pytest.fixture
def left_behind(tmp_path: Path, key: str) -> Path:
    """A store with a backup, and with a log that holds what came since, as a killed process leaves it."""
    made, left = tmp_path / "made", tmp_path / "left"
    made.mkdir()
    settings = Settings(key=key)
    with Engram.open(
        made / "memory.db", settings=settings, embedder=TinyEmbedder(), background=False
    ) as engram:
        engram.remember(BACKED_UP)
        engram.backup()
        engram.remember(SINCE)
        shutil.copytree(made, left)
    assert (left / "memory.db-wal").stat().st_size > 0
    return left / "memory.db"


def contents(store: Path, key: str) -> list[str]:
    """Return what a store holds."""
    with Engram.open(
        store, settings=Settings(key=key), embedder=TinyEmbedder(), background=False, must_exist=True
    ) as engram:
        return sorted(memory.content for memory in engram.list())


def names(folder: Path) -> Sequence[str]:
    """Return what lies in a folder, but for what every store has beside it."""
    return sorted(one.name for one in folder.iterdir() if not one.name.endswith(("-shm", "-wal", "-reserve")))


def test_a_disk_without_hard_links_is_restored_on_as_well(
    left_behind: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there is copied aside."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)

    done = Engram.restore_backup(left_behind, settings=Settings(key=key))

    assert contents(left_behind, key) == [BACKED_UP]
    assert done.aside is not None
    assert contents(Path(done.aside), key) == sorted([BACKED_UP, SINCE])


@pytest.mark.parametrize("step", range(1, 6))
def test_a_restore_that_fails_changes_nothing(
    left_behind: Path, key: str, step: int, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    """Whichever file cannot be moved, the store says what it said, and the error is one of ours."""
    before = names(left_behind.parent)
    settings, moves, move = Settings(key=key), [0], Path.replace

    def fail_at_step(self: Path, target: Path) -> Path:
        moves[0] += 1
        if moves[0] == step:
            raise OSError(errno.EIO, "Input/output error")
        return move(self, target)

    monkeypatch.setattr(Path, "replace", fail_at_step)
    try:
        Engram.restore_backup(left_behind, settings=settings, clock=clock)
    except StorageError:
        monkeypatch.undo()
        assert contents(left_behind, key) == sorted([BACKED_UP, SINCE])
        assert names(left_behind.parent) == before
    else:
        assert moves[0] < step


def test_a_killed_restore_loses_nothing(left_behind: Path, key: str, tmp_path: Path) -> None:
    """Killed before each step of the last stretch, the store is as it was or as it was backed up."""
    for step in range(1, 12):
        folder = shutil.copytree(left_behind.parent, tmp_path / str(step))
        command = [sys.executable, "-c", KILLED_AT, str(folder / "memory.db"), str(step), key]
        ended = subprocess.run(command, check=False, timeout=60).returncode
        assert ended in (0, 9)
        found = contents(folder / "memory.db", key)
        if ended == 0:
            assert found == [BACKED_UP]
            return
        assert found in ([BACKED_UP], sorted([BACKED_UP, SINCE]))
    pytest.fail("there are more steps than were tried")
