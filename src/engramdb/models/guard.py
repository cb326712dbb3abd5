"""
The one border to foreign code: embedders, chat models, readers, judges, rerankers, indexes.

Whatever such code does (raises anything, hangs, returns nonsense), its caller gets one of our errors within
the deadline, `health` notes it, and a part that keeps failing is left alone for a while: a circuit breaker.
What foreign code says of its failure is shown only where it quotes none of the texts that it was given.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeVar

from msgspec import Struct, field

from engramdb.clock import Clock
from engramdb.errors import ClockUnusable, EngramError
from engramdb.health import REFUSALS, Health, place_of
from engramdb.text.normalize import lazy
from engramdb.text.terms import STOP_WORDS
from engramdb.values.report import BreakerState

FAILURES_TO_OPEN: Final = 5
"""A part that fails so often in a row is left alone,"""
SLOW_SECONDS: Final = 1.0
"""and so is one whose single failure has cost somebody this long."""
FIRST_PAUSE_SECONDS: Final = 1.0
"""How long it is left alone at first; the pause doubles with every probe that fails,"""
PAUSE_PER_LOST_SECOND: Final = 3.0
"""is no shorter than this many times what the failure has cost,"""
LONGEST_PAUSE_SECONDS: Final = 300.0
"""and no longer than this."""
MAX_ABANDONED: Final = 4
"""Calls of one part that hang; beyond, it is not called until one returns."""
MAX_IDLE_THREADS: Final = 4

T = TypeVar("T")
R = TypeVar("R")


class Unusable(Exception):
    """What came back cannot be used; the reason is ours and quotes nothing."""


class _TimedOut(Exception):
    """There was no answer in time."""


class _Raised(Exception):
    """Foreign code raised this; kept apart from what interrupts its caller."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


_WORD = lazy(r"\w{2,}")


# A circuit breaker: closed while a part works, open while it is left alone, half-open while a call probes it.


class _Failure(Struct, frozen=True):
    """What was raised last, without the traceback, whose frames hold texts."""

    kind: type[EngramError]
    message: str
    hint: str


class Breaker:
    """Decides whether a part may be called, by how its last calls have ended."""

    def __init__(self, part: str, *, monotonic: Callable[[], float]) -> None:
        self._part = part
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._failures = 0
        self._pause = 0.0
        self._until: float | None = None
        self._is_probing = False
        self._round = 0
        """Goes up when it opens and when a probe begins, so that calls from before can be told."""
        self._last: _Failure | None = None

    def admit(self, failure: type[EngramError]) -> int | EngramError:
        """Return a number with which the caller must say how its call ended, or why it may not call now."""
        with self._lock:
            if self._until is None or self._last is None:
                return self._round
            left = self._until - self._monotonic()
            if left <= 0 and not self._is_probing:
                self._is_probing = True
                self._round += 1
                return self._round
            last, when = self._last, f"in {left:.0f} s" if left >= 1 else "in a moment"
            kind = last.kind if issubclass(last.kind, failure) else failure
            told = f"{last.message}; left alone after {self._failures} failures, tried again {when}"
            return kind(told, hint=last.hint)

    def succeeded(self) -> None:
        """Close: the part works."""
        with self._lock:
            self._failures, self._pause, self._until, self._last = 0, 0.0, None, None
            self._is_probing = False

    def failed(
        self,
        error: EngramError,
        *,
        admitted: int | None = None,
        seconds: float = 0.0,
        is_final: bool = False,
    ) -> None:
        """
        Count a failure that took this long, and open where it is one too many, or `is_final`.

        A call that was under way when the breaker opened lengthens no pause and ends no probe.
        """
        with self._lock:
            if self._is_from_before(admitted):
                self._failures += self._until is not None
                return
            self._failures += 1
            self._last = _Failure(type(error), error.message, error.hint)
            is_open, self._is_probing = self._until is not None, False
            if is_open or is_final or self._failures >= FAILURES_TO_OPEN or seconds >= SLOW_SECONDS:
                least = max(FIRST_PAUSE_SECONDS, PAUSE_PER_LOST_SECOND * seconds)
                self._pause = min(max(2 * self._pause, least), LONGEST_PAUSE_SECONDS)
                self._until = self._monotonic() + self._pause
                self._round += 1

    def left_off(self, admitted: int) -> None:
        """Forget a call that says nothing about the part, such as one whose caller was interrupted."""
        with self._lock:
            if not self._is_from_before(admitted):
                self._is_probing = False

    def half_open(self) -> None:
        """Let the next call probe the part at once, because a person asks."""
        with self._lock:
            if self._until is not None:
                self._until = self._monotonic()

    def state(self) -> BreakerState:
        """Return what it does and what it waits for."""
        with self._lock:
            name: Literal["closed", "open", "half-open"] = "closed"
            left = 0.0
            if self._until is not None:
                left = max(0.0, self._until - self._monotonic())
                name = "open" if left and not self._is_probing else "half-open"
            return BreakerState(
                part=self._part,
                state=name,
                failures=self._failures,
                retry_seconds=round(left, 1),
                reason=None if self._last is None else f"{self._last.kind.code} {self._last.message}",
            )

    def _is_from_before(self, admitted: int | None) -> bool:
        return admitted is not None and admitted != self._round


# Threads that foreign calls run in: one that hangs is left behind, and counted until it returns.


class _Ticket(Struct):
    """One call on its way."""

    run: Callable[[], object]
    value: object = None
    error: BaseException | None = None
    is_abandoned: bool = False
    done: threading.Event = field(default_factory=threading.Event)


class CallThreads:
    """
    Runs calls under a deadline, in daemon threads that are used again.

    Used again because libraries that compute keep pools by thread, and a new thread for each call would make
    them once more.
    """

    def __init__(self, part: str) -> None:
        self._name = "foreign-" + part.replace(" ", "-")
        self._forget()

    def run(self, call: Callable[[], T], seconds: float) -> T:
        """Return what the call returns or raises, within so many seconds."""
        if self._process != os.getpid():
            self._forget()  # a forked child has none of its parent's threads
        ticket = _Ticket(call)
        self._hand_over(ticket)
        try:
            is_done = ticket.done.wait(seconds)
        except BaseException:  # the caller was interrupted
            self._abandon(ticket)
            raise
        if not is_done and self._abandon(ticket):
            raise _TimedOut(f"did not answer within {seconds:g} seconds")
        if ticket.error is not None:
            raise _Raised(ticket.error)
        value: T = ticket.value  # type: ignore[assignment]
        return value

    def close(self) -> None:
        """Let idle threads end, and those at work once they return."""
        if self._process == os.getpid():
            with self._lock:
                self._is_closed = True
                for inbox in self._idle:
                    inbox.put(None)
                self._idle.clear()

    def _forget(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[queue.SimpleQueue[_Ticket | None]] = []
        self._abandoned = 0
        self._is_closed = False

    def _hand_over(self, ticket: _Ticket) -> None:
        with self._lock:
            if self._abandoned >= MAX_ABANDONED:
                raise _TimedOut(f"is still busy with {self._abandoned} earlier calls")
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = queue.SimpleQueue()
            try:
                threading.Thread(target=self._work, args=(inbox,), name=self._name, daemon=True).start()
            except RuntimeError as exc:
                raise Unusable("cannot be asked: no thread can be started") from exc
        inbox.put(ticket)

    def _abandon(self, ticket: _Ticket) -> bool:
        """Leave a call behind; return False where it has just ended."""
        with self._lock:
            ticket.is_abandoned = not ticket.done.is_set()
            self._abandoned += ticket.is_abandoned
            return ticket.is_abandoned

    def _work(self, inbox: queue.SimpleQueue[_Ticket | None]) -> None:
        while (ticket := inbox.get()) is not None:
            try:
                ticket.value = ticket.run()
            except BaseException as error:  # noqa: BLE001 - foreign code may raise anything, SystemExit included
                ticket.error = error
            with self._lock:
                ticket.done.set()
                self._abandoned -= ticket.is_abandoned
                if self._is_closed or len(self._idle) >= MAX_IDLE_THREADS:
                    return
                self._idle.append(inbox)
            del ticket  # texts are not held while it waits


# A clock of the caller's own.

EARLIEST_YEAR, LATEST_YEAR = 1970, 2200
"""Years that a clock may show: beyond, dates cannot be reckoned with."""


class GuardedClock:
    """
    A clock of the caller's own that always tells the time.

    Where it raises or returns no moment with a time zone, time goes on from the last one that it told; one
    that never told any raises `ClockUnusable`. It may go back or leap: a memory's times are what it said.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last, self._at = _moment(clock), time.monotonic()
        self.failure: str | None = None
        """Why its last answer was not used."""

    def now(self) -> datetime:
        """Return this moment, in UTC."""
        try:
            self._last, self._at = _moment(self._clock), time.monotonic()
            self.failure = None
        except ClockUnusable as exc:
            self.failure = f"{exc.code} {exc.message}"
            return self._last + timedelta(seconds=time.monotonic() - self._at)
        return self._last


def _moment(clock: Clock) -> datetime:
    try:
        now = clock.now()
        is_moment = isinstance(now, datetime) and now.utcoffset() is not None
        if is_moment and EARLIEST_YEAR <= now.year <= LATEST_YEAR:
            return now.astimezone(UTC)
    except Exception as exc:
        raise ClockUnusable(f"the clock failed: {place_of(exc)}") from exc
    raise ClockUnusable(
        f"the clock shows the year {now.year}"
        if is_moment
        else "the clock returns no moment with a time zone"
    )


# The guard itself.


class ForeignGuard:
    """Calls foreign code for everybody; each engine has one."""

    def __init__(self, health: Health, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.health = health
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._breakers: dict[str, Breaker] = {}
        self._threads: dict[str, CallThreads] = {}

    def call(
        self,
        part: str,
        run: Callable[[], T],
        *,
        failure: type[EngramError],
        check: Callable[[T], R],
        timeout_seconds: float | None = None,
        texts: Sequence[str] = (),
        is_work: bool = True,
    ) -> R:
        """
        Return what `check` makes of the result, or raise an error of ours.

        With a time-out the code is foreign: it runs in a thread of its own, and whatever it raises becomes a
        `failure`. Without, it is ours: its own errors stay as they are. `texts` are what it is given, and no
        part of what is said of a failure. A look at an attribute is no work, and no sign that a part works.
        """
        breaker = self.breaker(part)
        admitted = breaker.admit(failure)
        if isinstance(admitted, EngramError):
            raise admitted
        began = self._monotonic()
        try:
            if timeout_seconds is None:
                result = check(run())
            else:
                result = check(self._threads_of(part).run(run, timeout_seconds))
        except REFUSALS:  # of ours only: what is wrong is the request
            breaker.left_off(admitted)
            raise
        except Exception as exc:  # noqa: BLE001 - the border: every failure of a part ends here
            error = _explained(part, exc, failure, texts)
        except BaseException:  # the caller was interrupted, which says nothing about the part
            breaker.left_off(admitted)
            raise
        else:
            if is_work:
                breaker.succeeded()
                self.health.succeeded(part)
            else:
                breaker.left_off(admitted)
            return result
        breaker.failed(error, admitted=admitted, seconds=self._monotonic() - began)
        self.health.failed(part, error)
        raise error

    def breaker(self, part: str) -> Breaker:
        """Return the breaker of a part."""
        with self._lock:
            if part not in self._breakers:
                self._breakers[part] = Breaker(part, monotonic=self._monotonic)
            return self._breakers[part]

    def states(self) -> tuple[BreakerState, ...]:
        """Return the breakers of the parts that are left alone, or being probed."""
        with self._lock:
            breakers = list(self._breakers.values())
        return tuple(state for state in (one.state() for one in breakers) if state.state != "closed")

    def half_open(self) -> None:
        """Let every part that is left alone be probed by its next call."""
        with self._lock:
            breakers = list(self._breakers.values())
        for one in breakers:
            one.half_open()

    def close(self) -> None:
        """Let the threads of foreign calls end."""
        with self._lock:
            threads = list(self._threads.values())
        for one in threads:
            one.close()

    def _threads_of(self, part: str) -> CallThreads:
        with self._lock:
            if part not in self._threads:
                self._threads[part] = CallThreads(part)
            return self._threads[part]


def _explained(part: str, exc: Exception, failure: type[EngramError], texts: Sequence[str]) -> EngramError:
    """Return the failure of a part as an error of ours, in words that quote nothing."""
    if isinstance(exc, EngramError):
        return exc
    if isinstance(exc, (Unusable, _TimedOut)):
        return failure(f"the {part} {exc}")
    raised = exc.error if isinstance(exc, _Raised) else exc
    if isinstance(raised, EngramError) and not _quotes(raised.message, texts):
        return failure(raised.message, hint=raised.hint if not _quotes(raised.hint, texts) else "")
    return failure(f"the {part} failed: {place_of(raised)}")


def _quotes(message: str, texts: Sequence[str]) -> bool:
    """Return whether a message shares a telling word with the texts."""
    telling = {word.casefold() for word in _WORD.findall(message)} - STOP_WORDS
    return any(not telling.isdisjoint(word.casefold() for word in _WORD.findall(text)) for text in texts)
