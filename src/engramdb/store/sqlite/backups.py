"""
Copies of a store: written while it is in use, verified before they get their name, restored in one step.

A copy holds all of the store as it is at one moment. It is read back from the disk: every page and index must
add up, every table must have as many rows as its original, and every memory must be what it was stored as.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import apsw

from engramdb.errors import (
    DiskFull,
    InvalidContent,
    StoreBusy,
    StoreCorrupt,
    StoreNotFound,
    StoreReadOnly,
    StoreUnreadable,
)
from engramdb.store.sqlite.checks import TEXT_INDEXES, UNREADABLE, check_memories, check_turns, damaged_tables
from engramdb.store.sqlite.connection import connect, is_plain_file, single_value, translate_errors
from engramdb.store.sqlite.migrations import version_of
from engramdb.store.sqlite.read_only import ENDINGS, beside, quoted_uri
from engramdb.values import MemoryId

ConnectTo = Callable[[Path], apsw.Connection]
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
_DAMAGED = (
    "`engram doctor --salvage NEW` saves what can be read; `engram restore-backup` goes back to a copy."
)


def copy_verified(source: apsw.Connection, target: Path, connect_to: ConnectTo) -> None:
    """Write what the source shows to a file that is not there yet; raises where the copy is not as good."""
    if os.path.lexists(target):
        raise InvalidContent("there is something at that path already", hint="Choose another.")
    if not target.parent.is_dir():
        raise StoreNotFound(
            f"the folder {target.parent} does not exist", hint="Create it, or check the path."
        )
    unfinished = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
    single_value(
        source, "SELECT count(*) FROM sqlite_schema"
    )  # the snapshot that is copied and compared with
    with translate_file_errors(target):
        try:
            _copy(source, unfinished, connect_to)
            _verify(source, unfinished, connect_to)
            _sync(unfinished)
            unfinished.replace(target)
            _sync(target.parent)
        finally:
            for ending in ENDINGS:
                beside(unfinished, ending).unlink(missing_ok=True)


def count_memories(backup: Path, key: bytes) -> int:
    """Return how many memories a copy holds; 0 where it cannot be read."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(apsw.Connection(quoted_uri(backup), flags=flags)) as connection:
            if key:
                connection.pragma("key", f"raw:{key.hex()}")
            return int(single_value(connection, "SELECT count(*) FROM memories WHERE content <> ''"))
    except UNREADABLE:
        return 0


def restore_copy(backup: Path, store: Path, aside: Path, *, key: bytes) -> None:
    """Put a backup in the place of a store, and the store aside; raises where somebody uses the store."""
    with translate_errors(str(backup)):
        open_file = partial(connect, key=key, is_durable=True, busy_timeout_seconds=1)
        source = open_file(backup, is_reader=True)
        unfinished = store.with_name(f".{store.name[:100]}.{os.getpid()}.restored")
        try:
            version_of(source, str(backup))
            unfinished.unlink(missing_ok=True)
            copy_verified(source, unfinished, open_file)
        finally:
            source.close()
        try:
            _settle(store, key)
            with translate_file_errors(store):
                put_back(unfinished, store, aside)
        finally:
            unfinished.unlink(missing_ok=True)


def ids_in_copy(path: Path, *, key: bytes) -> frozenset[MemoryId] | None:
    """Return the memories whose words a copy holds, without a write or a lock; None if it is unreadable."""
    if is_plain_file(path) is not None:  # closing it would end the locks of those who have it open here
        return None
    try:
        copy = apsw.Connection(quoted_uri(path), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except apsw.Error:
        return None
    try:
        copy.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        if key:
            copy.pragma("key", f"raw:{key.hex()}")
        found = copy.execute("SELECT id FROM memories WHERE status <> 'erased'").fetchall()
    except (apsw.Error, UnicodeDecodeError):
        return None
    finally:
        copy.close()
    return frozenset(str(one) for (one,) in found)


def _settle(store: Path, key: bytes) -> None:
    """Raise where another connection has the store open; bring what stands in its log into the file."""
    if not store.exists():
        return
    if is_plain_file(store) is not None:
        raise StoreBusy(f"{store} is open in this process", hint="Close it first.")
    connection = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        if key:
            connection.pragma("key", f"raw:{key.hex()}")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.pragma("locking_mode", "exclusive")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("ROLLBACK")
        with suppress(apsw.FullError, apsw.ReadOnlyError, apsw.IOError):  # then the log goes aside as it is
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except apsw.BusyError as exc:
        raise StoreBusy(f"{store} is in use", hint="Stop what uses it, then restore.") from exc
    except UNREADABLE:
        pass  # it is damaged, which is why it is replaced
    finally:
        connection.close()


def put_back(copy: Path, store: Path, aside: Path) -> None:
    """
    Put a verified copy in the place of a store that nobody has open, and the store aside.

    The log goes aside before the copy comes: beside another file it would be taken for that file's own. What
    fails leaves the store as it was.
    """
    moved: list[str] = []
    _keep(store, aside)
    try:
        for ending in ENDINGS[:0:-1]:
            if beside(store, ending).exists():
                beside(store, ending).replace(beside(aside, ending))
                moved.append(ending)
        copy.replace(store)
    except BaseException:
        for ending in moved:
            beside(aside, ending).replace(beside(store, ending))
        aside.unlink(missing_ok=True)
        raise
    _sync(store.parent)


def _keep(store: Path, aside: Path) -> None:
    """Give a store a second name, or copy it where the disk knows no such thing; it stays where it is."""
    if not store.exists():
        return
    try:
        os.link(store, aside)
    except FileExistsError:
        raise
    except OSError:
        try:
            os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            shutil.copyfile(store, aside)
            _sync(aside)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise


@contextmanager
def translate_file_errors(path: Path) -> Iterator[None]:
    """Raise the matching Engram error where a file or folder cannot be made, moved or written."""
    try:
        yield
    except OSError as exc:
        told = f"{exc.filename or path}: {exc.strerror or type(exc).__name__}"
        if exc.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(told) from exc
        if isinstance(exc, PermissionError) or exc.errno == errno.EROFS:
            raise StoreReadOnly(told) from exc
        raise StoreUnreadable(told, hint="Look what is at that path.") from exc


def _copy(source: apsw.Connection, target: Path, connect_to: ConnectTo) -> None:
    copy = connect_to(target)
    try:
        with copy.backup("main", source, "main") as work:
            while not work.done:
                work.step()
    finally:
        copy.close()


def _verify(source: apsw.Connection, target: Path, connect_to: ConnectTo) -> None:
    """Raise unless the copy is whole and says what its source says."""
    copy = connect_to(target)
    try:
        if damage := damaged_tables(copy):
            where = ", ".join(sorted(table or "the layout" for table in damage))
            raise StoreCorrupt(f"the store is damaged ({where}), so it was not copied", hint=_DAMAGED)
        for look in (check_memories, check_turns):
            if not (words := look(copy)).ok:
                raise StoreCorrupt(f"{words.found}, so the store was not copied", hint=_DAMAGED)
        for (table,) in copy.execute(_TABLES).fetchall():
            counting = f'SELECT count(*) FROM "{table}"'
            if single_value(copy, counting) != single_value(source, counting):
                raise StoreCorrupt(f"the copy has another number of rows in {table}", hint=_DAMAGED)
        for table in TEXT_INDEXES:
            copy.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 0)")
    except UNREADABLE as exc:
        raise StoreCorrupt(f"the store is damaged, so it was not copied: {exc}", hint=_DAMAGED) from exc
    finally:
        copy.close()


def _sync(path: Path) -> None:
    """Let what was written survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
