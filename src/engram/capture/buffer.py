"""
When to read statements out of turns: at once, in a batch, or not yet.

Asked by the engine after each turn. The turns themselves lie in the store, where nothing can lose them; this
only counts, so a restart costs a batch its size and nothing else.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from engram.policy import CapturePolicy
    from engram.values import Scope, Turn


class Trigger(StrEnum):
    """Why turns are read now."""

    SIGNAL = "signal"
    COUNT = "count"
    AGE = "age"


@dataclass(slots=True)
class _Waiting:
    count: int
    since: datetime


class SmartBuffer:
    """How many turns of each conversation wait, and since when."""

    def __init__(self, policy: CapturePolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._waiting: dict[tuple[Scope, str | None], _Waiting] = {}

    def add(self, turn: Turn, *, is_urgent: bool) -> Trigger | None:
        """Count a turn and say whether its conversation should be read now."""
        place = (turn.scope, turn.session)
        with self._lock:
            waiting = self._waiting.setdefault(place, _Waiting(0, turn.created_at))
            waiting.count += 1
            trigger = self._trigger(waiting, turn.created_at, is_urgent=is_urgent)
            if trigger is not None:
                del self._waiting[place]
            return trigger

    def overdue(self, now: datetime) -> list[tuple[Scope, str | None]]:
        """Return the conversations whose turns have waited too long, and stop counting them."""
        oldest = now - timedelta(minutes=self._policy.buffer_minutes)
        with self._lock:
            places = [place for place, waiting in self._waiting.items() if waiting.since <= oldest]
            for place in places:
                del self._waiting[place]
            return places

    def _trigger(self, waiting: _Waiting, now: datetime, *, is_urgent: bool) -> Trigger | None:
        if is_urgent:
            return Trigger.SIGNAL
        if waiting.count >= self._policy.buffer_turns:
            return Trigger.COUNT
        if now - waiting.since > timedelta(minutes=self._policy.buffer_minutes):
            return Trigger.AGE
        return None
