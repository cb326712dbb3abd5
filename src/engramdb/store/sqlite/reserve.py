"""
A little room that is kept free for forgetting: a file beside the store, given up on a full disk.

Forgetting, erasing and aging write before they free anything, through the log. Measured with 12 and
with 2,000 memories: forgetting one takes 103 and 173 kB of log, erasing one 111 and 157 kB before the
file is rewritten, and the index of the log 32 kB. Rewriting takes as much as the store; `erase` says where
that did not fit.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from engramdb.store.sqlite.read_only import beside, free_bytes

RESERVE_BYTES = 1024 * 1024
"""How much is kept free."""
MIN_RESERVE_BYTES = 256 * 1024
"""Less would not serve."""
ROOM_FACTOR = 8
"""A reserve is first made where so many times its size are free."""
ENDING = "-reserve"
_PIECE_BYTES = 64 * 1024


def make_reserve(path: Path, *, room_factor: int = ROOM_FACTOR) -> None:
    """Set room aside where there is enough of it and none is set aside."""
    reserve = beside(path, ENDING)
    with suppress(OSError):
        if reserve.exists():
            return
        size = min(RESERVE_BYTES, free_bytes(path) // room_factor)
        if size >= MIN_RESERVE_BYTES:
            _allocate(reserve, size)


def release_reserve(path: Path) -> bool:
    """Give up the room that was set aside; return whether there was any."""
    try:
        beside(path, ENDING).unlink()
    except OSError:
        return False
    return True


def _allocate(path: Path, size: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _fill(handle, size)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def _fill(handle: int, size: int) -> None:
    """Set the room aside; where the system or the disk has no call for it, zeros take it up."""
    if allocate := getattr(os, "posix_fallocate", None):
        try:
            allocate(handle, 0, size)
            return
        except OSError as exc:
            if exc.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise
    while size > 0:
        size -= os.write(handle, bytes(min(size, _PIECE_BYTES)))
