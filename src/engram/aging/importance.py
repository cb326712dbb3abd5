"""
How much a memory matters now: nine factors, each with what it adds or takes.

Called by the verdict, which promotes and archives by it, and shown with its parts in an outlook. The base is
what was given or estimated at birth; the other eight move it up or down from there, so a memory that was just
stated by a person has about its base. Recalls, recency and activation say that a memory is *used*, never that
it is true. The weights are ours, since the source names the factors only: docs/concepts/aging.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engram.aging.curves import SHORTEST_DAYS, half_lives_days, l2
from engram.aging.population import LAYERS, SOURCES, population_of, to_microseconds
from engram.values import Importance, Layer

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from engram.aging.population import Moment, Population
    from engram.policy import AgingPolicy
    from engram.values import Memory

    Floats = NDArray[np.float64]

FREQUENCY_ADDS = 0.20
FREQUENCY_FULL_RECALLS = 20
RECENCY_TAKES = 0.25
AFFECT_ADDS = 0.10
STABILITY_ADDS = 0.10
TRUST_TAKES = 0.10
CONFIRMATIONS_ADD = 0.10
CONFIRMATIONS_FULL = 5
ACTIVATION_ADDS = 0.10
ACTIVATION_DECAY = 0.5
"""The usual exponent of base-level activation in ACT-R."""
LAYER_ADDS = {
    Layer.WORKING: -0.05,
    Layer.EPISODIC: 0.0,
    Layer.SEMANTIC: 0.10,
    Layer.PROCEDURAL: 0.10,
    Layer.CODEBASE: 0.05,
}
_LAYER_ADDS = np.array([LAYER_ADDS[layer] for layer in LAYERS])
_TRUST = np.array([source.trust for source in SOURCES])


def importance(population: Population, policy: AgingPolicy, now: Moment) -> Floats:
    """Return how much each memory matters now, in [0, 1]."""
    return np.clip(sum(factors(population, policy, now).values()), 0, 1)


def importance_of(memory: Memory, policy: AgingPolicy, now: datetime) -> Importance:
    """Return how much one memory matters now, with its parts."""
    population, moment = population_of([memory]), to_microseconds(now)
    parts = {name: float(part[0]) for name, part in factors(population, policy, moment).items()}
    return Importance(value=float(importance(population, policy, moment)[0]), factors=parts)


def factors(population: Population, policy: AgingPolicy, now: Moment) -> dict[str, Floats]:
    """Return what each factor adds to or takes from each memory's importance."""
    used = population.days_since(np.maximum(population.recalled, population.confirmed), now)
    recency = l2(used / half_lives_days(population, policy))
    return {
        "base": population.importance,
        "frequency": FREQUENCY_ADDS * _log_share(population.recalls, FREQUENCY_FULL_RECALLS),
        "recency": RECENCY_TAKES * (recency - 1),
        "affect": AFFECT_ADDS * population.arousal,
        "stability": STABILITY_ADDS * np.clip((population.stability - 1) / (policy.stability_most - 1), 0, 1),
        "layer": _LAYER_ADDS[population.layers],
        "trust": TRUST_TAKES * (_TRUST[population.sources] - 1),
        "confirmations": CONFIRMATIONS_ADD * _log_share(population.confirmations, CONFIRMATIONS_FULL),
        "activation": ACTIVATION_ADDS * activation(population, now),
    }


def activation(population: Population, now: Moment) -> Floats:
    """Return ACT-R's base-level activation of each memory, squeezed into [0, 1]; birth counts as a use."""
    born = _use(population.days_since(population.created, now))
    uses = _use(population.days_since_recalls(now))
    total = born + population.sum_of_recalls(uses)
    squeezed: Floats = total / (1 + total)  # the logistic function of ln(total)
    return squeezed


def _use(days_ago: Floats) -> Floats:
    worth: Floats = np.maximum(days_ago, SHORTEST_DAYS) ** -ACTIVATION_DECAY
    return worth


def _log_share(counts: NDArray[np.int64], full: int) -> Floats:
    share: Floats = np.minimum(1, np.log1p(counts) / np.log1p(full))
    return share
