"""
Copies of the store in a folder beside it: made once a day, three kept, and put back by one command.

A process with a background makes one when the last is older than a day, and so does a command that has
written, after its answer; of several at once one does. A store that is younger than that has none. Every copy
is verified before it gets its name, and an old one goes only after a new one is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from engramdb.clock import Clock
from engramdb.errors import StorageError, StoreNotFound, StoreUnreadable
from engramdb.settings import Settings
from engramdb.store.sqlite.backups import count_memories, restore_copy, translate_file_errors
from engramdb.store.sqlite.read_only import ENDINGS, beside, lock_folder
from engramdb.store.sqlite.reserve import ENDING as RESERVE_ENDING
from engramdb.values import Action, Actor, AuditEvent, Backup
from engramdb.values.files import FileKind
from engramdb.values.report import RestoredBackup

if TYPE_CHECKING:  # a cycle: the parts make the daily backup
    from engramdb.engine.engram import Engram
    from engramdb.engine.parts import Parts

BACKUP_AGE = timedelta(hours=24)
"""A copy is made when the last is older than this."""
BURST = timedelta(hours=1)
"""Of copies that follow one another faster than this, the last is kept before those of other days go."""
MAX_COMMAND_BYTES = 64_000_000
"""Of a store that a command of the shell copies after its answer: a second's work."""
KEPT_BACKUPS = 3
"""How many copies are kept beside the store; older ones are removed."""
LOST_MOST = 0.5
"""Where all of these hold less than this part of the memories of an older copy, that one is kept, too."""
BACKUPS = "backups"
"""The name of this part in `status`."""
_STAMP = "%Y%m%dT%H%M%S.%fZ"


def folder_of(store: Path) -> Path:
    """Return the folder of a store's backups."""
    return store.with_name(f"{store.name}.backups")


def list_backups(store: Path, *, now: datetime | None = None) -> list[Backup]:
    """
    Return the backups beside a store, newest first; files of other names and a folder elsewhere are none.

    Those with a stamp after `now` come last: they were made while the clock was ahead.
    """
    folder = folder_of(store)
    if folder.is_symlink():
        return []
    try:
        found = [
            Backup(path=str(one), size_bytes=one.stat().st_size, made_at=made_at)
            for one in folder.glob("*.db")
            if (made_at := _made_at(one, store)) is not None
        ]
    except OSError:
        return []
    found.sort(key=lambda one: one.path, reverse=True)
    return found if now is None else sorted(found, key=lambda one: _is_ahead(one, now))


def _is_ahead(backup: Backup, now: datetime) -> bool:
    return backup.made_at is not None and backup.made_at > now


def back_up_if_due(parts: Parts) -> Backup | None:
    """Make a copy where the last is too old; what fails is noted in health and tried again later."""
    if not parts.settings.backups or parts.store.unwritable is not None or not is_due(parts):
        return None
    with suppress(StorageError, OSError), parts.health.watch(BACKUPS):
        return _back_up_once(parts)
    return None


def back_up_after_command(engram: Engram) -> None:
    """Make a copy where the last is too old, in a process that ends; raises where that fails."""
    parts = engram._parts  # noqa: SLF001 - the engine's own
    if parts.store.unwritable is None and is_due(parts):
        _back_up_once(parts)


def _back_up_once(parts: Parts) -> Backup | None:
    """Make a copy unless another process is at it or has just made one."""
    with _held(_made_folder(Path(parts.store.location))) as is_held:
        return back_up(parts) if is_held and is_due(parts) else None


@contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Hold a folder against other processes; yields False where one of them holds it."""
    try:
        handle = lock_folder(folder)
    except BlockingIOError:
        yield False
        return
    try:
        yield True
    finally:
        if handle is not None:
            os.close(handle)


def is_due(parts: Parts) -> bool:
    """Return whether the last copy, or else the store itself, is older than a day."""
    now = parts.clock.now()
    last = _last_made(Path(parts.store.location), now) or parts.store.describe().get("made_at")
    return isinstance(last, datetime) and _is_old(last, now)


def may_be_due(store: Path, *, now: datetime) -> bool:
    """Return whether a short command should open a store once more to look: it is small, with no new copy."""
    last = _last_made(store, now)
    is_small = store.is_file() and store.stat().st_size <= MAX_COMMAND_BYTES
    return is_small and (last is None or _is_old(last, now))


def _is_old(last: datetime, now: datetime) -> bool:
    return last > now or last < now - BACKUP_AGE  # one made ahead is of unknown age


def _last_made(store: Path, now: datetime) -> datetime | None:
    return next((one.made_at for one in list_backups(store) if not _is_ahead(one, now)), None)


def back_up(parts: Parts) -> Backup:
    """Make a verified copy in the folder beside the store, and remove the oldest ones."""
    store = Path(parts.store.location)
    now = parts.clock.now().astimezone(UTC)
    folder = _made_folder(store)
    target = folder / f"{store.stem}-{now.strftime(_STAMP)}.db"
    done = write_backup(parts, target)
    old = _superfluous(list_backups(store, now=now), bytes.fromhex(parts.settings.key), now=now)
    with translate_file_errors(folder):
        for one in old:
            for ending in (*ENDINGS, RESERVE_ENDING):
                beside(one, ending).unlink(missing_ok=True)
    with parts.store.atomic() as tx:
        for one in old:
            tx.files.drop(os.path.realpath(one))
    return done


def _made_folder(store: Path) -> Path:
    """Return the folder of a store's backups, made if need be, for nobody but its owner."""
    folder = folder_of(store)
    _refuse_link(folder)
    with translate_file_errors(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
    return folder


def _refuse_link(folder: Path) -> None:
    if folder.is_symlink():
        raise StoreUnreadable(
            f"{folder} is a link, and backups are kept only in a folder of the store's own",
            hint="Remove the link; `engram backup PATH` copies to any other place.",
        )


def _superfluous(backups: Sequence[Backup], key: bytes, *, now: datetime) -> list[Path]:
    """Return which of the backups, newest first, can go: none that holds what the newer ones have lost."""
    repeated = {
        older.path
        for newer, older in pairwise(one for one in backups if not _is_ahead(one, now))
        if newer.made_at and older.made_at and newer.made_at - older.made_at < BURST
    }
    by_worth = sorted(backups, key=lambda one: one.path in repeated or _is_ahead(one, now))
    kept, old = by_worth[:KEPT_BACKUPS], by_worth[KEPT_BACKUPS:]
    if not old:
        return []
    counts = {one.path: count_memories(Path(one.path), key) for one in backups}
    fullest = max(old, key=lambda one: counts[one.path])
    if max(counts[one.path] for one in kept) < counts[fullest.path] * LOST_MOST:
        old = [one for one in old if one is not fullest]
    return [Path(one.path) for one in old]


def write_backup(parts: Parts, target: Path, *, given: str = "", actor: Actor | None = None) -> Backup:
    """Make a verified copy at a path, and register it, so that an erasure finds it."""
    from engramdb.engine.erasing import registered_file  # noqa: PLC0415 - loads arrays: only to copy

    now = parts.clock.now()
    with registered_file(parts, FileKind.BACKUP, target, given=given or str(target)):
        parts.store.back_up(target)
    if parts.store.unwritable is None:
        with parts.store.atomic() as tx:
            tx.audit.add(AuditEvent(at=now, action=Action.BACK_UP, actor=actor or parts.actor))
    return Backup(path=str(target), size_bytes=target.stat().st_size, made_at=now)


def restore_backup(store: Path, backup: Path | None, *, settings: Settings, clock: Clock) -> RestoredBackup:
    """Put a backup, the newest unless named, in the place of a store; what was there is kept aside."""
    if backup is None:
        _refuse_link(folder_of(store))
        known = list_backups(store, now=clock.now())
        if not known:
            raise StoreNotFound(f"there is no backup beside {store}", hint="Name the file of a copy.")
        backup = Path(known[0].path)
    if not backup.is_file():
        raise StoreNotFound(f"there is no backup at {backup}")
    stamp = clock.now().astimezone(UTC).strftime(_STAMP)
    aside = store.with_name(f"{store.name}.before-restore-{stamp}")
    had_store = store.exists()
    restore_copy(backup, store, aside, key=bytes.fromhex(settings.key))
    return RestoredBackup(store=str(store), backup=str(backup), aside=str(aside) if had_store else None)


def _made_at(path: Path, store: Path) -> datetime | None:
    """Return what the stamp of a backup of this store says; None where the name is not that of one."""
    stem, _, stamp = path.stem.rpartition("-")
    if stem != store.stem:
        return None
    try:
        return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
