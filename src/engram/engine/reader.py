"""
Reads turns in the background, one conversation after the other.

Woken by the listener when a conversation is due; looks by itself now and then for turns that have waited too
long. A failure is noted, shown by `status`, and tried again; the turns stay where they are.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeAlias

from engram.errors import EngramError

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.values import Scope

    Place: TypeAlias = tuple[Scope, str | None] | None

_PATROL_SECONDS = 30.0
_RETRY_SECONDS = 5.0


class Reader:
    """A thread that runs `read` for each place it is woken for, and `patrol` when nothing happens."""

    def __init__(self, read: Callable[[Place], object], patrol: Callable[[], object]) -> None:
        self._read = read
        self._patrol = patrol
        self._changed = threading.Condition()
        self._wanted: dict[Place, None] = {}
        self._is_busy = False
        self._is_stopped = False
        self._thread: threading.Thread | None = None

    def wake(self, place: Place) -> None:
        """Ask for a reading of one conversation, or of all for None, soon."""
        with self._changed:
            if self._is_stopped:
                return
            self._wanted[place] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="engram-reader", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait(self, seconds: float | None) -> bool:
        """Wait until nothing is asked for or under way; says False if that took too long."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._wanted and not self._is_busy, seconds)

    def close(self) -> None:
        """End the thread after the reading that is under way."""
        with self._changed:
            self._is_stopped = True
            self._wanted.clear()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted or self._is_stopped, _PATROL_SECONDS)
                if self._is_stopped:
                    return
                wanted = list(self._wanted)
                self._wanted.clear()
                self._is_busy = True
            failed = self._do(wanted)
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
                if failed and not self._changed.wait_for(lambda: self._is_stopped, _RETRY_SECONDS):
                    self._wanted[None] = None

    def _do(self, wanted: list[Place]) -> bool:
        """Run the readings, or the patrol, and say whether one failed; the listener has noted why."""
        try:
            for place in wanted:
                self._read(place)
            if not wanted:
                self._patrol()
        except EngramError:
            return True
        return False
