"""
Open one file: for reading and writing, or, where it cannot be written, for reading only.

The ladder stands here and nowhere else. First the usual way. Where the disk is full, the mount or the file
read-only, or the index of the log cannot be made: without locks, with the index in memory
(`read_only.ReadOnlyFile`). As soon as the file can be written again, the next write opens it the usual way.
"""

from __future__ import annotations

import time
from datetime import datetime
from functools import partial
from pathlib import Path

import apsw
from msgspec import Struct

from engramdb.errors import StorageError, StoreBusy, StoreReadOnly
from engramdb.store.sqlite import connection as files
from engramdb.store.sqlite.connection import (
    Readers,
    check_file,
    configure_unlocked,
    connect,
    translate_errors,
)
from engramdb.store.sqlite.migrations import FORMAT_VERSION, migrate, version_of
from engramdb.store.sqlite.read_only import (
    ReadOnlyFile,
    full,
    is_too_full,
    is_writable_again,
    why_unwritable,
)
from engramdb.store.sqlite.reserve import make_reserve

REOPEN_SECONDS = 1.0
"""How long a write waits for readers without locks before the file is opened the usual way."""


class OpenFile(Struct, frozen=True, kw_only=True):
    """The connections to an open file."""

    readers: Readers
    number: tuple[int, int]
    writer: apsw.Connection | None = None
    """None where the file can only be read."""
    reason: StorageError | None = None
    """Why it can only be read."""
    unlocked: ReadOnlyFile | None = None
    """Where it is read without locks."""

    def close(self) -> None:
        """Note that the file is closed; the connections were closed before."""
        if self.unlocked is not None:
            self.unlocked.close()
        files.register_closed(self.number)


class Opener:
    """Opens one file, first and again."""

    def __init__(
        self,
        path: Path,
        *,
        location: str,
        key: bytes,
        is_durable: bool,
        readers: int,
        busy_timeout_seconds: float,
        now: datetime,
        keeps_reserve: bool = True,
    ) -> None:
        self.path = path
        self.keeps_reserve = keeps_reserve
        self.key = key
        self._location = location
        self._is_durable = is_durable
        self._readers = readers
        self._patience_seconds = busy_timeout_seconds
        self._now = now

    def open(self) -> OpenFile:
        """Open the file for writing, or for reading where it cannot be written."""
        with translate_errors(self._location), files.OPENING_LOCK:
            if files.is_unlocked(self.path):  # by another store of this process
                return self._open_unlocked(full(self.path))
            try:
                if is_too_full(self.path):
                    raise full(self.path)
                return self._open_writable()
            except (apsw.Error, StorageError) as exc:
                reason = why_unwritable(self.path, exc)
                if reason is None:
                    raise
                return self._open_unlocked(reason)

    def open_for_writing(self, opened: OpenFile) -> OpenFile:
        """Open a file for writing that could only be read; raises the reason where it still is so."""
        reason = opened.reason
        assert reason is not None  # noqa: S101 - otherwise nobody asks
        with files.OPENING_LOCK:
            if not is_writable_again(self.path, reason) or not files.is_opened_once(opened.number):
                raise reason
            if not opened.readers.close(patience_seconds=REOPEN_SECONDS):
                raise reason
            if opened.writer is not None:
                opened.writer.close()
            opened.close()
            return self.open()

    def connect(self, path: Path, *, is_reader: bool = False) -> apsw.Connection:
        """Return a connection that locks, to this or another file with the same key."""
        return connect(
            path,
            key=self.key,
            is_durable=self._is_durable,
            busy_timeout_seconds=self._patience_seconds,
            is_reader=is_reader,
        )

    def _open_writable(self) -> OpenFile:
        was_there = _has_content(self.path)
        writer = self.connect(self.path)
        number = files.register_open(self.path, plain=not self.key)
        try:
            self._prepare(writer)
            if was_there and self.keeps_reserve:
                make_reserve(self.path)
        except BaseException:
            writer.close()
            files.register_closed(number)
            raise
        readers = Readers(
            partial(self.connect, self.path, is_reader=True),
            max_idle=self._readers,
            patience_seconds=self._patience_seconds,
        )
        reason = StoreReadOnly(f"{self._location} can be read and not written")
        return OpenFile(
            readers=readers,
            number=number,
            writer=writer,
            reason=reason if writer.readonly("main") else None,
        )

    def _open_unlocked(self, reason: StorageError) -> OpenFile:
        check_file(self.path, self.key)
        found = ReadOnlyFile(
            self.path, reason, lambda connection: configure_unlocked(connection, self.path, self.key)
        )
        number = files.register_open(self.path, plain=not self.key)
        files.set_unlocked(number, unlocked=True)
        try:
            self._prepare_unlocked(found)
            readers = Readers(
                found.connect,
                max_idle=self._readers,
                patience_seconds=self._patience_seconds,
                stamp=found.stamp,
            )
        except BaseException:
            found.close()
            files.register_closed(number)
            raise
        return OpenFile(readers=readers, number=number, reason=reason, unlocked=found)

    def _prepare_unlocked(self, found: ReadOnlyFile) -> None:
        """Read from a copy where the file itself does not show what it holds in today's layout."""
        if found.has_hot_journal:
            found.read_copy(self._prepare_copy)
            return
        connection = found.connect()
        try:
            is_current = version_of(connection, self._location) == FORMAT_VERSION
        finally:
            connection.close()
        if not is_current:
            found.read_copy(self._prepare_copy)

    def _prepare_copy(self, path: Path) -> None:
        """Bring a private copy up to date, so that it is read like the others."""
        writer = self.connect(path)
        try:
            self._prepare(writer)
        finally:
            writer.close()

    def _prepare(self, writer: apsw.Connection) -> None:
        """Switch to the write-ahead log and bring the layout up to date."""
        deadline = time.monotonic() + self._patience_seconds
        version_of(writer, self._location)
        while True:
            try:
                writer.pragma("journal_mode", "wal")
                break
            except apsw.BusyError:  # SQLite does not wait here: another process is doing the same
                if time.monotonic() > deadline:
                    raise StoreBusy(f"{self._location} is held by another process") from None
                time.sleep(0.005)
        migrate(writer, self._location, now=self._now)


def _has_content(path: Path) -> bool:
    """Whether a file is there and holds anything; what cannot be looked at is for SQLite to refuse."""
    try:
        return path.stat().st_size > 0
    except (OSError, ValueError):  # a name with a NUL
        return False
