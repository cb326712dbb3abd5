"""
How much slow work puts into one write, so that others wait no longer than a moment for their turn.

Shared by aging and by what is left for later. How long a write takes depends on who else is at work: between
two statements any thread of the process may run. So the next write is fitted to how long this one took.
"""

from __future__ import annotations

WRITE_SECONDS = 0.02
"""How long one write should hold the store."""


def fitting_rows(rows: int, seconds: float, *, least: int, most: int) -> int:
    """Return how many rows the next write should take after one that took so long; at most twice as many."""
    return min(most, 2 * rows, max(least, int(rows * WRITE_SECONDS / max(seconds, 1e-4))))
