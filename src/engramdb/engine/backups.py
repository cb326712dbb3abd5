"""
Copies of the store in a folder beside it: made once a day, three kept, and put back by one command.

A process with a background makes one when the last is older than a day, and so does a command that has
written, after its answer; a store that is younger than that has none. Every copy is verified before it gets
its name, and an old one goes only after a new one is there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engramdb.clock import Clock
from engramdb.errors import StorageError, StoreNotFound
from engramdb.settings import Settings
from engramdb.store.sqlite.backups import count_memories, restore_copy, translate_file_errors
from engramdb.store.sqlite.read_only import ENDINGS, beside
from engramdb.store.sqlite.reserve import ENDING as RESERVE_ENDING
from engramdb.values import Action, Actor, AuditEvent, Backup
from engramdb.values.files import FileKind
from engramdb.values.report import RestoredBackup

if TYPE_CHECKING:  # a cycle: the parts make the daily backup
    from engramdb.engine.engram import Engram
    from engramdb.engine.parts import Parts

BACKUP_HOURS = 24.0
"""A copy is made when the last is older than this."""
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
    Return the backups beside a store, newest first.

    Those with a stamp after `now` come last: they were made while the clock was ahead.
    """
    try:
        found = [
            Backup(path=str(one), size_bytes=one.stat().st_size, made_at=made_at)
            for one in sorted(folder_of(store).glob("*.db"), reverse=True)
            if (made_at := _made_at(one)) is not None
        ]
    except OSError:
        return []
    return found if now is None else sorted(found, key=lambda one: _is_ahead(one, now))


def _is_ahead(backup: Backup, now: datetime) -> bool:
    return backup.made_at is not None and backup.made_at > now


def back_up_if_due(parts: Parts) -> Backup | None:
    """Make a copy where the last is too old; what fails is noted in health and tried again later."""
    if not parts.settings.backups or parts.store.unwritable is not None or not is_due(parts):
        return None
    with suppress(StorageError, OSError), parts.health.watch(BACKUPS):
        return back_up(parts)
    return None


def back_up_after_command(engram: Engram) -> None:
    """Make a copy where the last is too old, in a process that ends; raises where that fails."""
    parts = engram._parts  # noqa: SLF001 - the engine's own
    if parts.store.unwritable is None and is_due(parts):
        back_up(parts)


def is_due(parts: Parts) -> bool:
    """Return whether the last copy, or else the store itself, is older than a day."""
    now = parts.clock.now()
    last = _last_made(Path(parts.store.location), now) or parts.store.describe().get("made_at")
    if not isinstance(last, datetime):
        return False
    return last > now or last < now - timedelta(hours=BACKUP_HOURS)  # one made ahead is of unknown age


def may_be_due(store: Path, *, now: datetime) -> bool:
    """Return whether a short command should open a store once more to look: it is small, with no new copy."""
    last = _last_made(store, now)
    is_small = store.is_file() and store.stat().st_size <= MAX_COMMAND_BYTES
    return is_small and (last is None or last < now - timedelta(hours=BACKUP_HOURS))


def _last_made(store: Path, now: datetime) -> datetime | None:
    return next((one.made_at for one in list_backups(store) if not _is_ahead(one, now)), None)


def back_up(parts: Parts) -> Backup:
    """Make a verified copy in the folder beside the store, and remove the oldest ones."""
    store = Path(parts.store.location)
    now = parts.clock.now().astimezone(UTC)
    folder = folder_of(store)
    with translate_file_errors(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
    target = folder / f"{store.stem}-{now.strftime(_STAMP)}.db"
    done = write_backup(parts, target)
    old = _superfluous(list_backups(store, now=now), bytes.fromhex(parts.settings.key))
    with translate_file_errors(folder):
        for one in old:
            for ending in (*ENDINGS, RESERVE_ENDING):
                beside(one, ending).unlink(missing_ok=True)
    with parts.store.atomic() as tx:
        for one in old:
            tx.files.drop(os.path.realpath(one))
    return done


def _superfluous(backups: Sequence[Backup], key: bytes) -> list[Path]:
    """Return which of the backups, newest first, can go: none that holds what the newer ones have lost."""
    kept, old = backups[:KEPT_BACKUPS], backups[KEPT_BACKUPS:]
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


def _made_at(path: Path) -> datetime | None:
    try:
        return datetime.strptime(path.stem.rpartition("-")[2], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
