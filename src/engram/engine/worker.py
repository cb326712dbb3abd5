"""
A thread beside the engine: it does what it is asked for, one thing after the other, and patrols in between.

Used by `reader` for turns that wait to be read and by `anticipating` for the next recall. It begins with the
first wish. Of each place only the latest wish counts; a failure was noted by whoever failed, so here it is no
more than a reason to pause.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

from engram.errors import EngramError

if TYPE_CHECKING:
    from collections.abc import Callable

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
