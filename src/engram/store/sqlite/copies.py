"""
Copy a store that is in use: all of it, as it is at one moment.

Called by `SqliteStore.back_up`. SQLite copies page by page inside one snapshot, so others go on reading and
writing. The copy has the key of its original, is its owner's alone, and stands under its name only when it is
whole and on the disk.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from engram.errors import InvalidContent, StoreNotFound

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import apsw


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
