"""
A thread beside the turns: it prepares the next recall and, when nothing happens, puts idle minds away.

Woken by the registry of minds after a turn; started only where it is needed. Of each agent only the
latest wish counts, and of all of them only a few: a wish that is dropped is a miss, and a miss costs
nothing.
"""

from __future__ import annotations

from typing import TypeVar

from engram.engine.worker import Worker
from engram.values import Scope

MOST_WAITING = 16

Wish = TypeVar("Wish")


class Anticipator(Worker[Scope, Wish]):
    """A thread that runs `prepare` for the latest wish of each scope, and `patrol` now and then."""

    name = "engram-attention"

    def wish(self, place: Scope, wish: Wish) -> None:
        """Ask for something to be prepared, in place of what was asked for this scope before."""
        super().wish(place, wish)
        with self._changed:
            while len(self._wishes) > MOST_WAITING:
                self._wishes.popitem(last=False)
