"""One SQLite file as a store: every table in one transaction, checks and copies."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from engramdb.errors import (
    InvalidContent,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreNotFound,
    StoreUnreadable,
)
from engramdb.store.sqlite import connection as opened
from engramdb.store.sqlite.acts import ActsTable
from engramdb.store.sqlite.aging import AgesTable, SweepsTable
from engramdb.store.sqlite.checkpoints import Checkpointer
from engramdb.store.sqlite.connection import (
    Readers,
    WriteQueue,
    connect,
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
from engramdb.store.sqlite.memories import AuditTable, CandidatesTable, HistoryTable, MemoriesTable
from engramdb.store.sqlite.migrations import FORMAT_VERSION, migrate, version_of
from engramdb.store.sqlite.records import FeedTable, ImportsTable, PartsTable, RepliesTable
from engramdb.store.sqlite.rows import INDEXED_STATUSES, SELECTED, from_row
from engramdb.store.sqlite.terms import TermsTable, TurnTermsTable
from engramdb.store.sqlite.turns import BoxesTable, DreamReadsTable, HandedOutTable, TurnsTable
from engramdb.store.sqlite.vectors import SnapshotsTable, VectorsTable
from engramdb.store.sqlite.working_memory import AttentionTable
from engramdb.text.identity import fingerprint_of
from engramdb.text.normalize import counted
from engramdb.values import Act, Action, Actor, Check, Status, new_id

# Look for damage in a file, and for tables that disagree.
#
# The first three checks are about canonical data and cannot be repaired here; the others are about derived
# data, which `doctor --fix` rebuilds.

_UNINDEXED = (
    "SELECT count(*) FROM memories m WHERE m.status IN (SELECT value FROM json_each(?)) "
    "AND NOT EXISTS (SELECT 1 FROM terms_docsize d WHERE d.id = m.key)"
)
_STRAY = (
    "SELECT count(*) FROM terms_docsize d LEFT JOIN memories m ON m.key = d.id "
    "WHERE m.key IS NULL OR m.status NOT IN (SELECT value FROM json_each(?))"
)
_STRAY_VECTORS = (
    "SELECT count(*) FROM vectors v LEFT JOIN memories m ON m.key = v.memory "
    "WHERE m.key IS NULL OR m.status NOT IN (SELECT value FROM json_each(?))"
)


_BROKEN_VECTORS = (
    "SELECT count(*) FROM vectors v JOIN spaces s ON s.id = v.space JOIN memories m ON m.key = v.memory "
    "WHERE m.status IN (SELECT value FROM json_each(?)) "
    "AND (length(v.vector) NOT IN (s.dimension + 4, 4 * s.dimension, (s.dimension + 1) / 2 + 4, "
    "(s.dimension + 3) / 4 + 4, (s.dimension + 7) / 8 + 4) "
    "OR hex(substr(v.vector, 4, 1)) IN ('7F', 'FF'))"  # its scale, or first number, is endless or none
)
_MEMORIES = f"SELECT {SELECTED}, m.fingerprint FROM memories m JOIN scopes s ON s.id = m.scope"


_UNINDEXED_TURNS = (
    "SELECT count(*) FROM turns t WHERE NOT EXISTS (SELECT 1 FROM turn_terms_docsize d WHERE d.id = t.key)"
)
_UNLINKED_TURNS = (
    "SELECT count(*) FROM (SELECT turn, memory FROM turns_read EXCEPT SELECT turn, memory FROM memory_turns)"
)
_MISCOUNTED = (
    "WITH indexed AS (SELECT m.scope, count(*) AS memories FROM terms_docsize d "
    "JOIN memories m ON m.key = d.id WHERE m.status IN (SELECT value FROM json_each(?)) GROUP BY m.scope), "
    "counted AS (SELECT scope, memories FROM scope_terms WHERE term = '') "
    "SELECT coalesce(sum(abs(coalesce(i.memories, 0) - coalesce(c.memories, 0))), 0) "
    "FROM indexed i FULL JOIN counted c ON c.scope = i.scope"
)
_TEXT_INDEXES = {"terms": "text index", "turn_terms": "turn index"}
"""The FTS5 tables, and what their checks are called."""
_ORPHAN_WORDS = ("row refers to nothing", "rows refer to nothing")
_AGREEMENTS = (
    ("text index complete", _UNINDEXED, "missing from it", "every memory is in it"),
    ("text index free of the forgotten", _STRAY, "still in it", "what was forgotten is not in it"),
    ("text index counted", _MISCOUNTED, "counted wrongly", "every scope counts its own words"),
    ("vectors free of the forgotten", _STRAY_VECTORS, "still there", "what was forgotten has none"),
    ("vectors whole", _BROKEN_VECTORS, "stored with a broken one", "none is damaged"),
)
"""What is counted, what it means where there are some, and where there are none."""
_TURN_AGREEMENTS = (
    ("turn index complete", _UNINDEXED_TURNS, "missing from it", "every turn is in it"),
    (
        "turns linked",
        _UNLINKED_TURNS,
        "not linked to what was read out of them",
        "each is linked to what it left",
    ),
)
"""The same of turns."""


def run_checks(connection: apsw.Connection) -> Iterator[Check]:
    """Yield one result per thing looked at; stops early where the file itself is damaged."""
    found = [text for (text,) in connection.execute("PRAGMA integrity_check(5)") if text != "ok"]
    # `_text_index` speaks for the text index, which can be made again.
    damage = [text for text in found if "fts5" not in text.lower()]
    yield Check(name="file", ok=not damage, found="; ".join(damage) or "every page and index adds up")
    if damage:
        return
    orphans = len(connection.execute("PRAGMA foreign_key_check").fetchall())
    yield _expect_none(
        "references", orphans, counted(orphans, *_ORPHAN_WORDS), "nothing refers to what is not there"
    )
    changed = sum(not _is_intact(row) for row in connection.execute(_MEMORIES))
    told = counted(changed, "memory was", "memories were")
    yield _expect_none("memories", changed, f"{told} changed from outside", "each is as it was stored")
    for table, name in _TEXT_INDEXES.items():
        yield _check_text_index(connection, table, name)
    for name, sql, wrong, right in _AGREEMENTS:
        number: int = single_value(connection, sql, (INDEXED_STATUSES,))
        yield _expect_none(name, number, f"{counted(number, 'memory is', 'memories are')} {wrong}", right)
    for name, sql, wrong, right in _TURN_AGREEMENTS:
        number = single_value(connection, sql)
        yield _expect_none(name, number, f"{counted(number, 'turn is', 'turns are')} {wrong}", right)


def _expect_none(name: str, number: int, wrong: str, right: str) -> Check:
    """Return the check of something of which there should be none."""
    return Check(name=name, ok=not number, found=wrong if number else right)


def _is_intact(row: Sequence[Any]) -> bool:
    """Return whether a memory can be read and is still the statement that it was stored as."""
    try:
        memory = from_row(row)
    except StoreCorrupt:
        return False
    is_gone = memory.status is Status.ERASED
    return is_gone or fingerprint_of(memory) == row[-1]


def _check_text_index(connection: apsw.Connection, table: str, name: str) -> Check:
    """Let FTS5 compare an index with the terms that it was given."""
    try:
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 0)")
    except apsw.CorruptError as exc:
        return Check(name=name, ok=False, found=str(exc))
    return Check(name=name, ok=True, found="every word leads to where it stands")


# Copy a store that is in use: all of it, as it is at one moment.


def copy_to(target: Path, source: apsw.Connection, connect: Callable[[Path], apsw.Connection]) -> None:
    """Write what the source shows to a file that is not there yet."""
    if os.path.lexists(target):
        raise InvalidContent("there is something at that path already", hint="Choose another.")
    if not target.parent.is_dir():
        raise StoreNotFound(
            f"the folder {target.parent} does not exist", hint="Create it, or check the path."
        )
    unfinished = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
    try:
        _copy(unfinished, source, connect)
        unfinished.replace(target)
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            unfinished.with_name(unfinished.name + ending).unlink(missing_ok=True)


def _copy(target: Path, source: apsw.Connection, connect: Callable[[Path], apsw.Connection]) -> None:
    copy = connect(target)
    try:
        with copy.backup("main", source, "main") as work:
            while not work.done:
                work.step()
    finally:
        copy.close()


class Tables:
    """Every table over one connection: what a transaction hands out."""

    def __init__(
        self, connection: apsw.Connection, group: Act | None = None, *, is_snapshot: bool = False
    ) -> None:
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
# Opened by the engine. Several threads share one store and several processes share one file. A write is
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
        writer: apsw.Connection,
        connect: Callable[[Path], apsw.Connection],
        readers: Readers,
        line: WriteQueue,
        checkpointer: Checkpointer,
        number: tuple[int, int],
        is_encrypted: bool,
    ) -> None:
        self._path = path
        self._number = number
        self._is_encrypted = is_encrypted
        self._writer = writer
        self._connect = connect
        self._line = line
        self._checkpointer = checkpointer
        self._writing = threading.local()
        self._readers = readers
        self._process = os.getpid()
        self._is_closed = False
        checkpointer.watch(writer)

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
        with translate_errors(location):
            with opened.OPENING_LOCK:
                writer = connect_one(path)
                number = opened.register_open(path, plain=not key)
            try:
                _prepare_file(writer, location, now=now, patience_seconds=busy_timeout_seconds)
            except BaseException:
                writer.close()
                opened.register_closed(number)
                raise
        pool = Readers(
            partial(connect_one, path, is_reader=True),
            max_idle=readers,
            patience_seconds=busy_timeout_seconds,
        )
        return cls(
            path,
            writer=writer,
            connect=connect_one,
            readers=pool,
            line=line,
            checkpointer=Checkpointer(partial(connect_one, path)),
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
            with outer.acts.kept_on_success(), self._writer:  # a savepoint inside the open transaction
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
        with translate_errors(self.location):
            connection = self._readers.take()
            try:
                self._check_open()
                with _transaction(connection, "BEGIN"):
                    yield Tables(connection, is_snapshot=True)
            finally:
                self._readers.give_back(connection)

    def erasures(self) -> int:
        """Return a number that grows whenever words are erased, by whichever process."""
        own: Tables | None = getattr(self._writing, "tables", None)
        if own is not None:
            return own.files.erasures()
        self._check_open()
        with translate_errors(self.location):
            connection = self._readers.take()
            try:
                return FilesTable(connection).erasures()
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
        with self._turn() as writer:
            return list(run_checks(writer))

    def back_up(self, path: Path) -> None:
        """Write a whole copy, as it is at one moment, to a path where nothing is; others go on meanwhile."""
        self._check_open()
        with translate_errors(self.location):
            source = self._readers.take()
            try:
                copy_to(path.absolute(), source, self._connect)
            finally:
                self._readers.give_back(source)

    def scrub(self) -> None:
        """Rewrite the file and empty its log; raises where someone still reads what was before."""
        with self._checkpointer.paused(), self._turn() as writer:
            for table in _TEXT_INDEXES:
                writer.execute(
                    f"INSERT INTO {table} ({table}) VALUES ('optimize')"
                )  # keys may hold old words
            writer.execute("VACUUM")
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
            self._writer.close()
        self._checkpointer.close()
        self._readers.close()
        opened.register_closed(self._number)

    @contextmanager
    def _turn(self) -> Iterator[apsw.Connection]:
        """Lend the writer to one thread at a time; one left at an old snapshot is reopened."""
        with self._line.turn(is_background=self._gives_way), translate_errors(self.location):
            self._check_open()
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


def _prepare_file(writer: apsw.Connection, location: str, *, now: datetime, patience_seconds: float) -> None:
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
