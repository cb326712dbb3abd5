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
        if not called.wait(self._timeout_seconds):
            self._give_up(called)

    def _give_up(self, called: threading.Event) -> None:
        with self._guard:
            if called.is_set():  # the turn came in the moment of giving up: take it
                return
            self._line.remove(called)
        raise StoreBusy(f"waited {self._timeout_seconds:g} s for other writers")

    def _leave(self) -> None:
        with self._guard:
            if self._line:
                self._line.popleft().set()
            else:
                self._is_held = False
