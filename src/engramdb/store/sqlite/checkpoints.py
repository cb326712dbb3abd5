"""
Move what the write-ahead log holds into the file, beside the writers instead of inside their turns.

SQLite would do it within the commit that finds the log long. While readers overlap, the log never comes to
its end, so every later commit would look through all of it once more while others stand in line; and the log
would grow for as long as somebody reads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import apsw

from engramdb.errors import StorageError

CHECKPOINT_PAGES = 1000
"""Pages in the log after which it is copied into the file, as SQLite itself does it."""
RESTART_PAGES = 8192
"""Pages, 32 MB, after which writers wait until the log can begin anew."""
MAX_RESTART_SECONDS = 0.1
"""How long they wait for readers of the old pages; after another thousand pages it is tried again."""
_NAP_SECONDS = 0.002


class Checkpointer:
    """Empties the log of one store; whoever finds it long after a write does so, one thread at a time."""

    def __init__(self, connect: Callable[[], apsw.Connection]) -> None:
        self._connect = connect
        self._connection: apsw.Connection | None = None
        self._guard = threading.Lock()
        self._pages = 0
        self._due_at = CHECKPOINT_PAGES

    def watch(self, writer: apsw.Connection) -> None:
        """Note how long the log is after each commit of a connection, in place of SQLite's own emptying."""
        writer.set_wal_hook(self._note_pages)

    def run_if_due(self, turn: Callable[[], AbstractContextManager[object]]) -> None:
        """Copy the log into the file where it is long; with a `turn`, let it begin anew where it is huge."""
        if self._pages < self._due_at or not self._guard.acquire(blocking=False):
            return
        try:
            self._due_at = self._pages + CHECKPOINT_PAGES
            if self._connection is None:
                self._connection = self._connect()
            self._connection.set_busy_handler(None)
            self._connection.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_PASSIVE)
            if self._pages >= RESTART_PAGES:
                with turn():
                    self._restart(self._connection)
        except (apsw.Error, StorageError):
            pass  # what was acknowledged stands in the log; after the next thousand pages it is tried again
        finally:
            self._guard.release()

    def paused(self) -> AbstractContextManager[object]:
        """Let no thread of this process empty the log while the block runs; take it before a turn."""
        return self._guard

    def close(self) -> None:
        """Let go of the file."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _restart(self, connection: apsw.Connection) -> None:
        """Wait for those who read old pages, so that the next write begins at the start of the log."""
        deadline = time.monotonic() + MAX_RESTART_SECONDS

        def nap(_attempts: int) -> bool:
            time.sleep(_NAP_SECONDS)
            return time.monotonic() < deadline

        connection.set_busy_handler(nap)
        connection.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_RESTART)

    def _note_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:  # it has begun anew
            self._due_at = CHECKPOINT_PAGES
        self._pages = pages
        return apsw.SQLITE_OK
