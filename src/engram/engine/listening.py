"""
From a turn that was just stored to the moment it is read: ring, signals, buffer, trigger, reading.

Held by the engine. With a background thread a turn is read soon after `observe` has returned; without one,
before. Either way it lies in the store already, and whoever opens the store next reads what is left unread.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engram import capture
from engram.engine.built import built
from engram.engine.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from engram.capture.buffer import SmartBuffer
    from engram.capture.pipeline import Capture
    from engram.engine.clock import Clock
    from engram.engine.health import Health
    from engram.values import Actor, Scope, Turn

READING_PATIENCE_SECONDS = 0.25
"""How long whoever asks waits for turns that are being read, so as to see what was just said."""
READING = "reading"
"""What health calls the part that reads turns."""


class Listener:
    """Decides when turns are read, and has them read; what reads them is asked for at the first turn."""

    def __init__(self, reading: Callable[[], Capture], *, clock: Clock, health: Health, actor: Actor) -> None:
        self._reading = reading
        self._clock = clock
        self._health = health
        self._actor = actor
        self._reader: Reader | None = None
        self.on_read: Callable[[], None] = lambda: None
        """Called when statements were read out of turns."""
        self.on_patrol: Callable[[], None] = lambda: None
        """Called twice a minute while nothing is read."""
        self.heard_at: datetime | None = None
        """When a turn last came in."""

    @built
    def _capture(self) -> Capture:
        return self._reading()

    @built
    def _buffer(self) -> SmartBuffer:
        return capture.buffer.SmartBuffer(self._capture.gate.policy)

    def start(self) -> None:
        """Read in the background from now on, beginning with what an earlier process left unread."""
        self._reader = Reader(read=self._read_all, patrol=self._read_overdue)
        self._reader.wake(None)

    def heard(self, turn: Turn) -> None:
        """Take in a turn that has just been stored."""
        self.heard_at = self._clock.now()
        self._capture.sensory.add(turn)
        place = (turn.scope, turn.session)
        trigger = self._buffer.add(turn, is_urgent=_is_urgent(turn))
        if trigger is not None and self._reader is not None:
            self._reader.wake(place)
        elif trigger is not None or (self._reader is None and self._is_overfull(place)):
            self._read_all(place)

    def flush(self, within: tuple[Scope, str | None] | None = None) -> int:
        """Read everything that waits, of one conversation or of all, and return how many turns that were."""
        if self._reader is not None:
            self._reader.wait(None)
        return self._read_all(within)

    def wait(self, seconds: float) -> bool:
        """Give readings under way a moment; says False if they are not done then."""
        return self._reader is None or self._reader.wait(seconds)

    def close(self) -> None:
        """End the background thread after the reading that is under way."""
        if self._reader is not None:
            self._reader.close()
        if self.heard_at is not None:
            self._capture.sensory.clear()

    def _is_overfull(self, place: tuple[Scope, str | None]) -> bool:
        """Say whether more waits than this process has counted: every shell command is a new process."""
        with self._capture.gate.store.read() as tx:
            count, oldest = tx.turns.pending(place)
        policy = self._capture.gate.policy
        is_old = oldest is not None and self._clock.now() - oldest > timedelta(minutes=policy.buffer_minutes)
        return count >= policy.buffer_turns or is_old

    def _read_all(self, within: tuple[Scope, str | None] | None) -> int:
        total = 0
        with self._health.watch(READING):
            while True:
                reading = capture.pipeline.read_turns(
                    self._capture, actor=self._actor, now=self._clock.now(), within=within
                )
                if not reading.turns:
                    break
                total += reading.turns
        if total:
            self.on_read()
        return total

    def _read_overdue(self) -> None:
        self.on_patrol()
        for place in self._buffer.overdue(self._clock.now()):
            self._read_all(place)


def _is_urgent(turn: Turn) -> bool:
    return capture.signals.is_urgent(capture.signals.scan(turn.content))
