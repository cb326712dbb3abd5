"""
Remember for a while what readers were given, so that an agent's echo of it is not taken for news.

Noted by the engine at every recall, in memory, and written with the next write or when the engine closes: a
question must not wait for the disk. What cannot be written is let go, and `status` says so.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.engine.health import Health
    from engram.store.contract import Store
    from engram.values import MemoryId, Scope

ECHO_GUARD = "echo guard"
"""What health calls these notes."""
_MOST_WAITING = 10_000


class HandedOutNotes:
    """What was given to whom and is not written yet."""

    def __init__(self, store: Store, health: Health, *, keep_hours: float) -> None:
        self._store = store
        self._health = health
        self._keep = timedelta(hours=keep_hours)
        self._lock = threading.Lock()
        self._waiting: dict[tuple[Scope, str, MemoryId], datetime] = {}

    def note(
        self, memory_ids: Sequence[MemoryId], *, scope: Scope, session: str | None, at: datetime
    ) -> None:
        """Note that a reader was given these memories."""
        with self._lock:
            if len(self._waiting) < _MOST_WAITING:
                self._waiting.update(dict.fromkeys([(scope, session or "", one) for one in memory_ids], at))

    def write(self, now: datetime) -> None:
        """Write what was noted and drop what is too old to matter."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        try:
            with self._store.atomic() as tx:
                for (scope, session, memory_id), at in waiting.items():
                    tx.handed_out.add([memory_id], scope=scope, session=session, at=at)
                tx.handed_out.prune(now - self._keep)
        except StorageError as exc:
            self._health.failed(ECHO_GUARD, exc)
