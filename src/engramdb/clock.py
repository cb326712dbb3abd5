"""
The clock that everything is given: any object with `now()`.

The real one stands here and nowhere else; tests and simulations hand in `engramdb.testing.ManualClock`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time, in UTC."""

    def now(self) -> datetime:
        """Return this moment."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return this moment, in UTC."""
        return datetime.now(UTC)
