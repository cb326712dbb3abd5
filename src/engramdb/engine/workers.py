"""Threads beside the engine: reading turns, anticipating, listening."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

from engramdb.capture.pipeline import Capture, read_turns
from engramdb.capture.signals import SmartBuffer, is_urgent, scan
from engramdb.engine.built import built
from engramdb.engine.clock import Clock
from engramdb.engine.status import Health
from engramdb.errors import EngramError
from engramdb.values import Actor, Scope, Turn

# A thread beside the engine: it does what it is asked for, one thing after the other, and patrols in between.
#
# Used by `reader` for turns that wait to be read and by `anticipating` for the next recall. It begins with
# the
# first wish. Of each place only the latest wish counts; a failure was noted by whoever failed, so here it
# is no
# more than a reason to pause.

Place = TypeVar("Place")
Wish = TypeVar("Wish")


class Worker(Generic[Place, Wish]):
    """A thread that runs `do` for the latest wish of each place, and `patrol` when nothing happens."""

    name = "engram-worker"
    patrol_seconds = 60.0

    def __init__(self, do: Callable[[Place, Wish], object], patrol: Callable[[], object]) -> None:
        self._do = do
        self._patrol = patrol
        self._changed = threading.Condition()
        self._wishes: OrderedDict[Place, Wish] = OrderedDict()
        self._is_busy = False
        self._is_stopped = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to patrol, if that has not begun yet."""
        with self._changed:
            if self._thread is None and not self._is_stopped:
                self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
                self._thread.start()

    def wish(self, place: Place, wish: Wish) -> None:
        """Ask for something to be done soon, in place of what was asked for this place before."""
        self.start()
        with self._changed:
            if self._is_stopped:
                return
            self._wishes.pop(place, None)
            self._wishes[place] = wish
            self._changed.notify_all()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until nothing is wished for or under way; says False if that took too long."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._wishes and not self._is_busy, seconds)

    def close(self) -> None:
        """End the thread after what is under way; what was wished for is let go of."""
        with self._changed:
            self._is_stopped = True
            self._wishes.clear()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _failed(self) -> None:
        """Do what follows from a failure; nothing, unless a kind of worker says otherwise."""

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wishes or self._is_stopped, self.patrol_seconds)
                if self._is_stopped:
                    return
                wanted = self._wishes.popitem(last=False) if self._wishes else None
                self._is_busy = True
            is_done = self._tried(wanted)
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
                if not is_done:
                    self._failed()

    def _tried(self, wanted: tuple[Place, Wish] | None) -> bool:
        try:
            if wanted is None:
                self._patrol()
            else:
                self._do(*wanted)
        except EngramError:
            return False
        return True


# Ask the machine whether there is room for slow work: its load, and the memory that is free.

LOAD: Final = "load"
MEMORY: Final = "memory"
MOST_LOAD_PER_CORE: Final = 1.0
"""With more processes that want to run than there are cores, slow work would take from somebody."""
LEAST_FREE_SHARE: Final = 0.10
"""Below this share of memory the system begins to swap; seed 002 §21 calls 90 % used critical."""
MEMORY_FILE: Final = Path("/proc/meminfo")


def pressure() -> str:
    """Return what is short, `memory` before `load`, or an empty text where there is room."""
    if free_share() < LEAST_FREE_SHARE:
        return MEMORY
    return LOAD if load_per_core() > MOST_LOAD_PER_CORE else ""


def load_per_core() -> float:
    """Return how many processes wanted to run in the last minute, per core; 0 where nobody counts."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return 0.0


def free_share(file: Path = MEMORY_FILE) -> float:
    """Return the share of memory that can still be had; 1 where nobody says."""
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 1.0
    found = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    try:
        return int(found["MemAvailable"][0]) / int(found["MemTotal"][0])
    except (KeyError, IndexError, ValueError, ZeroDivisionError):
        return 1.0


# Reads turns in the background, one conversation after the other.

Conversation: TypeAlias = tuple[Scope, str | None] | None
"""One conversation, or all for None."""

_RETRY_SECONDS = 5.0


class Reader(Worker[Conversation, None]):
    """A thread that runs `read` for each place it is woken for, and `patrol` when nothing happens."""

    name = "engram-reader"
    patrol_seconds = 30.0

    def __init__(self, read: Callable[[Conversation], object], patrol: Callable[[], object]) -> None:
        super().__init__(lambda place, _: read(place), patrol)

    def wake(self, place: Conversation) -> None:
        """Ask for a reading of one conversation, or of all for None, soon."""
        self.wish(place, None)

    def _failed(self) -> None:
        """Wait a while, and then read everything that waits."""
        if not self._changed.wait_for(lambda: self._is_stopped, _RETRY_SECONDS):
            self._wishes[None] = None


# A thread beside the turns: it prepares the next recall and, when nothing happens, puts idle minds away.

MOST_WAITING = 16

Anticipation = TypeVar("Anticipation")


class Anticipator(Worker[Scope, Anticipation]):
    """A thread that runs `prepare` for the latest wish of each scope, and `patrol` now and then."""

    name = "engram-attention"

    def wish(self, place: Scope, wish: Anticipation) -> None:
        """Ask for something to be prepared, in place of what was asked for this scope before."""
        super().wish(place, wish)
        with self._changed:
            while len(self._wishes) > MOST_WAITING:
                self._wishes.popitem(last=False)


# From a turn that was just stored to the moment it is read: ring, signals, buffer, trigger, reading.
#
# Held by the engine. With a background thread a turn is read soon after `observe` has returned; without one,
# before. Either way it lies in the store already, and whoever opens the store next reads what is left unread.

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
        return SmartBuffer(self._capture.pipeline.policy)

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
        with self._capture.pipeline.store.read() as tx:
            count, oldest = tx.turns.pending(place)
        policy = self._capture.pipeline.policy
        is_old = oldest is not None and self._clock.now() - oldest > timedelta(minutes=policy.buffer_minutes)
        return count >= policy.buffer_turns or is_old

    def _read_all(self, within: tuple[Scope, str | None] | None) -> int:
        total = 0
        with self._health.watch(READING):
            while True:
                reading = read_turns(self._capture, actor=self._actor, now=self._clock.now(), within=within)
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
    return is_urgent(scan(turn.content))
