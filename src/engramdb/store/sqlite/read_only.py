"""
Read a file that cannot be written: on a full disk, a read-only mount, or without permission to write.

SQLite keeps an index of the write-ahead log in a file beside the store. Where that file cannot be made or
extended, the index is built in memory instead, from the log, so that everything acknowledged is read. Nothing
is locked then: the files are watched, and an answer during which they changed is refused. A file whose layout
is old, or that stopped in the middle of a rollback, is read from a private copy.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from engramdb.errors import DiskFull, StorageError, StoreReadOnly

LOG_INDEX_BYTES = 32 * 1024
"""What SQLite allots at a time to the index of the log, the file that ends in -shm."""
MIN_ROOM_BYTES = 2 * LOG_INDEX_BYTES
"""With less room, an index of the log that is missing or has holes is not made on the disk: a page of it that
cannot be backed would end the process (SIGBUS)."""
_WITHOUT_LOCKS = "multipleciphers-unix-none"
"""The way to open a file that takes no locks, with or without encryption."""
_UNWRITABLE = (apsw.FullError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.IOError)
ENDINGS = ("", "-wal", "-shm", "-journal")
"""The files that SQLite keeps for one store."""
_LOG_INDEX = "-shm"
_PREFIX = "engram-read-"

Configure = Callable[[apsw.Connection], None]
Stamp = tuple[tuple[int, int, int] | None, ...]


def free_bytes(path: Path) -> int:
    """Return the room on the disk of a file."""
    return shutil.disk_usage(path.parent).free


def beside(path: Path, ending: str) -> Path:
    """Return the path of a file that lies beside the store."""
    return path.with_name(path.name + ending)


def quoted_uri(path: Path) -> str:
    """Return how SQLite is told to read a file, and its log if there is one, without locks."""
    how = f"vfs={_WITHOUT_LOCKS}" if _size(beside(path, "-wal")) else "immutable=1"
    return f"file:{quote(str(path))}?mode=ro&{how}"


def is_too_full(path: Path) -> bool:
    """Return whether the index of the log could not be backed by the disk."""
    if _size(path) == 0 or free_bytes(path) >= MIN_ROOM_BYTES:
        return False
    try:
        index = beside(path, _LOG_INDEX).stat()
    except OSError:
        return True
    return index.st_size < LOG_INDEX_BYTES or index.st_blocks * 512 < index.st_size


def why_unwritable(path: Path, cause: Exception) -> StorageError | None:
    """Return why a file may only be read, where the cause says so and there is something to read."""
    if isinstance(cause, DiskFull | StoreReadOnly):
        return cause
    if not isinstance(cause, _UNWRITABLE) or _size(path) == 0:
        return None
    if isinstance(cause, apsw.FullError) or free_bytes(path) < MIN_ROOM_BYTES:
        return full(path)
    return StoreReadOnly(f"{path} can be read and not written")


def full(path: Path) -> DiskFull:
    """Return the error that names a disk without room."""
    return DiskFull(f"{path}: the disk is full, so the store can be read and not written")


def is_writable_again(path: Path, reason: StorageError) -> bool:
    """Return whether it is worth trying to open a file for writing that could only be read."""
    if isinstance(reason, DiskFull):
        return not is_too_full(path)
    is_mounted_read_only = bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    return not is_mounted_read_only and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


class ReadOnlyFile:
    """A file that is read without a lock and without writing a byte."""

    def __init__(self, path: Path, reason: StorageError, configure: Configure) -> None:
        self.reason: Final = reason
        self._path = path
        self._configure = configure
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._lock: int | None = None

    def connect(self) -> apsw.Connection:
        """Return a connection that shows what the file and its log hold now."""
        path = self._path if self._copy is None else Path(self._copy.name) / self._path.name
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(quoted_uri(path), flags=flags)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def has_hot_journal(self) -> bool:
        """Whether a write stopped before it was rolled back, which reading in place would not notice."""
        return _size(beside(self._path, "-journal")) > 0

    def read_copy(self, prepare: Callable[[Path], None]) -> None:
        """Read from a private copy from now on, after it was prepared."""
        sweep_copies()
        self._copy, self._lock = _copy_with_log(self._path)
        prepare(Path(self._copy.name) / self._path.name)

    def stamp(self) -> Stamp:
        """Return what changes whenever another process writes."""
        return tuple(_stamp(beside(self._path, ending)) for ending in ("", "-wal"))

    def close(self) -> None:
        """Remove the private copy, if there is one."""
        if self._copy is not None:
            self._copy.cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep_copies() -> int:
    """Remove the private copies of processes that were killed, and return how many there were."""
    swept = 0
    for parent in _copy_parents():
        for folder in Path(parent).glob(f"{_PREFIX}*"):
            with suppress(OSError):
                if not any(folder.iterdir()):  # its process has not locked it yet
                    continue
                lock = lock_folder(folder)
                if lock is not None:  # nobody reads it
                    shutil.rmtree(folder, ignore_errors=True)
                    os.close(lock)
                    swept += 1
    return swept


def lock_folder(folder: Path) -> int | None:
    """
    Hold a folder until the handle is closed; None where the system has no locks.

    Raises `BlockingIOError` where somebody else holds it.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return None
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        os.close(handle)
        if isinstance(exc, BlockingIOError):
            raise
        return None
    return handle


def _copy_parents() -> tuple[str, str]:
    """Return the folders for private copies: the temporary one, or memory."""
    return tempfile.gettempdir(), "/dev/shm"  # noqa: S108 - the folder made there is private


def _copy_with_log(path: Path) -> tuple[tempfile.TemporaryDirectory[str], int | None]:
    """Copy the file and its log to a folder with room, which is locked before anything is in it."""
    needed = 2 * sum(_size(beside(path, ending)) for ending in ENDINGS)
    for parent in _copy_parents():
        with suppress(OSError):
            if shutil.disk_usage(parent).free < needed:
                continue
            folder = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent, ignore_cleanup_errors=True)
            lock = lock_folder(Path(folder.name))
            try:
                _copy_files(path, Path(folder.name))
            except BaseException:
                if lock is not None:
                    os.close(lock)
                raise
            return folder, lock
    raise full(path)


def _copy_files(path: Path, folder: Path) -> None:
    for ending in ENDINGS:
        if ending != _LOG_INDEX and beside(path, ending).exists():
            shutil.copyfile(beside(path, ending), folder / (path.name + ending))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):  # no such file, or no possible name
        return 0


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
