"""
Let one thread write at a time, in the order they came, and refuse when too many wait.

Used by the store in front of its one writing connection. SQLite's own lock is not fair between
threads and has no limit on who waits; this has both, so a burst is slowed down and never lost.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engram.errors import StoreBusy

if TYPE_CHECKING:
    from collections.abc import Iterator


class WriteQueue:
    """A lock that is handed on in order of arrival, with a bounded line."""

    def __init__(self, *, max_waiting: int, timeout_seconds: float) -> None:
        self._max_waiting = max_waiting
        self._timeout_seconds = timeout_seconds
        self._guard = threading.Lock()
        self._is_held = False
        self._line: deque[threading.Event] = deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the right to write; raises `StoreBusy` when the line is full or the wait too long."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    @property
    def waiting(self) -> int:
        """How many threads stand in line."""
        return len(self._line)

    def _enter(self) -> None:
        with self._guard:
            if not self._is_held:
                self._is_held = True
                return
            if len(self._line) >= self._max_waiting:
                raise StoreBusy(f"{len(self._line)} writers are waiting already")
            called = threading.Event()
            self._line.append(called)
        try:
            has_turn = called.wait(self._timeout_seconds) or not self._step_out(called)
        except BaseException:  # interrupted: nobody may be called who is not there
            if not self._step_out(called):
                self._leave()
            raise
        if not has_turn:
            raise StoreBusy(f"waited {self._timeout_seconds:g} s for other writers")

    def _step_out(self, called: threading.Event) -> bool:
        """Leave the line; says False where the turn came in the same moment."""
        with self._guard:
            if called.is_set():
                return False
            self._line.remove(called)
            return True

    def _leave(self) -> None:
        with self._guard:
            if self._line:
                self._line.popleft().set()
            else:
                self._is_held = False
