"""
Open one SQLite connection the way that Engram needs it.

Called by the store for its writer and for each reader. Deleted bytes are overwritten, foreign keys
hold, and a wait for another process is short naps instead of SQLite's growing ones, so that several
writers take turns. The key goes in raw: stretching a passphrase would cost 40 to 200 ms an open.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import apsw

from engram.errors import (
    NotAnEngramStore,
    StoreLocked,
    StoreNotFound,
    StoreReadOnly,
    StoreUnreadable,
    WrongKey,
)
from engram.store.sqlite import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

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
        _check_file(path, key)
    connection = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READWRITE | (0 if is_reader else apsw.SQLITE_OPEN_CREATE)
    )
    try:
        if key:
            connection.pragma("key", f"raw:{key.hex()}")
        connection.set_busy_handler(_patience(busy_timeout_seconds))
        # One plan for all values: without statistics in the file another would not be better, and making
        # it took thirty times as long as looking a memory up.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        _prove_readable(connection, path, has_key=bool(key))
        connection.pragma("foreign_keys", "on")
        connection.pragma("secure_delete", "on")
        connection.pragma("synchronous", "full" if is_durable else "normal")
        connection.pragma("cache_size", -(_READER_CACHE_KIBIBYTES if is_reader else _CACHE_KIBIBYTES))
        connection.pragma("temp_store", "memory")
        if is_reader:
            connection.pragma("query_only", "on")
    except BaseException:
        connection.close()
        raise
    return connection


def is_held_open(connection: apsw.Connection) -> bool:
    """
    Say whether a statement is open though no transaction is, which keeps a connection at an old snapshot.

    So a loop over rows leaves it that stopped or raised, for as long as anybody holds on to the error.
    """
    return connection.txn_state() != apsw.SQLITE_TXN_NONE


def only(connection: apsw.Connection, sql: str, parameters: Sequence[Any] = ()) -> Any:
    """Return the one value of a query that always has one."""
    return connection.execute(sql, parameters).fetchall()[0][0]


def _check_file(path: Path, key: bytes) -> None:
    """Raise what a look at the file's first bytes can tell, before SQLite touches it."""
    try:
        size, is_plain = _look_at(path)
    except OSError as exc:
        raise StoreUnreadable(f"{path}: {exc.strerror}") from exc
    if not size:
        return
    if is_plain and key:
        raise WrongKey(f"{path} is not encrypted, but a key was given", hint="Open it without a key.")
    if not is_plain and size % _PAGE_BYTES:
        raise NotAnEngramStore(f"{path} is not a database")
    if not is_plain and not key:
        raise StoreLocked(f"{path} is encrypted, or not a database")


def _look_at(path: Path) -> tuple[int, bool]:
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
    known = opened.is_plain(path)
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


def _patience(timeout_seconds: float) -> Callable[[int], bool]:
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
