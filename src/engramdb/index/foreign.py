"""
Let a backend that is not ours propose rows, without trusting it.

Wrapped around a user's own index by the engine, and asked by the vector index in place of its own
backend. The foreign backend sees row numbers and eight-bit vectors: no ids, no words, no full precision. It
runs in its own thread, is rate-limited, and what it is given is audited in counts. When it is slow, fails or
proposes too little, the built-in backend answers and the answer says so. One that has failed may have lost
vectors: after a pause it is filled again from the beginning, and asked once that is done. What it proposes is
checked against the filter and scored by us.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Final, Protocol, TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from engramdb.errors import EngramError, SearchError
from engramdb.health import FOREIGN_INDEX, Health
from engramdb.models.guard import ForeignGuard
from engramdb.store.contract import QuantizedVectors

QUERIES_PER_MINUTE: Final = 100
TIMEOUT_SECONDS: Final = 0.25
MAX_QUEUED_BATCHES: Final = 256
"""Batches of vectors that may wait for a slow backend; beyond, it has fallen behind for good."""
MAX_OVERFETCH: Final = 4
"""Times as many rows are asked for as needed when a filter will drop some; narrower filters are ours."""
_LEVELS = np.float32(127)

Refill: TypeAlias = Callable[[], Iterator[tuple[NDArray[np.intp], QuantizedVectors]]]


class ProposesRows(Protocol):
    """What a user's own index has to offer; called from one thread, one call after another."""

    def put(self, rows: NDArray[np.intp], vectors: QuantizedVectors) -> None:
        """Add the vectors of these rows, in place of any earlier ones; a row of zeros has none."""
        ...

    def shortlist(self, query: QuantizedVectors, count: int) -> NDArray[np.intp]:
        """Return the rows of the `count` nearest vectors, in any order."""
        ...


class TellsTime(Protocol):
    """The part of a clock that a limit needs."""

    def now(self) -> datetime: ...


class BackendRefusal(Struct, frozen=True):
    """Why the backend's answer was not used."""

    reason: str


class ForeignBackend:
    """A user's own index, behind a guard."""

    def __init__(
        self,
        backend: ProposesRows,
        *,
        rate: float = QUERIES_PER_MINUTE,
        audit: Callable[[str, Mapping[str, int]], None],
        clock: TellsTime,
        timeout_seconds: float = TIMEOUT_SECONDS,
        guard: ForeignGuard | None = None,
    ) -> None:
        """Begin with nothing; `audit` is told what was exchanged, in counts, with no lock held."""
        guard = guard or ForeignGuard(Health(clock))
        self._health, self._breaker = guard.health, guard.breaker(FOREIGN_INDEX)
        self._backend = backend
        self._audit = audit
        self._allowance = _RateLimit(rate, clock)
        self._timeout_seconds = timeout_seconds
        self._calls: queue.Queue[Callable[[], None] | None] = queue.Queue(MAX_QUEUED_BATCHES)
        self._lock = threading.Lock()
        self._abandoned = 0
        self._failure = ""
        self._is_filling = False
        self._is_closed = False
        threading.Thread(target=self._work, name="foreign-index", daemon=True).start()

    def put(self, rows: NDArray[np.intp], vectors: QuantizedVectors) -> None:
        """Hand over eight-bit vectors, later, in the order in which they came."""
        own = QuantizedVectors(
            vectors.numbers.astype(np.int8), vectors.scales.copy()
        )  # copies: ours stay ours
        self._call(partial(self._hand_over, rows.copy(), own))

    def shortlist(
        self,
        query: NDArray[np.float32],
        allowed: NDArray[np.bool_],
        count: int,
        *,
        refill: Refill | None = None,
    ) -> NDArray[np.intp] | BackendRefusal:
        """
        Return `count` or more of the allowed rows, or all there are, as proposed; or why not.

        `refill` gives every vector anew, for an index that has failed and may have lost some.
        """
        if refill is not None:
            self.recover(refill)
        if self._failure or self._is_filling or self._abandoned:
            busy = "filled again" if self._is_filling else "still busy with an earlier question"
            return BackendRefusal(self._failure or f"the foreign index is {busy}")
        if not self._allowance.take():
            self._audit("foreign index refused", {"queries": 1})
            return BackendRefusal("the foreign index was asked more often than it may be")
        there = int(np.count_nonzero(allowed))
        asked = min(-(-count * len(allowed) // max(1, there)), MAX_OVERFETCH * count)
        ticket = _PendingAnswer()
        self._call(partial(self._answer, ticket, _quantize_query(query), asked))
        if not self._wait(ticket):
            return BackendRefusal(self._failure or "the foreign index did not answer in time")
        rows, wanted = _valid_rows(ticket.rows, allowed), min(count, there)
        if len(rows) < wanted:
            return BackendRefusal(
                self._failure or f"the foreign index proposed {len(rows)} memories of {wanted}"
            )
        return rows

    def recover(self, refill: Refill) -> None:
        """Begin anew with an index that has failed, once its pause is over."""
        if not self._failure:
            return
        with self._lock:
            if self._is_closed or not self._failure:
                return
            if isinstance(self._breaker.admit(SearchError), EngramError):
                return
            with suppress(queue.Empty):
                while True:
                    self._calls.get_nowait()  # lost, and part of what it is given now
            self._failure, self._is_filling = "", True
        self._call(partial(self._refill, refill))

    def close(self) -> None:
        """Let the thread end, once the backend returns."""
        self._is_closed, self._failure = True, "the foreign index was closed"
        with suppress(queue.Full):  # then it is stuck, and ends with the process
            self._calls.put_nowait(None)

    def _call(self, call: Callable[[], None]) -> None:
        if not self._failure:
            try:
                self._calls.put_nowait(call)
            except queue.Full:
                self._fail("the foreign index fell behind")

    def _fail(self, reason: str) -> None:
        """Leave the index alone: what it missed it can only be given from the beginning."""
        if not self._is_closed:
            self._failure = reason
            error = SearchError(reason)
            self._breaker.failed(error, is_final=True)
            self._health.failed(FOREIGN_INDEX, error)

    def _wait(self, ticket: _PendingAnswer) -> bool:
        """Return whether the answer came in time; one that did not keeps others from asking for now."""
        if self._failure or ticket.done.wait(self._timeout_seconds):
            return ticket.done.is_set()
        with self._lock:
            ticket.is_abandoned = not ticket.done.is_set()
            self._abandoned += ticket.is_abandoned
        return False

    # --- in the backend's thread ----------------------------------------------------------------------------

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except BaseException as exc:  # noqa: BLE001 - foreign code may raise anything
                self._is_filling = False
                self._fail(f"the foreign index failed with {type(exc).__name__}")

    def _refill(self, refill: Refill) -> None:
        for rows, vectors in refill():
            own = QuantizedVectors(vectors.numbers.astype(np.int8), vectors.scales.copy())
            self._hand_over(rows.copy(), own)
        self._is_filling = False
        self._breaker.succeeded()
        self._health.succeeded(FOREIGN_INDEX)

    def _hand_over(self, rows: NDArray[np.intp], vectors: QuantizedVectors) -> None:
        if not self._failure:
            self._backend.put(rows, vectors)
            self._audit("foreign index fed", {"vectors": len(rows)})

    def _answer(self, ticket: _PendingAnswer, query: QuantizedVectors, count: int) -> None:
        try:
            if not self._failure:
                ticket.rows = self._backend.shortlist(query, count)
                self._audit("foreign index asked", {"queries": 1, "rows": count})
        finally:
            with self._lock:
                ticket.done.set()
                self._abandoned -= ticket.is_abandoned


class _PendingAnswer(Struct):
    """One question on its way."""

    rows: object = ()
    is_abandoned: bool = False
    done: threading.Event = field(default_factory=threading.Event)


class _RateLimit:
    """A rate per minute, with a minute's worth of burst."""

    def __init__(self, per_minute: float, clock: TellsTime) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._left = per_minute
        self._at = clock.now()

    def take(self) -> bool:
        """Use one up, if there is one."""
        with self._lock:
            now = self._clock.now()
            earned = (now - self._at).total_seconds() / 60 * self._per_minute
            self._left, self._at = min(self._per_minute, self._left + max(0.0, earned)), now
            if self._left < 1:
                return False
            self._left -= 1
            return True


def _quantize_query(query: NDArray[np.float32]) -> QuantizedVectors:
    scale = np.float32(np.abs(query).max(initial=0)) / _LEVELS or np.float32(1)
    return QuantizedVectors(np.rint(query / scale).astype(np.int8)[None, :], np.array([scale], np.float32))


def _valid_rows(proposed: object, allowed: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return what is a row and allowed, whatever was proposed."""
    rows = np.asarray(proposed)
    if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
        return np.empty(0, np.intp)
    valid: NDArray[np.intp] = np.unique(rows[(rows >= 0) & (rows < len(allowed))].astype(np.intp))
    return valid[allowed[valid]]
