"""
What was looked at, denied or failed, on its way into the audit.

Searches are noted in memory and written together with the notes of recalls, because a question must not wait
for the disk: a killed process loses the searches of its last moment. Denials and failures are written at
once; one that is repeated within a minute is counted in the row of the first, so that a flood of them cannot
fill the disk.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final, Protocol

from msgspec import Struct

from engramdb.clock import Clock
from engramdb.errors import StorageError
from engramdb.health import Health
from engramdb.lifecycle.access_log import AccessRecorder
from engramdb.store.contract import Store
from engramdb.text.normalize import normalize_text
from engramdb.values import Action, Actor, ActorKind, AuditEvent, Outcome, Scope

AUDITING: Final = "audit"
"""The name of this part in `status`."""
SAME_WITHIN: Final = timedelta(minutes=1)
"""How long the same denial is counted in one row."""
MAX_ROWS_PER_MINUTE: Final = 60
"""Further denials of other kinds within the minute are counted in one row for all of them."""
MANY: Final = "many"
"""The reason in that row, and in place of who it was: they were many."""
_ANYBODY: Final = Actor(name=MANY, kind=ActorKind.RULE)
_HASH_BYTES: Final = 16
_PERSON: Final = b"audit question"


class AuditParts(Protocol):
    """What the audit log needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def store(self) -> Store: ...
    @property
    def access_log(self) -> AccessRecorder: ...


class _Repeated(Struct):
    """A row that stands for the same thing again and again."""

    since: datetime
    number: int | None = None
    """Of the row; None until it is written."""
    times: int = 1
    written: int = 1


_Key = tuple[Action, Outcome, Actor, Scope | None, str]


class AuditLog:
    """Notes for the audit of one process."""

    def __init__(self, parts: AuditParts) -> None:
        self._parts = parts
        self._lock = threading.Lock()
        self._repeated: OrderedDict[_Key, _Repeated] = OrderedDict()
        self._key: bytes | None = None

    def now(self) -> datetime:
        """Return the time."""
        return self._parts.clock.now()

    def hash_of(self, question: str) -> str:
        """Return what questions of the same words have in common; without the store nobody can guess them."""
        if self._key is None:
            with self._parts.store.read() as tx:
                self._key = tx.forgotten.key()
        words = normalize_text(question).encode(errors="surrogatepass")
        return blake2b(words, key=self._key, digest_size=_HASH_BYTES, person=_PERSON).hexdigest()

    def note_search(self, event: AuditEvent) -> None:
        """Note that somebody looked; it is written a moment later."""
        self._parts.access_log.note_search(event)

    def write_now(self, event: AuditEvent) -> None:
        """Write that somebody asked for something; what cannot be written is noted in health."""
        with suppress(StorageError), self._parts.health.watch(AUDITING), self._parts.store.atomic() as tx:
            tx.audit.add(event)

    def note(
        self,
        action: Action,
        outcome: Outcome,
        *,
        actor: Actor,
        scope: Scope | None,
        reason: str,
    ) -> None:
        """Write that something was denied or failed, and why, by a code."""
        at = self.now()
        with self._lock:
            over = self._take_ended(at)
            key: _Key = (action, outcome, actor, scope, reason)
            if key not in self._repeated and len(self._repeated) >= MAX_ROWS_PER_MINUTE:
                key = (action, outcome, _ANYBODY, None, MANY)
            known = self._repeated.get(key)
            if known is None:
                known = self._repeated[key] = _Repeated(at)
            else:
                known.times += 1
            times = known.times
        for one in over:
            self._write_count(one)
        if times == 1:
            self._write_first(
                known,
                AuditEvent(
                    at=at,
                    action=action,
                    actor=key[2],
                    scope=key[3],
                    outcome=outcome,
                    detail={"reason": key[4]},
                ),
            )
        elif times >= 2 * known.written:  # a thousand denials cost ten writes
            self._write_count(known)

    def _write_first(self, known: _Repeated, event: AuditEvent) -> None:
        with suppress(StorageError), self._parts.health.watch(AUDITING), self._parts.store.atomic() as tx:
            known.number = tx.audit.add(event)

    def close(self) -> None:
        """Write how often each has happened that is not written yet."""
        with self._lock:
            left = list(self._repeated.values())
            self._repeated.clear()
        for known in left:
            self._write_count(known)

    def _take_ended(self, at: datetime) -> list[_Repeated]:
        """Take out the rows whose minute is over and return them, to be written without the lock."""
        over: list[_Repeated] = []
        while self._repeated:
            first = next(iter(self._repeated))
            if at - self._repeated[first].since < SAME_WITHIN:
                break
            over.append(self._repeated.pop(first))
        return over

    def _write_count(self, known: _Repeated) -> None:
        if known.number is None or known.times == known.written:
            return
        with suppress(StorageError), self._parts.health.watch(AUDITING), self._parts.store.atomic() as tx:
            times = known.times  # others may go on counting
            tx.audit.set_times(known.number, times)
            known.written = times
