"""
What one sweep decides: who changes layer and who leaves, by which rule.

Called by the sweep, batch by batch, and by the forecast, moment by moment. Every memory is judged by its own
columns alone, so the size of a batch changes nothing; what must look at the whole store (the lowest fifty, a
project's ten thousand) is only marked as due here and chosen by `choose_evicted` and `choose_crowded`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engram.aging.curves import retention
from engram.aging.importance import importance
from engram.aging.population import LAYERS
from engram.aging.rules import LIVING, Measured, chosen_rules, is_due
from engram.aging.tiers import tiers
from engram.values import Layer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engram.aging.population import Moment, Population
    from engram.aging.rules import Rule
    from engram.policy import AgingPolicy

STAYS = -1
_WORKING, _EPISODIC, _SEMANTIC = (
    LAYERS.index(layer) for layer in (Layer.WORKING, Layer.EPISODIC, Layer.SEMANTIC)
)
_MINUTES_PER_DAY = 1440


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What becomes of each memory of a population."""

    measured: Measured
    tiers: NDArray[np.int8]
    layers: NDArray[np.int8]
    """The layer that each belongs to now."""
    rules: list[Rule]
    leaving: NDArray[np.int16]
    """The place in `rules` of the one by which a memory leaves, or `STAYS`."""
    due: dict[str, NDArray[np.bool_]]
    """Who is due for each rule that chooses among those."""


def judge(population: Population, policy: AgingPolicy, now: Moment) -> Verdicts:
    """Return what one sweep at this moment does with each memory."""
    living = population.has(*LIVING)
    layers = next_layers(population, policy, now)
    settled = population.in_layers(layers)
    measured = Measured(population=settled, policy=policy, now=now, retention=retention(settled, policy, now))
    rules = chosen_rules(policy)
    leaving = np.full(len(population), STAYS, np.int16)
    due = {}
    for place, rule in enumerate(rules):
        wants = is_due(rule, measured) & (leaving == STAYS)
        if rule.chooses:
            due[rule.name] = wants
        else:
            leaving[wants] = place
    return Verdicts(
        measured=measured,
        tiers=tiers(measured.retention, policy),
        layers=np.where(living, layers, population.layers).astype(np.int8),
        rules=rules,
        leaving=leaving,
        due=due,
    )


def next_layers(population: Population, policy: AgingPolicy, now: Moment) -> NDArray[np.int8]:
    """Return the layer that each memory belongs to: working ones become episodes, used ones knowledge."""
    minutes = population.days_since(population.created, now) * _MINUTES_PER_DAY
    may_move = ~population.held & population.has(*LIVING)
    is_over = (minutes >= policy.working_minutes) | (population.recalls >= policy.working_recalls)
    layers = np.where(
        may_move & (population.layers == _WORKING) & is_over, _EPISODIC, population.layers
    ).astype(np.int8)

    is_used = may_move & (layers == _EPISODIC) & (population.recalls >= policy.semantic_recalls)
    rows = np.flatnonzero(is_used)  # few, so that the nine factors of all the others need not be added up
    moments = np.broadcast_to(np.asarray(now, np.int64), (len(population),))[rows]
    matters = importance(population.in_layers(layers).take(rows), policy, moments)
    layers[rows[matters >= policy.semantic_importance]] = _SEMANTIC
    return layers


def choose_evicted(
    retention: NDArray[np.float64], keys: NDArray[np.int64], *, most: int
) -> NDArray[np.int64]:
    """Return the places of the memories that leave first: lowest retention, then oldest."""
    return np.lexsort((keys, retention))[:most]


def choose_crowded(
    importance: NDArray[np.float64],
    keys: NDArray[np.int64],
    projects: NDArray[np.int64],
    *,
    totals: dict[int, int],
    most: int,
) -> NDArray[np.int64]:
    """
    Return the places of the memories that a full project loses: least important, then oldest.

    `totals` says how many memories each project holds, those that may not leave included.
    """
    chosen = []
    for project in np.unique(projects):
        too_many = max(0, totals[int(project)] - most)
        if too_many:
            places = np.flatnonzero(projects == project)
            order = np.lexsort((keys[places], importance[places]))
            chosen.append(places[order[:too_many]])
    return np.concatenate(chosen) if chosen else np.empty(0, np.int64)
