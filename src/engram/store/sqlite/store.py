"""
One file as a store: a line of writers, a pool of readers, all tables in one transaction.

Opened by the engine. Several threads share one store and several processes share one file. A write
is durable when `atomic` returns; a killed process leaves either all of it or none.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from engram.errors import StoreBusy, StoreClosed, StoreUnreadable
from engram.store.sqlite import opened
from engram.store.sqlite.connection import connect, is_held_open, only
from engram.store.sqlite.copies import copy_to
from engram.store.sqlite.failures import translated
from engram.store.sqlite.migrations import FORMAT_VERSION, migrate, version_of
from engram.store.sqlite.queue import WriteQueue
from engram.store.sqlite.readers import Readers
from engram.store.sqlite.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from engram.values import Check


class SqliteStore:
    """A file of memories."""

    def __init__(
        self,
        path: Path,
        *,
        writer: apsw.Connection,
        connect: Callable[[Path], apsw.Connection],
        readers: Readers,
        line: WriteQueue,
        number: tuple[int, int],
        is_encrypted: bool,
    ) -> None:
        self._path = path
        self._number = number
        self._is_encrypted = is_encrypted
        self._writer = writer
        self._connect = connect
        self._line = line
        self._writing = threading.local()
        self._readers = readers
        self._process = os.getpid()
        self._is_closed = False

    @classmethod
    def open(
        cls,
        location: str,
        *,
        now: datetime,
        key: bytes = b"",
        is_durable: bool = True,
        readers: int = 4,
        max_waiting_writers: int = 256,
        busy_timeout_seconds: float = 30.0,
    ) -> SqliteStore:
        """Open the file, made and brought up to date if need be."""
        path = Path(location).expanduser().absolute()  # readers open later, maybe from another folder

        def connect_one(file: Path, *, is_reader: bool = False) -> apsw.Connection:
            return connect(
                file,
                key=key,
                is_durable=is_durable,
                busy_timeout_seconds=busy_timeout_seconds,
                is_reader=is_reader,
            )

        line = WriteQueue(max_waiting=max_waiting_writers, timeout_seconds=busy_timeout_seconds)
        with translated(location):
            with opened.LOOKING:
                writer = connect_one(path)
                number = opened.enter(path, plain=not key)
            try:
                _prepare(writer, location, now=now, patience_seconds=busy_timeout_seconds)
            except BaseException:
                writer.close()
                opened.leave(number)
                raise
        pool = Readers(
            partial(connect_one, path, is_reader=True), kept=readers, patience_seconds=busy_timeout_seconds
        )
        return cls(
            path,
            writer=writer,
            connect=connect_one,
            readers=pool,
            line=line,
            number=number,
            is_encrypted=bool(key),
        )

    @property
    def location(self) -> str:
        """Where the store is."""
        return str(self._path)

    @contextmanager
    def atomic(self) -> Iterator[Tables]:
        """Open a write: all of it is durable when the block ends, none of it if it raises. Nests."""
        self._check_open()
        outer: Tables | None = getattr(self._writing, "tables", None)
        if outer is not None:
            with self._writer:  # a savepoint inside the open transaction
                yield outer
            return
        with self._turn() as writer:
            tables = self._writing.tables = Tables(writer)
            try:
                with _transaction(writer, "BEGIN IMMEDIATE"):
                    yield tables
            finally:
                self._writing.tables = None

    @contextmanager
    def read(self) -> Iterator[Tables]:
        """Open a snapshot; inside this thread's own write it shows what the write has done so far."""
        self._check_open()
        own: Tables | None = getattr(self._writing, "tables", None)
        if own is not None:
            yield own
            return
        with translated(self.location):
            connection = self._readers.take()
            try:
                self._check_open()
                with _transaction(connection, "BEGIN"):
                    yield Tables(connection)
            finally:
                self._readers.give_back(connection)

    def describe(self) -> dict[str, Any]:
        """Return format version, size and room in bytes, and whether the store is encrypted."""
        files = [self._path, *(self._path.with_name(self._path.name + end) for end in ("-wal", "-shm"))]
        try:
            size = sum(file.stat().st_size for file in files if file.exists())
            free = shutil.disk_usage(self._path.parent).free
        except OSError as exc:
            raise StoreUnreadable(f"{self.location}: {exc.strerror}") from exc
        return {
            "format_version": FORMAT_VERSION,
            "size_bytes": size,
            "disk_free_bytes": free,
            "encrypted": self._is_encrypted,
        }

    def check(self) -> list[Check]:
        """Look for damage and disagreement between the tables."""
        from engram.store.sqlite.checks import checks  # noqa: PLC0415 - for who looks, and few do

        with self._turn() as writer:
            return list(checks(writer))

    def back_up(self, path: Path) -> None:
        """Write a whole copy, as it is at one moment, to a path where nothing is; others go on meanwhile."""
        self._check_open()
        with translated(self.location):
            source = self._readers.take()
            try:
                copy_to(path.absolute(), source, self._connect)
            finally:
                self._readers.give_back(source)

    def scrub(self) -> None:
        """Write the file anew and empty its log; raises where somebody still reads what was before."""
        with self._turn() as writer:
            writer.execute("INSERT INTO terms (terms) VALUES ('optimize')")  # keys may hold old words
            writer.execute("VACUUM")
            if only(writer, "PRAGMA wal_checkpoint(TRUNCATE)"):
                raise StoreBusy(f"{self.location} is being read as it was before")

    def close(self) -> None:
        """Wait for the writer and the readers, then let go of the file. Closing twice is harmless."""
        if self._is_closed:
            return
        self._is_closed = True
        if os.getpid() != self._process:
            return  # the connections belong to the process that opened them
        with self._line.turn():
            self._writer.close()
        self._readers.close()
        opened.leave(self._number)

    @contextmanager
    def _turn(self) -> Iterator[apsw.Connection]:
        """Lend the writer to one thread at a time; one that was left in the past is opened anew."""
        with self._line.turn(), translated(self.location):
            self._check_open()
            if is_held_open(self._writer):
                renewed = self._connect(self._path)
                self._writer.close()
                self._writer = renewed
            yield self._writer

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreClosed(f"{self.location} has been closed")
        if os.getpid() != self._process:
            raise StoreClosed(
                f"{self.location} was opened by another process", hint="Open it again after the fork."
            )


def _prepare(writer: apsw.Connection, location: str, *, now: datetime, patience_seconds: float) -> None:
    """Switch to the write-ahead log and bring the layout up to date."""
    deadline = time.monotonic() + patience_seconds
    version_of(writer, location)
    while True:
        try:
            writer.pragma("journal_mode", "wal")
            break
        except apsw.BusyError:  # SQLite does not wait here: another process is doing the same
            if time.monotonic() > deadline:
                raise StoreBusy(f"{location} is held by another process") from None
            time.sleep(0.005)
    migrate(writer, location, now=now)


@contextmanager
def _transaction(connection: apsw.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
