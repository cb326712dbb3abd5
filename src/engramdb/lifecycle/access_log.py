"""
Which memories readers were given: counted as recalls, known when an agent echoes one, and audited.

Noted in memory at every recall and written a moment later, with the next write, or when the engine closes: a
question must not wait for the disk. A killed process loses the notes of its last moment. What cannot be
written is dropped, and `status` says so.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence, Set
from datetime import datetime, timedelta
from typing import Protocol

from engramdb.clock import Clock
from engramdb.errors import StorageError
from engramdb.health import Health
from engramdb.policy import Policy
from engramdb.settings import Settings
from engramdb.store.contract import RecallCount, Store
from engramdb.values import AuditEvent, Hit, MemoryId, Scope
from engramdb.worker import Worker

READ_NOTES = "read notes"
"""The name of this part in `status`."""
WRITE_AFTER_SECONDS = 1.0
"""How long notes wait for others to be written with them."""
ECHO_HOURS = 24.0
"""For how long what a reader was given counts as just given."""
MAX_WAITING = 10_000
"""With more, they are written at once."""


class AccessParts(Protocol):
    """What the access log needs of the engine; the policy is loaded with the first note that is written."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def store(self) -> Store: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def settings(self) -> Settings: ...


class AccessRecorder:
    """What was given to whom and is not written yet."""

    def __init__(self, parts: AccessParts, worker: Worker | None) -> None:
        self._parts = parts
        self._worker = worker
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._handed_out: dict[tuple[Scope, str, MemoryId], datetime] = {}
        self._recalls: defaultdict[MemoryId, list[tuple[datetime, str]]] = defaultdict(list)
        self._searches: list[AuditEvent] = []
        self._waiting = 0

    def note_search(self, event: AuditEvent) -> None:
        """Note for the audit that somebody looked."""
        with self._lock:
            self._searches.append(event)
            is_first = not self._waiting
            self._waiting += 1
            is_full = self._waiting >= MAX_WAITING
        self._write_soon(is_first=is_first, is_full=is_full)

    def note_hits(self, hits: Sequence[Hit], scope: Scope, session: str | None = None) -> None:
        """Note that a reader was given these; those that fit the question count as recalled."""
        least = self._parts.policy.recall.least_score
        fitting = {hit.memory.id for hit in hits if hit.trust.relevance >= least}
        self.note([hit.memory.id for hit in hits], fitting=fitting, scope=scope, session=session)

    def note(
        self, memory_ids: Sequence[MemoryId], *, fitting: Set[MemoryId], scope: Scope, session: str | None
    ) -> None:
        """Note that a reader was given these memories; those that are `fitting` count as recalled."""
        at = self._parts.clock.now()
        with self._lock:
            for one in memory_ids:
                self._handed_out[scope, session or "", one] = at
                if one in fitting:
                    self._recalls[one].append((at, session or ""))
            is_first = bool(memory_ids) and not self._waiting
            self._waiting += len(memory_ids)
            is_full = self._waiting >= MAX_WAITING
        self._write_soon(is_first=is_first, is_full=is_full)

    def _write_soon(self, *, is_first: bool, is_full: bool) -> None:
        if is_full:
            self.write()
        elif is_first and self._worker is not None:
            self._worker.submit(READ_NOTES, self.write, delay_seconds=WRITE_AFTER_SECONDS)

    def write(self) -> None:
        """Write what was noted, and drop what is too old to matter; waits for a write under way."""
        with self._writing:
            self._write()

    def _write(self) -> None:
        with self._lock:
            handed_out, self._handed_out = self._handed_out, {}
            recalls, self._recalls = self._recalls, defaultdict(list)
            searches, self._searches = self._searches, []
            self._waiting = 0
        if not handed_out and not searches:
            return
        oldest = self._parts.clock.now() - timedelta(hours=ECHO_HOURS)
        recalled = [
            RecallCount(
                memory_id,
                tuple(at for at, _ in notes),
                frozenset(session for _, session in notes if session),
            )
            for memory_id, notes in recalls.items()
        ]
        try:
            with self._parts.health.watch(READ_NOTES), self._parts.store.atomic() as tx:
                if handed_out:
                    tx.ages.count_recalls(recalled, self._parts.policy.aging)
                    tx.handed_out.add(handed_out)
                    tx.handed_out.prune(oldest)
                if searches:
                    tx.audit.add_searches(searches, most=self._parts.settings.audited_searches)
        except StorageError:  # noted in health; an answer is worth more than the count of it
            return
