"""
How much strength lasting knowledge has lost by lying idle.

Called by the step `semantic` with columns of memories; pure. Each whole period since the last recall,
confirmation or statement takes its share once: the periods up to a memory's last change count as taken, since
taking them is a change. So a second dream in the same period takes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engram.values import Layer, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engram.aging.population import Population
    from engram.policy.knowledge import KnowledgePolicy

_DAY = 86_400_000_000
_SMALLEST = 1e-6
"""A smaller loss is none."""


def faded(population: Population, policy: KnowledgePolicy, *, now: int) -> dict[int, float]:
    """Return the strength that each memory has left, by key, where that is less than it has now."""
    anchor = np.maximum(np.maximum(population.created, population.confirmed), population.recalled)
    period = policy.idle_days * _DAY
    due = _periods(now - anchor, period) - _periods(population.changed - anchor, period)
    left = population.strength * policy.idle_factor ** np.maximum(due, 0)
    left = np.maximum(left, policy.idle_least)
    is_lasting = population.is_in(Layer.SEMANTIC, Layer.PROCEDURAL) & population.has(Status.ACTIVE)
    is_due = is_lasting & ~population.pinned & (population.strength - left > _SMALLEST)
    return {int(population.keys[row]): float(left[row]) for row in np.flatnonzero(is_due)}


def _periods(idle: NDArray[np.int64], period: float) -> NDArray[np.float64]:
    whole: NDArray[np.float64] = np.maximum(idle, 0) // period
    return whole
