"""Backups are verified, made once a day, three are kept, and one command goes back to one."""

from __future__ import annotations

import os
import stat
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engramdb import Engram, Settings
from engramdb.engine.backups import KEPT_BACKUPS, back_up_if_due, folder_of, list_backups
from engramdb.errors import StorageError, StoreBusy, StoreNotFound, StoreUnreadable
from engramdb.testing import ManualClock, TinyEmbedder


def test_a_store_is_copied_once_a_day(engram: Engram, clock: ManualClock, store_path: Path) -> None:
    """The first day needs none; then one a day, and the oldest go."""
    engram.remember("I like tea")
    made = [back_up_if_due(engram._parts) is not None]
    for _ in range(5):
        clock.advance(hours=25)
        made.append(back_up_if_due(engram._parts) is not None)
        made.append(back_up_if_due(engram._parts) is not None)

    kept = list_backups(store_path)

    assert made == [False, *[True, False] * 5]
    assert len(kept) == KEPT_BACKUPS
    assert [one.made_at for one in kept] == sorted((one.made_at for one in kept), reverse=True)  # type: ignore[type-var]


def test_backups_are_their_owners_alone(engram: Engram, store_path: Path) -> None:
    """Nobody else may enter the folder or read a copy."""
    done = engram.backup()

    folder = folder_of(store_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / done.path).stat().st_mode) == 0o600


def test_no_backup_is_made_where_the_setting_says_so(store_path: Path, clock: ManualClock) -> None:
    """`backups = false` leaves the folder beside the store alone."""
    settings = Settings(backups=False)
    with Engram.open(
        store_path, settings=settings, clock=clock, embedder=TinyEmbedder(), background=False
    ) as engram:
        clock.advance(days=9)
        assert back_up_if_due(engram._parts) is None
    assert not folder_of(store_path).exists()


def test_a_process_with_a_background_makes_the_backup(store_path: Path, clock: ManualClock) -> None:
    """Opening with a background is enough; the caller does not wait for it."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("I like tea")
    clock.advance(days=2)
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder()) as engram:
        deadline = time.monotonic() + 30
        while not list_backups(store_path) and time.monotonic() < deadline:
            time.sleep(0.05)

    assert len(list_backups(store_path)) == 1


def test_several_at_once_make_one_copy(store_path: Path) -> None:
    """Whoever comes while a copy is made, or just after, has nothing to do."""
    born = ManualClock(datetime.now(UTC) - timedelta(days=2))
    with Engram.open(store_path, clock=born, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("I like tea")
    several = [Engram.open(store_path, embedder=TinyEmbedder(), background=False) for _ in range(4)]
    start = threading.Barrier(len(several))
    failures: list[str | None] = []

    def work(one: Engram) -> None:
        start.wait()
        back_up_if_due(one._parts)
        failures.extend(part.failure for part in one._parts.health.parts() if part.name == "backups")

    threads = [threading.Thread(target=work, args=(one,)) for one in several]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in several:
        one.close()

    assert len(list_backups(store_path)) == 1
    assert not any(failures)


def test_copies_of_one_hour_do_not_drive_out_those_of_other_days(
    engram: Engram, clock: ManualClock, store_path: Path
) -> None:
    """Somebody who asks for several copies in a row still has those of the days before."""
    engram.remember("I like tea")
    days = []
    for _ in range(KEPT_BACKUPS):
        clock.advance(days=1, minutes=1)
        made = back_up_if_due(engram._parts)
        assert made is not None
        days.append(made.path)
    clock.advance(days=1)
    for _ in range(KEPT_BACKUPS):
        clock.advance(minutes=1)
        last = engram.backup()

    assert [one.path for one in list_backups(store_path)] == [last.path, days[2], days[1]]


def test_only_copies_of_this_store_count_or_go(engram: Engram, clock: ManualClock, store_path: Path) -> None:
    """What else lies in the folder is somebody's own."""
    engram.backup()
    foreign = [folder_of(store_path) / name for name in ("other-20990101T000000.000000Z.db", "notes.db")]
    for one in foreign:
        one.write_bytes(b"")
    for _ in range(KEPT_BACKUPS + 1):
        clock.advance(days=1)
        engram.backup()

    assert all(one.exists() for one in foreign)
    assert len(list_backups(store_path)) == KEPT_BACKUPS
    assert not {str(one) for one in foreign} & {one.path for one in list_backups(store_path)}


def test_a_link_in_place_of_the_folder_is_not_followed(
    engram: Engram, store_path: Path, tmp_path: Path
) -> None:
    """The folder of somebody else keeps its mode and its files, and is named in the error."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    theirs = elsewhere / f"{store_path.stem}-20200101T000000.000000Z.db"
    theirs.write_bytes(b"theirs")
    folder_of(store_path).symlink_to(elsewhere)

    with pytest.raises(StoreUnreadable, match=r"backups is a link"):
        engram.backup()
    with pytest.raises(StoreUnreadable, match=r"backups is a link"):
        Engram.restore_backup(store_path)

    assert list_backups(store_path) == []
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755
    assert list(elsewhere.iterdir()) == [theirs]


def test_going_back_is_one_command(store_path: Path, clock: ManualClock) -> None:
    """The newest backup takes the place of a ruined store, which is kept aside; the backup stays."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("I like tea")
        engram.backup()
    store_path.write_bytes(b"rubbish" * 1000)

    done = Engram.restore_backup(store_path, clock=clock)

    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        assert [memory.content for memory in engram.list()] == ["I like tea"]
        assert engram.doctor().ok
    assert done.aside is not None
    assert store_path.with_name(done.aside.rpartition("/")[2]).read_bytes().startswith(b"rubbish")
    assert len(list_backups(store_path)) == 1


def test_a_store_in_use_is_not_replaced(engram: Engram, store_path: Path) -> None:
    """What the other process writes afterwards would be lost."""
    engram.remember("I like tea")
    engram.backup()

    with pytest.raises(StoreBusy):
        Engram.restore_backup(store_path)

    assert engram.remember("still here").content == "still here"


def test_without_a_backup_there_is_nothing_to_restore(store_path: Path) -> None:
    """The error names the store."""
    with pytest.raises(StoreNotFound, match="no backup"):
        Engram.restore_backup(store_path)


def test_a_clock_that_was_ahead_stops_no_backup(engram: Engram, clock: ManualClock, store_path: Path) -> None:
    """Copies with a stamp of the future are not the last ones, and go before the copy just made."""
    engram.remember("I like tea")
    right = clock.now()
    clock.advance(days=4000)
    for _ in range(KEPT_BACKUPS):
        clock.advance(days=2)
        engram.backup()
    clock.set(right + timedelta(days=2))

    made = back_up_if_due(engram._parts)
    again = back_up_if_due(engram._parts)
    clock.advance(minutes=1)
    asked_for = engram.backup()

    assert made is not None
    assert again is None
    assert Path(made.path).exists()
    assert Path(asked_for.path).exists()
    assert len(list_backups(store_path)) == KEPT_BACKUPS


def test_the_newest_backup_is_restored_after_the_clock_was_ahead(
    store_path: Path, clock: ManualClock
) -> None:
    """Newest is what was made last, not what says so."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        right = clock.now()
        clock.advance(days=400)
        engram.backup()
        clock.set(right + timedelta(minutes=1))
        engram.remember("I like tea")
        last = engram.backup()

    assert Engram.restore_backup(store_path, clock=clock).backup == last.path


def test_an_erasure_leaves_nothing_beside_backups(
    engram: Engram, clock: ManualClock, store_path: Path
) -> None:
    """No room is kept for a copy, and a copy that goes takes along what lies beside it."""
    memory = engram.remember("I like tea")
    oldest = Path(engram.backup().path)
    engram.erase(memory.id)
    assert [one.name for one in folder_of(store_path).iterdir()] == [oldest.name]
    for ending in ("-reserve", "-wal", "-shm"):
        oldest.with_name(oldest.name + ending).write_bytes(b"")

    for _ in range(KEPT_BACKUPS):
        clock.advance(minutes=1)
        engram.backup()

    assert [one for one in folder_of(store_path).iterdir() if one.name.startswith(oldest.name)] == []


@pytest.mark.parametrize("what", ["file", "dangling link", "no permission"])
def test_a_folder_of_backups_that_cannot_be_made_is_our_error(
    engram: Engram, store_path: Path, what: str
) -> None:
    """The error names the path."""
    folder = folder_of(store_path)
    if what == "file":
        folder.touch()
    elif what == "dangling link":
        folder.symlink_to(store_path.with_name("nowhere"))
    else:
        if os.geteuid() == 0:
            pytest.skip("root may write everywhere")
        store_path.parent.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="backups"):
            engram.backup()
    finally:
        store_path.parent.chmod(0o700)
