"""Connections to one SQLite file: opening, locking, a queue of writers, a pool of readers."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct, field

from engramdb import errors
from engramdb.errors import (
    NotAnEngramStore,
    StoreBusy,
    StoreLocked,
    StoreNotFound,
    StoreReadOnly,
    StoreUnreadable,
    WrongKey,
)

# Which store files this process has open, so that it never opens one of them beside SQLite.

OPENING_LOCK = threading.RLock()
"""Held from the look at a file until it is entered here."""

_open: dict[tuple[int, int], tuple[int, bool]] = {}
"""By device and file number: how often it is open, and whether it is plain."""

_unlocked: set[tuple[int, int]] = set()
"""Those that are read without locks: closing one of these would end the locks that SQLite holds on it."""


def is_unlocked(path: Path) -> bool:
    """Return whether this process reads a file without locks."""
    try:
        return _file_number(path) in _unlocked
    except (OSError, ValueError):  # no such file, or no possible name
        return False


def set_unlocked(number: tuple[int, int], *, unlocked: bool) -> None:
    """Note whether a file is read without locks from now on."""
    (_unlocked.add if unlocked else _unlocked.discard)(number)


def is_opened_once(number: tuple[int, int]) -> bool:
    """Return whether one store only has the file open in this process."""
    return _open[number][0] == 1


def is_plain_file(path: Path) -> bool | None:
    """Return whether a file that this process has open is plain; None where it does not have it open."""
    known = _open.get(_file_number(path))
    return None if known is None else known[1]


def register_open(path: Path, *, plain: bool) -> tuple[int, int]:
    """Note that SQLite has opened a file, and return the number to `leave` with."""
    with OPENING_LOCK:
        number = _file_number(path)
        _open[number] = (_open.get(number, (0, plain))[0] + 1, plain)
        return number


def register_closed(number: tuple[int, int]) -> None:
    """Note that a store has let go of its file."""
    with OPENING_LOCK:
        count, plain = _open.pop(number)
        if count > 1:
            _open[number] = (count - 1, plain)
        else:
            _unlocked.discard(number)


def _file_number(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


# Turn SQLite's complaints into Engram's errors, where they enter.

_ERRORS: tuple[tuple[type[apsw.Error], type[errors.EngramError]], ...] = (
    (apsw.BusyError, errors.StoreBusy),
    (apsw.LockedError, errors.StoreBusy),
    (apsw.FullError, errors.DiskFull),
    (apsw.ReadOnlyError, errors.StoreReadOnly),
    (apsw.PermissionsError, errors.StoreReadOnly),
    (apsw.CorruptError, errors.StoreCorrupt),
    (apsw.NotADBError, errors.NotAnEngramStore),
    (apsw.CantOpenError, errors.StoreUnreadable),
    (apsw.ConnectionClosedError, errors.StoreClosed),
)
_NO_ROOM = (apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP)
"""How SQLite says that the index of the log found no room."""


_TABLES = str(Path(__file__).parent)
_PACKAGE = str(Path(errors.__file__).parent)
NOT_A_VALUE = (ValueError, TypeError, KeyError, OverflowError, msgspec.DecodeError, errors.InvalidScope)
"""What our own values and parsers raise when a column holds what Engram never wrote there."""


@contextmanager
def corrupt_on_error(table: str) -> Iterator[None]:
    """Raise `StoreCorrupt` where a row of the table cannot be made into a value."""
    try:
        yield
    except NOT_A_VALUE as exc:
        raise errors.StoreCorrupt(f"a row of {table} makes no sense: {type(exc).__name__}") from exc


def _comes_from_a_row(exc: BaseException) -> bool:
    """Return whether the last of our own code that an error passed through reads rows, in this package."""
    ours = [name for name in _files_of(exc) if name.startswith(_PACKAGE)]
    return bool(ours) and ours[-1].startswith(_TABLES)


def _files_of(exc: BaseException) -> Iterator[str]:
    step = exc.__traceback__
    while step is not None:
        yield step.tb_frame.f_code.co_filename
        step = step.tb_next


@contextmanager
def translate_errors(location: str) -> Iterator[None]:
    """Raise the matching Engram error for whatever the driver raises inside the block."""
    try:
        yield
    except apsw.Error as exc:
        for theirs, ours in _ERRORS:
            if isinstance(exc, theirs):
                raise ours(f"{location}: {exc}") from exc
        if getattr(exc, "extendedresult", 0) in _NO_ROOM:
            raise errors.DiskFull(f"{location}: {exc}") from exc
        raise errors.StorageError(f"{location}: {type(exc).__name__}: {exc}") from exc
    except UnicodeDecodeError as exc:
        raise errors.StoreCorrupt(f"{location}: a text in it is not UTF-8") from exc
    except UnicodeEncodeError as exc:
        raise errors.InvalidContent(
            "a text holds half a surrogate pair", hint="Decode the text properly first."
        ) from exc
    except (*NOT_A_VALUE, LookupError) as exc:
        if not _comes_from_a_row(exc):
            raise
        raise errors.StoreCorrupt(f"{location}: a row makes no sense: {type(exc).__name__}") from exc


# Let one thread write at a time, in the order they came, and refuse when too many wait.
#
# Work in the background stands in a line of its own: its turn comes when nobody else waits, or when it has
# waited so long that it would never come to an end.

MAX_GIVING_WAY_SECONDS = 1.0
"""After so long in line a write in the background is next, whoever else waits."""


class _Waiting(Struct, frozen=True):
    """One thread in line: how it is called, and since when it waits."""

    called: threading.Event = field(default_factory=threading.Event)
    since: float = field(default_factory=time.monotonic)


class WriteQueue:
    """A lock that is handed on in order of arrival, with a bounded line; the background goes last."""

    def __init__(self, *, max_waiting: int, timeout_seconds: float) -> None:
        self._max_waiting = max_waiting
        self._timeout_seconds = timeout_seconds
        self._guard = threading.Lock()
        self._is_held = False
        self._line: deque[_Waiting] = deque()
        self._background: deque[_Waiting] = deque()

    @contextmanager
    def turn(self, *, is_background: bool = False) -> Iterator[None]:
        """Hold the right to write; raises `StoreBusy` when the line is full or the wait too long."""
        self._enter(self._background if is_background else self._line)
        try:
            yield
        finally:
            self._leave()

    @property
    def waiting(self) -> int:
        """How many threads stand in line."""
        return len(self._line) + len(self._background)

    def _enter(self, line: deque[_Waiting]) -> None:
        with self._guard:
            if not self._is_held:
                self._is_held = True
                return
            if self.waiting >= self._max_waiting:
                raise StoreBusy(f"{self.waiting} writers are waiting already")
            own = _Waiting()
            line.append(own)
        try:
            has_turn = own.called.wait(self._timeout_seconds) or not self._step_out(own, line)
        except BaseException:  # interrupted: no one may be called who is not there
            if not self._step_out(own, line):
                self._leave()
            raise
        if not has_turn:
            raise StoreBusy(f"waited {self._timeout_seconds:g} s for other writers")

    def _step_out(self, own: _Waiting, line: deque[_Waiting]) -> bool:
        """Leave the line; says False where the turn came in the same moment."""
        with self._guard:
            if own.called.is_set():
                return False
            line.remove(own)
            return True

    def _leave(self) -> None:
        with self._guard:
            line = self._background if self._is_background_next() else self._line
            if line:
                line.popleft().called.set()
            else:
                self._is_held = False

    def _is_background_next(self) -> bool:
        if not self._line or not self._background:
            return not self._line
        return time.monotonic() - self._background[0].since > MAX_GIVING_WAY_SECONDS


# Open one SQLite connection the way that Engram needs it.
#
# Deleted bytes are overwritten, foreign keys hold, and a wait for another process is short naps instead of
# SQLite's growing ones, so that several writers take turns. The key goes in raw: stretching a passphrase
# would cost 40 to 200 ms an open.

_MAGIC = b"SQLite format 3\x00"
_PAGE_BYTES = 4096
_CACHE_KIBIBYTES = 16 * 1024
_READER_CACHE_KIBIBYTES = 4 * 1024  # there are several, and the system caches the file once for all
_MAX_NAP_SECONDS = 0.004


def connect(
    path: Path, *, key: bytes, is_durable: bool, busy_timeout_seconds: float, is_reader: bool = False
) -> apsw.Connection:
    """Return a connection to an existing or new file; raises where the file cannot be ours."""
    if not is_reader:  # whose file the writer has looked at, and has open
        check_file(path, key)
    connection = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READWRITE | (0 if is_reader else apsw.SQLITE_OPEN_CREATE)
    )
    try:
        if key:
            connection.pragma("key", f"raw:{key.hex()}")
        connection.set_busy_handler(_busy_handler(busy_timeout_seconds))
        _configure(connection, path, has_key=bool(key), is_reader=is_reader)
        connection.pragma("foreign_keys", "on")
        connection.pragma("secure_delete", "on")
        connection.pragma("synchronous", "full" if is_durable else "normal")
    except BaseException:
        connection.close()
        raise
    return connection


def configure_unlocked(connection: apsw.Connection, path: Path, key: bytes) -> None:
    """Set up a connection that reads without locks, with the index of the log in memory."""
    if key:
        connection.pragma("key", f"raw:{key.hex()}")
    connection.pragma("locking_mode", "exclusive")
    _configure(connection, path, has_key=bool(key), is_reader=True)


def _configure(connection: apsw.Connection, path: Path, *, has_key: bool, is_reader: bool) -> None:
    # One plan for all values: without statistics in the file another would not be better, and making
    # it took thirty times as long as looking a memory up.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    _prove_readable(connection, path, has_key=has_key)
    connection.pragma("cache_size", -(_READER_CACHE_KIBIBYTES if is_reader else _CACHE_KIBIBYTES))
    connection.pragma("temp_store", "memory")
    if is_reader:
        connection.pragma("query_only", "on")


def is_held_open(connection: apsw.Connection) -> bool:
    """
    Return whether a statement is open though no transaction is, which keeps a connection at an old snapshot.

    So a loop over rows leaves it that stopped or raised, for as long as anybody holds on to the error.
    """
    return connection.txn_state() != apsw.SQLITE_TXN_NONE


def single_value(connection: apsw.Connection, sql: str, parameters: Sequence[Any] = ()) -> Any:
    """Return the one value of a query that always has one."""
    return connection.execute(sql, parameters).fetchall()[0][0]


_NOT_A_DATABASE = (
    "Choose another path; the file was not touched. If it was a store, it is damaged: "
    "`engram doctor --salvage NEW` saves what can be read."
)


def check_file(path: Path, key: bytes) -> None:
    """Raise what a look at the file's first bytes can tell, before SQLite touches it."""
    try:
        size, is_plain = _probe_file(path)
    except OSError as exc:
        raise StoreUnreadable(f"{path}: {exc.strerror}") from exc
    if not size:
        return
    if is_plain and key:
        raise WrongKey(f"{path} is not encrypted, but a key was given", hint="Open it without a key.")
    if not is_plain and size % _PAGE_BYTES:
        raise NotAnEngramStore(f"{path} is not a database", hint=_NOT_A_DATABASE)
    if not is_plain and not key:
        raise StoreLocked(f"{path} is encrypted, damaged, or not a database")


def _probe_file(path: Path) -> tuple[int, bool]:
    """Return the file's size, 0 where it is still to be made, and whether it is plain."""
    if "\0" in str(path):
        raise StoreUnreadable(f"the path {str(path)!r} holds a NUL character")
    if path.is_dir():
        raise StoreUnreadable(f"{path} is a folder", hint="Give the path of a file, such as memory.db.")
    if not path.parent.is_dir():
        raise StoreNotFound(f"the folder {path.parent} does not exist", hint="Create it, or check the path.")
    if not path.exists():
        if not os.access(path.parent, os.W_OK):
            raise StoreReadOnly(f"nothing can be written in the folder {path.parent}")
        _make_private(path)
        return 0, True
    if not path.is_file():
        raise StoreUnreadable(f"{path} is not a file")
    known = is_plain_file(path)
    if known is not None:
        return path.stat().st_size, known
    with path.open("rb") as file:
        return path.stat().st_size, file.read(len(_MAGIC)) == _MAGIC


def _make_private(path: Path) -> None:
    """Make the file empty and its owner's alone; SQLite gives the log beside it the same rights."""
    with suppress(FileExistsError):  # another process was faster, and this one must not touch its file
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _prove_readable(connection: apsw.Connection, path: Path, *, has_key: bool) -> None:
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except apsw.NotADBError as exc:
        if has_key:
            raise WrongKey(f"the key does not open {path}") from exc
        raise NotAnEngramStore(f"{path} is not a database") from exc


def _busy_handler(timeout_seconds: float) -> Callable[[int], bool]:
    """Return a busy handler that naps for a few milliseconds at a time until the timeout."""
    started = 0.0

    def nap(attempts: int) -> bool:
        nonlocal started
        if attempts == 0:
            started = time.monotonic()
        if time.monotonic() - started > timeout_seconds:
            return False
        time.sleep(random.uniform(0.0002, _MAX_NAP_SECONDS))  # noqa: S311 - spreads writers, keeps no secret
        return True

    return nap


# The connections that a store reads with: opened as they are needed, a few stay open for the next question.

MAX_READERS = 32
"""Connections at the same time: every one holds files and a cache of its own."""


class Readers:
    """
    Reading connections, lent to one thread at a time.

    With a `stamp` of files that are read without locks, a connection is used until they change, and whoever
    reads while they change is told so.
    """

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        *,
        max_idle: int,
        patience_seconds: float,
        stamp: Callable[[], object] = lambda: None,
    ) -> None:
        self._connect = connect
        self._stamp = stamp
        self._stamps: dict[int, object] = {}
        self._max_idle = max_idle
        self._patience_seconds = patience_seconds
        self._free: list[apsw.Connection] = []
        self._lent = 0
        self._changed = threading.Condition()

    def take(self) -> apsw.Connection:
        """Return a connection for this thread; waits where too many are in use."""
        now = self._stamp()
        with self._changed:
            if not self._changed.wait_for(lambda: self._lent < MAX_READERS, self._patience_seconds):
                raise StoreBusy(f"{MAX_READERS} readers are busy", hint="Ask from fewer threads at once.")
            self._lent += 1
            while self._free:
                connection = self._free.pop()
                if self._stamps[id(connection)] == now:
                    return connection
                self._close(connection)
        try:
            connection = self._connect()
        except BaseException:
            self._mark_returned()
            raise
        self._stamps[id(connection)] = now
        return connection

    def give_back(self, connection: apsw.Connection) -> None:
        """Take a connection back; one above `max_idle` is closed, and so is one left at an old snapshot."""
        is_unchanged = self._stamps[id(connection)] == self._stamp()
        is_current = is_unchanged and not is_held_open(connection)
        with self._changed:
            stays_open = is_current and len(self._free) < self._max_idle
            if stays_open:
                self._free.append(connection)
        if not stays_open:
            self._close(connection)
        self._mark_returned()
        if not is_unchanged:
            raise StoreBusy("another process changed the store while it was read without locks")

    def close(self, *, patience_seconds: float | None = None) -> bool:
        """Wait for those that are lent, and close all; return whether all came back in time."""
        with self._changed:
            is_idle = self._changed.wait_for(lambda: not self._lent, patience_seconds)
            while self._free:
                self._close(self._free.pop())
        return is_idle

    def _close(self, connection: apsw.Connection) -> None:
        del self._stamps[id(connection)]
        connection.close()

    def _mark_returned(self) -> None:
        with self._changed:
            self._lent -= 1
            self._changed.notify()
            if not self._lent:
                self._changed.notify_all()
