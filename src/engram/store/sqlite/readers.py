"""
The connections that a store reads with: opened as they are needed, a few kept open for the next question.

Used by `SqliteStore` alone. A thread that finds none free opens one more, so that threads do not wait for
each other, up to a number at which they take turns.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from engram.errors import StoreBusy
from engram.store.sqlite.connection import is_held_open

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

MOST = 32
"""Connections at the same time: every one holds files and a cache of its own."""


class Readers:
    """Reading connections, lent to one thread at a time."""

    def __init__(self, connect: Callable[[], apsw.Connection], *, kept: int, patience_seconds: float) -> None:
        self._connect = connect
        self._kept = kept
        self._patience_seconds = patience_seconds
        self._free: list[apsw.Connection] = []
        self._lent = 0
        self._changed = threading.Condition()

    def take(self) -> apsw.Connection:
        """Return a connection for this thread; waits where too many are in use."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._lent < MOST, self._patience_seconds):
                raise StoreBusy(f"{MOST} readers are busy", hint="Ask from fewer threads at once.")
            self._lent += 1
            if self._free:
                return self._free.pop()
        try:
            return self._connect()
        except BaseException:
            self._returned()
            raise

    def give_back(self, connection: apsw.Connection) -> None:
        """Take a connection back; one more than are kept is closed, and so is one that stayed in the past."""
        is_current = not is_held_open(connection)
        with self._changed:
            is_kept = is_current and len(self._free) < self._kept
            if is_kept:
                self._free.append(connection)
        if not is_kept:
            connection.close()
        self._returned()

    def close(self) -> None:
        """Wait for those that are lent, and close all."""
        with self._changed:
            self._changed.wait_for(lambda: not self._lent)
            free, self._free = self._free, []
        for connection in free:
            connection.close()

    def _returned(self) -> None:
        with self._changed:
            self._lent -= 1
            self._changed.notify()
            if not self._lent:
                self._changed.notify_all()
