"""Damage is told for what it is, together with the commands that help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest
from click.testing import CliRunner, Result

from engramdb import Draft, Engram, Settings
from engramdb.cli.main import app
from engramdb.engine.backups import KEPT_BACKUPS, back_up, list_backups
from engramdb.errors import StoreCorrupt
from engramdb.testing import ManualClock, TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SALVAGE, RESTORE = "engram doctor --salvage NEW", "engram restore-backup"


def open_quietly(path: Path, clock: ManualClock | None = None) -> Engram:
    """Open without background threads."""
    return Engram.open(path, settings=Settings(), clock=clock, embedder=TinyEmbedder(), background=False)


def fill(path: Path, *, backup: bool) -> list[str]:
    """Write a store, and return the ids of its memories."""
    with open_quietly(path) as engram:
        stored = engram.remember_many([Draft(content=f"note {n} on topic q{n}") for n in range(120)])
        if backup:
            engram.backup()
    return [memory.id for memory in stored]


def run(*words: str, store: Path) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, [*words, "--store", str(store)])


def cut(path: Path) -> None:
    """Keep the first half."""
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def overwrite_layout(path: Path) -> None:
    """Overwrite two pages of the layout."""
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 8192)


@pytest.mark.parametrize("damage", [cut, overwrite_layout])
@pytest.mark.parametrize("backup", [True, False], ids=["with backup", "without"])
def test_the_doctor_reports_a_store_that_does_not_open(
    store_path: Path, damage: Callable[[Path], None], *, backup: bool
) -> None:
    """The damage is a finding; what helps is named, and a backup only where there is one."""
    fill(store_path, backup=backup)
    damage(store_path)

    done = run("doctor", store=store_path)

    assert done.exit_code == 1
    assert "WRONG" in done.output
    assert SALVAGE in done.output
    assert (RESTORE in done.output) is backup


def test_a_damaged_beginning_is_not_only_taken_for_encryption(store_path: Path) -> None:
    """Without its first bytes a file looks encrypted: damage and the salvage are named as well."""
    fill(store_path, backup=False)
    with store_path.open("r+b") as file:
        file.write(bytes(100))

    done = run("doctor", store=store_path)

    assert done.exit_code
    assert "damaged" in done.output
    assert SALVAGE in done.output


@pytest.mark.parametrize("words", [("list",), ("recall", "note 7 on topic q7")], ids=["list", "recall"])
def test_an_unreadable_memory_is_named_with_what_helps(store_path: Path, words: tuple[str, ...]) -> None:
    """The answer says which memory it lacks, and how to save it."""
    ids = fill(store_path, backup=False)
    connection = apsw.Connection(str(store_path))
    connection.execute("UPDATE memories SET traits = '{' WHERE id = ?", (ids[7],))
    connection.close()

    done = run(*words, "--limit", "200", store=store_path)

    assert done.exit_code == 0
    assert ids[7] in done.stderr
    assert SALVAGE in done.stderr


def test_an_emptied_store_with_backups_is_not_begun_again(store_path: Path) -> None:
    """Every command says so and names the way back, which works."""
    fill(store_path, backup=True)
    store_path.write_bytes(b"")

    with pytest.raises(StoreCorrupt, match="is empty"):
        open_quietly(store_path)
    told = run("status", store=store_path)
    examined = run("doctor", store=store_path)
    restored = run("restore-backup", store=store_path)

    assert told.exit_code
    assert RESTORE in told.output
    assert examined.exit_code == 1
    assert RESTORE in examined.output
    assert restored.exit_code == 0, restored.output
    with open_quietly(store_path) as engram:
        assert engram.status().memories == 120


def test_an_empty_file_without_backups_is_told_by_the_doctor(store_path: Path) -> None:
    """A new store is begun in it, which the doctor does not pass over."""
    store_path.write_bytes(b"")

    done = run("doctor", store=store_path)

    assert done.exit_code == 1
    assert "was empty" in done.output
    assert "Everything is in order" not in done.output


def test_nothing_is_salvaged_from_an_empty_file(store_path: Path) -> None:
    """It is an error, not a success without losses."""
    store_path.write_bytes(b"")
    new = store_path.with_name("saved.db")

    done = run("doctor", "--salvage", str(new), store=store_path)

    assert done.exit_code
    assert "Nothing is lost" not in done.output
    assert not new.exists()


def test_copies_of_a_nearly_empty_store_push_out_no_full_one(store_path: Path, clock: ManualClock) -> None:
    """However often a store that lost its memories is copied, the last full copy stays."""
    fill(store_path, backup=False)
    with open_quietly(store_path, clock) as engram:
        full = back_up(engram._parts).path
    for ending in ("", "-wal", "-shm"):
        store_path.with_name(store_path.name + ending).unlink(missing_ok=True)

    with open_quietly(store_path, clock) as engram:
        engram.remember("I like tea")
        for _ in range(KEPT_BACKUPS + 3):
            clock.advance(hours=25)
            back_up(engram._parts)

    kept = [one.path for one in list_backups(store_path)]
    assert kept[-1] == full
    assert len(kept) == KEPT_BACKUPS + 1
