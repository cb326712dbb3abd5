"""One SQLite file as a store: every table in one transaction, checks and copies."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from engramdb.errors import (
    StorageError,
    StoreBusy,
    StoreClosed,
    StoreUnreadable,
)
from engramdb.store.sqlite.acts import ActsTable
from engramdb.store.sqlite.aging import AgesTable, SweepsTable
from engramdb.store.sqlite.audit import AuditTable
from engramdb.store.sqlite.backups import copy_verified, ids_in_copy
from engramdb.store.sqlite.checkpoints import Checkpointer
from engramdb.store.sqlite.checks import TEXT_INDEXES, run_checks
from engramdb.store.sqlite.connection import (
    WriteQueue,
    is_held_open,
    single_value,
    translate_errors,
)
from engramdb.store.sqlite.documents import DocumentsTable
from engramdb.store.sqlite.dreams import DreamsTable, FeedbackTable, LeasesTable, ReplaysTable
from engramdb.store.sqlite.edges import EdgesTable, TraitsTable
from engramdb.store.sqlite.entities import EntitiesTable
from engramdb.store.sqlite.erasure import ErasuresTable
from engramdb.store.sqlite.files import FilesTable
from engramdb.store.sqlite.filters import ScopesTable
from engramdb.store.sqlite.forgotten import ForgottenTable
from engramdb.store.sqlite.insight import GapsTable, TreeTable
from engramdb.store.sqlite.memories import CandidatesTable, HistoryTable, MemoriesTable
from engramdb.store.sqlite.migrations import FORMAT_VERSION
from engramdb.store.sqlite.opening import Opener, OpenFile
from engramdb.store.sqlite.records import FeedTable, ImportsTable, PartsTable, RepliesTable
from engramdb.store.sqlite.repair import remake_tables
from engramdb.store.sqlite.reserve import make_reserve, release_reserve
from engramdb.store.sqlite.rows import from_microseconds
from engramdb.store.sqlite.terms import TermsTable, TurnTermsTable
from engramdb.store.sqlite.turns import BoxesTable, DreamReadsTable, HandedOutTable, TurnsTable
from engramdb.store.sqlite.vectors import SnapshotsTable, VectorsTable
from engramdb.store.sqlite.working_memory import AttentionTable
from engramdb.values import Act, Action, Actor, Check, MemoryId, new_id


class Tables:
    """Every table over one connection: what a transaction hands out."""

    def __init__(
        self, connection: apsw.Connection, group: Act | None = None, *, is_snapshot: bool = False
    ) -> None:
        self.connection = connection
        self.is_snapshot = is_snapshot
        self.acts = ActsTable(connection, group)
        self.memories = MemoriesTable(connection, is_snapshot=is_snapshot)
        self.turns = TurnsTable(connection)
        self.terms = TermsTable(connection)
        self.turn_terms = TurnTermsTable(connection)
        self.vectors = VectorsTable(connection, is_snapshot=is_snapshot)
        self.history = HistoryTable(connection, self.acts)
        self.audit = AuditTable(connection)
        self.edges = EdgesTable(connection, self.acts)
        self.entities = EntitiesTable(connection)
        self.scopes = ScopesTable(connection)
        self.boxes = BoxesTable(connection)
        self.handed_out = HandedOutTable(connection)
        self.candidates = CandidatesTable(connection)
        self.feedback = FeedbackTable(connection)
        self.snapshots = SnapshotsTable(connection)
        self.ages = AgesTable(connection)
        self.sweeps = SweepsTable(connection)
        self.traits = TraitsTable(connection)
        self.leases = LeasesTable(connection)
        self.dreams = DreamsTable(connection)
        self.gaps = GapsTable(connection, self.acts)
        self.tree = TreeTable(connection)
        self.replays = ReplaysTable(connection)
        self.dream_reads = DreamReadsTable(connection)
        self.attention = AttentionTable(connection)
        self.imports = ImportsTable(connection)
        self.erasures = ErasuresTable(connection)
        self.forgotten = ForgottenTable(connection)
        self.parts = PartsTable(connection)
        self.documents = DocumentsTable(connection)
        self.replies = RepliesTable(connection)
        self.feed = FeedTable(connection)
        self.files = FilesTable(connection)


# One file as a store: a line of writers, a pool of readers, all tables in one transaction.
#
# OpenFile by the engine. Several threads share one store and several processes share one file. A write is
# durable when `atomic` returns; a killed process leaves either all of it or none.

MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.001, 0.05
"""Between two writes in the background others get as long as the first took, within these bounds: the line is
fair to threads of this process only, and another process looks every few milliseconds."""


class SqliteStore:
    """A file of memories."""

    def __init__(
        self,
        path: Path,
        *,
        opener: Opener,
        opened: OpenFile,
        line: WriteQueue,
        checkpointer: Checkpointer,
    ) -> None:
        self._path = path
        self._opener = opener
        self._connect = opener.connect
        self._line = line
        self._checkpointer = checkpointer
        self._writing = threading.local()
        self._process = os.getpid()
        self._is_closed = False
        self._use(opened)

    def _use(self, opened: OpenFile) -> None:
        """Read and write with these connections from now on."""
        self._opened = opened
        self._readers = opened.readers
        self._writer = opened.writer
        if opened.writer is not None:
            self._checkpointer.watch(opened.writer)

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
        keeps_reserve: bool = True,
    ) -> SqliteStore:
        """Open the file, made and brought up to date if need be."""
        opener = Opener(
            Path(location).expanduser().absolute(),  # readers open later, maybe from another folder
            location=location,
            key=key,
            is_durable=is_durable,
            readers=readers,
            busy_timeout_seconds=busy_timeout_seconds,
            now=now,
            keeps_reserve=keeps_reserve,
        )
        return cls(
            opener.path,
            opener=opener,
            opened=opener.open(),
            line=WriteQueue(max_waiting=max_waiting_writers, timeout_seconds=busy_timeout_seconds),
            checkpointer=Checkpointer(partial(opener.connect, opener.path)),
        )

    @property
    def unwritable(self) -> StorageError | None:
        """Why the store can be read and not written now, if so."""
        return self._opened.reason

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
            with outer.acts.kept_on_success(), outer.connection:  # a savepoint inside the open transaction
                yield outer
            return
        self._pause_if_background()
        with self._turn() as writer:
            begun = time.monotonic()
            tables = self._writing.tables = Tables(writer, getattr(self._writing, "group", None))
            try:
                with tables.acts.kept_on_success(), _transaction(writer, "BEGIN IMMEDIATE"):
                    yield tables
            finally:
                self._writing.tables = None
                self._writing.last = (begun, time.monotonic())
        self._checkpointer.run_if_due(self._turn)

    @contextmanager
    def background_writes(self) -> Iterator[None]:
        """Let writes of this thread give way to those of others, in this process and in others."""
        before, self._writing.gives_way = self._gives_way, True
        try:
            yield
        finally:
            self._writing.gives_way = before

    @property
    def _gives_way(self) -> bool:
        return getattr(self._writing, "gives_way", False)

    def _pause_if_background(self) -> None:
        """Let others have the store for as long as this thread has had it in its last write."""
        if self._gives_way and hasattr(self._writing, "last"):
            begun, ended = self._writing.last
            pause = min(MAX_PAUSE_SECONDS, max(MIN_PAUSE_SECONDS, ended - begun))
            time.sleep(max(0.0, ended + pause - time.monotonic()))

    @contextmanager
    def one_act(self, action: Action, *, actor: Actor, at: datetime) -> Iterator[None]:
        """Let what this thread writes inside the block be listed and undone as one act. Nests."""
        if getattr(self._writing, "group", None) is not None:
            yield
            return
        self._writing.group = Act(id=new_id(at), at=at, action=action, actor=actor)
        try:
            yield
        finally:
            self._writing.group = None

    @contextmanager
    def read(self) -> Iterator[Tables]:
        """Open a snapshot; inside this thread's own write it shows what the write has done so far."""
        self._check_open()
        own: Tables | None = getattr(self._writing, "tables", None)
        if own is not None:
            yield own
            return
        readers = self._readers
        with translate_errors(self.location):
            connection = readers.take()
            try:
                self._check_open()
                with _transaction(connection, "BEGIN"):
                    yield Tables(connection, is_snapshot=True)
            finally:
                readers.give_back(connection)

    def erasures(self) -> int:
        """Return a number that grows whenever words are erased, by whichever process."""
        own: Tables | None = getattr(self._writing, "tables", None)
        if own is not None:
            return own.files.erasures()
        self._check_open()
        with translate_errors(self.location):
            readers = self._readers
            connection = readers.take()
            try:
                return FilesTable(connection).erasures()
            finally:
                readers.give_back(connection)

    def describe(self) -> dict[str, Any]:
        """Return format version, size and room in bytes, and whether the store is encrypted."""
        files = [self._path, *(self._path.with_name(self._path.name + end) for end in ("-wal", "-shm"))]
        try:
            size = sum(file.stat().st_size for file in files if file.exists())
            free = shutil.disk_usage(self._path.parent).free
        except OSError as exc:
            raise StoreUnreadable(f"{self.location}: {exc.strerror}") from exc
        with self.read() as tx:
            (made_at,) = tx.connection.execute("SELECT min(applied_at) FROM migrations").fetchall()[0]
        return {
            "format_version": FORMAT_VERSION,
            "made_at": from_microseconds(int(str(made_at))),
            "size_bytes": size,
            "disk_free_bytes": free,
            "encrypted": bool(self._opener.key),
        }

    def check(self) -> list[Check]:
        """Look for damage and disagreement between the tables."""
        if self.unwritable is None:
            with self._turn() as writer:
                return list(run_checks(writer))
        with self.read() as tx:
            return list(run_checks(tx.connection, is_writable=False))

    @contextmanager
    def room_for_forgetting(self) -> Iterator[bool]:
        """Give up the room that is kept for this on a full disk, and keep some again afterwards."""
        try:
            yield release_reserve(self._path)
        finally:
            if self._opener.keeps_reserve:
                make_reserve(self._path, room_factor=2)

    def remake(self, tables: Collection[str]) -> None:
        """Put empty tables in the place of derived ones whose pages are damaged."""
        with self._checkpointer.paused(), self._turn() as writer:
            remake_tables(writer, tables)

    def ids_in_copy(self, path: Path) -> frozenset[MemoryId] | None:
        """Return the memories whose words a copy of a store holds; None where it cannot be read."""
        return ids_in_copy(path, key=self._opener.key)

    def back_up(self, path: Path) -> None:
        """
        Write a whole copy, as it is at one moment, to a path where nothing is; others go on meanwhile.

        The copy is read back and compared before it gets its name; what is damaged is not copied.
        """
        with self.read() as tx:
            copy_verified(tx.connection, path.absolute(), self._connect)

    def scrub(self) -> None:
        """Rewrite the file and empty its log; raises where someone still reads what was before."""
        with self._checkpointer.paused(), self._turn() as writer:
            try:
                for table in TEXT_INDEXES:  # keys may hold old words
                    writer.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
                writer.execute("VACUUM")
            except apsw.FullError:  # what was deleted is overwritten in the file; the log can still go
                writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                raise
            if single_value(writer, "PRAGMA wal_checkpoint(TRUNCATE)"):
                raise StoreBusy(f"{self.location} is being read as it was before")

    def close(self) -> None:
        """Wait for the writer and the readers, then let go of the file. Closing twice is harmless."""
        if self._is_closed:
            return
        self._is_closed = True
        if os.getpid() != self._process:
            return  # the connections belong to the process that opened them
        with self._line.turn():
            if self._writer is not None:
                self._writer.close()
        self._checkpointer.close()
        self._readers.close()
        self._opened.close()

    @contextmanager
    def _turn(self) -> Iterator[apsw.Connection]:
        """Lend the writer to one thread at a time; one left at an old snapshot is reopened."""
        with self._line.turn(is_background=self._gives_way), translate_errors(self.location):
            self._check_open()
            if self._opened.reason is not None:
                self._use(self._opener.open_for_writing(self._opened))
                if self._opened.reason is not None:
                    raise self._opened.reason
            assert self._writer is not None  # noqa: S101 - or there were a reason
            if is_held_open(self._writer):
                renewed = self._connect(self._path)
                self._checkpointer.watch(renewed)
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
