"""
What was just said: the last turns of each agent, in memory only.

Filled by `observe`, read when a pronoun needs what it points to. No embedding and no query: a ring per scope.
Turns that have been in it for half a minute are candidates for working memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from engram.values import Scope, Turn

CAPACITY = 20
"""Turns kept per scope."""
MAX_SCOPES = 1000
"""Scopes kept; the one that was silent longest goes first."""
SETTLED_AFTER = timedelta(seconds=30)


class SensoryBuffer:
    """The latest turns by scope."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rings: OrderedDict[Scope, deque[Turn]] = OrderedDict()

    def add(self, turn: Turn) -> None:
        """Take in a turn; the oldest of a full ring falls out."""
        with self._lock:
            self._rings.setdefault(turn.scope, deque(maxlen=CAPACITY)).append(turn)
            self._rings.move_to_end(turn.scope)
            if len(self._rings) > MAX_SCOPES:
                self._rings.popitem(last=False)

    def recent(self, scope: Scope, *, session: str | None = None) -> list[Turn]:
        """Return what was just said in a scope, oldest first, of one session if that is given."""
        with self._lock:
            turns = list(self._rings.get(scope, ()))
        return [turn for turn in turns if session is None or turn.session == session]

    def settled(self, scope: Scope, *, now: datetime) -> list[Turn]:
        """Return the turns that have stood long enough to be candidates for working memory."""
        return [turn for turn in self.recent(scope) if now - turn.created_at >= SETTLED_AFTER]

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._rings.clear()
