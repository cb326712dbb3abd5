"""
Which store files this process has open, so that it never opens one of them beside SQLite.

Used by `connection` and `SqliteStore`. Closing any descriptor of a file drops every lock that the process has
on it (POSIX); another program would then believe that nobody uses the file, and take the log with the newest
changes away. So a file is looked at only while this process does not have it open.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LOOKING = threading.RLock()
"""Held from the look at a file until it is entered here."""

_open: dict[tuple[int, int], tuple[int, bool]] = {}
"""By device and file number: how often it is open, and whether it is plain."""


def is_plain(path: Path) -> bool | None:
    """Return whether a file that this process has open is plain; None where it does not have it open."""
    known = _open.get(_number(path))
    return None if known is None else known[1]


def enter(path: Path, *, plain: bool) -> tuple[int, int]:
    """Note that SQLite has opened a file, and return the number to `leave` with."""
    with LOOKING:
        number = _number(path)
        _open[number] = (_open.get(number, (0, plain))[0] + 1, plain)
        return number


def leave(number: tuple[int, int]) -> None:
    """Note that a store has let go of its file."""
    with LOOKING:
        count, plain = _open.pop(number)
        if count > 1:
            _open[number] = (count - 1, plain)


def _number(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
