"""
Reads turns in the background, one conversation after the other.

Woken by the listener when a conversation is due; looks by itself now and then for turns that have waited too
long. A failure is noted, shown by `status`, and tried again; the turns stay where they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from engram.engine.worker import Worker
from engram.values import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

Place: TypeAlias = tuple[Scope, str | None] | None
"""One conversation, or all for None."""

_RETRY_SECONDS = 5.0


class Reader(Worker[Place, None]):
    """A thread that runs `read` for each place it is woken for, and `patrol` when nothing happens."""

    name = "engram-reader"
    patrol_seconds = 30.0

    def __init__(self, read: Callable[[Place], object], patrol: Callable[[], object]) -> None:
        super().__init__(lambda place, _: read(place), patrol)

    def wake(self, place: Place) -> None:
        """Ask for a reading of one conversation, or of all for None, soon."""
        self.wish(place, None)

    def _failed(self) -> None:
        """Wait a while, and then read everything that waits."""
        if not self._changed.wait_for(lambda: self._is_stopped, _RETRY_SECONDS):
            self._wishes[None] = None
