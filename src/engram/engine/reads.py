"""
Remember what readers were given: to count it as a recall, and to tell an agent's echo of it from news.

Noted by the engine at every recall, in memory, and written a moment later, with the next write, or when the
engine closes: a question must not wait for the disk. A killed process loses the notes of its last moment.
What cannot be written is let go, and `status` says so.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.errors import StorageError
from engram.store import contract

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set
    from datetime import datetime

    from engram.engine.health import Health
    from engram.policy import Policy
    from engram.store.contract import Store
    from engram.values import MemoryId, Scope

READ_NOTES = "read notes"
"""What health calls these notes."""
WRITE_AFTER_SECONDS = 1.0
"""How long notes wait for others to be written with them."""
MOST_WAITING = 10_000
"""With more, they are written at once."""


class ReadNotes:
    """What was given to whom and is not written yet."""

    def __init__(self, store: Store, health: Health, *, policy: Callable[[], Policy]) -> None:
        self._store = store
        self._health = health
        self._policy = policy
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._handed_out: dict[tuple[Scope, str, MemoryId], datetime] = {}
        self._recalls: defaultdict[MemoryId, list[tuple[datetime, str]]] = defaultdict(list)
        self._waiting = 0
        self._timer: threading.Timer | None = None

    def note(
        self,
        memory_ids: Sequence[MemoryId],
        *,
        fitting: Set[MemoryId],
        scope: Scope,
        session: str | None,
        at: datetime,
        in_background: bool,
    ) -> None:
        """Note that a reader was given these memories; those that fit the question count as recalled."""
        with self._lock:
            for one in memory_ids:
                self._handed_out[scope, session or "", one] = at
                if one in fitting:
                    self._recalls[one].append((at, session or ""))
            self._waiting += len(memory_ids)
            is_full = self._waiting >= MOST_WAITING
            if in_background and self._waiting and self._timer is None:
                self._timer = threading.Timer(WRITE_AFTER_SECONDS, self.write, [at])
                self._timer.daemon = True
                self._timer.start()
        if is_full:
            self.write(at)

    def write(self, now: datetime) -> None:
        """Write what was noted and drop what is too old to matter; also waits for whoever does so already."""
        with self._writing:
            self._write(now)

    def close(self, now: datetime) -> None:
        """Write what is left, and start no more timers."""
        with self._lock:
            timer = self._timer
        if timer is not None:
            timer.cancel()
            timer.join()
        self.write(now)

    def _write(self, now: datetime) -> None:
        with self._lock:
            handed_out, self._handed_out = self._handed_out, {}
            recalls, self._recalls = self._recalls, defaultdict(list)
            self._waiting, self._timer = 0, None
        if not handed_out:
            return
        aging, keep = self._policy().aging, timedelta(hours=self._policy().capture.echo_hours)
        recalled = [
            contract.Recalled(
                memory_id,
                tuple(at for at, _ in notes),
                frozenset(session for _, session in notes if session),
            )
            for memory_id, notes in recalls.items()
        ]
        try:
            with self._health.watch(READ_NOTES), self._store.atomic() as tx:
                tx.ages.count_recalls(
                    recalled,
                    stability_per_recall=aging.stability_per_recall,
                    stability_most=aging.stability_most,
                )
                for (scope, session, memory_id), at in handed_out.items():
                    tx.handed_out.add([memory_id], scope=scope, session=session, at=at)
                tx.handed_out.prune(now - keep)
        except StorageError:  # noted in health; an answer is worth more than the count of it
            return
