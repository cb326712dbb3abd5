"""
A thread beside the turns: it prepares the next recall and, when nothing happens, puts idle minds away.

Woken by the registry of minds after a turn; started only where it is needed. Of each agent only the
latest wish counts, and of all of them only a few: a wish that is dropped is a miss, and a miss costs
nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

from engram.errors import EngramError

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.values import Scope

MOST_WAITING = 16
PATROL_SECONDS = 60.0

Wish = TypeVar("Wish")


class Anticipator(Generic[Wish]):
    """A thread that runs `prepare` for the latest wish of each scope, and `patrol` now and then."""

    def __init__(self, prepare: Callable[[Scope, Wish], object], patrol: Callable[[], object]) -> None:
        self._prepare = prepare
        self._patrol = patrol
        self._changed = threading.Condition()
        self._wishes: OrderedDict[Scope, Wish] = OrderedDict()
        self._is_busy = False
        self._is_stopped = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to patrol, if that has not begun yet."""
        with self._changed:
            if self._thread is None and not self._is_stopped:
                self._thread = threading.Thread(target=self._run, name="engram-attention", daemon=True)
                self._thread.start()

    def wish(self, scope: Scope, wish: Wish) -> None:
        """Ask for something to be prepared, in place of what was asked for this scope before."""
        self.start()
        with self._changed:
            self._wishes.pop(scope, None)
            self._wishes[scope] = wish
            if len(self._wishes) > MOST_WAITING:
                self._wishes.popitem(last=False)
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

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wishes or self._is_stopped, PATROL_SECONDS)
                if self._is_stopped:
                    return
                wanted = self._wishes.popitem(last=False) if self._wishes else None
                self._is_busy = True
            self._do(wanted)
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()

    def _do(self, wanted: tuple[Scope, Wish] | None) -> None:
        """Prepare, or patrol; a failure is noted in health by whoever failed, and is only a miss here."""
        try:
            if wanted is None:
                self._patrol()
            else:
                self._prepare(*wanted)
        except EngramError:
            return
