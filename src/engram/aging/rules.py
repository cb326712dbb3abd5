"""
The rules by which memories leave, each with a name that its history rows carry.

Asked by the verdict in the order below; the first that is due decides. A rule that is due stays due while
nothing happens to the memory, which is what lets a forecast find its day. Pinned memories
are spared before any rule is asked. `evicted` and `crowded_out` look at the whole store and choose among the
memories that are due.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engram.aging.importance import importance
from engram.values import Layer, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from engram.aging.population import Moment, Population
    from engram.policy import AgingPolicy

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

LIVING = (Status.ACTIVE, Status.CHALLENGED)
PASSING = (Layer.WORKING, Layer.EPISODIC)
"""The layers that count towards a project's limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A population at a moment, with what was computed of it."""

    population: Population
    policy: AgingPolicy
    now: Moment
    retention: Floats

    @property
    def importance(self) -> Floats:
        """How much each memory matters now; computed when a rule asks, since most policies never do."""
        return importance(self.population, self.policy, self.now)

    @property
    def age_days(self) -> Floats:
        """Days since a memory was made or last confirmed; bringing one back confirms it."""
        return self.population.days_since(
            np.maximum(self.population.created, self.population.confirmed), self.now
        )

    @property
    def is_open(self) -> Flags:
        """What the policy protects neither by category nor because a person asked to remember it."""
        is_protected = self.population.is_about(*self.policy.protected)
        if self.policy.spares_stated:
            is_protected |= self.population.stated
        return ~is_protected


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One way to leave: from which statuses, to which, and who is due."""

    name: str
    to: Status
    due: Callable[[Measured], Flags]
    of: tuple[Status, ...] = LIVING
    chooses: bool = False
    """Whether being due is not enough, because the rule takes only some of those."""


def _forget_after(measured: Measured) -> Flags:
    is_over: Flags = measured.population.forget_after <= measured.now
    return is_over


def _speculative(measured: Measured) -> Flags:
    policy = measured.policy
    is_unsure: Flags = measured.population.confidence < policy.speculative_below
    is_due: Flags = is_unsure & (measured.age_days > policy.speculative_days)
    return is_due


def _commitment(measured: Measured) -> Flags:
    is_promise = measured.population.is_about("commitment")
    return is_promise & (measured.age_days > measured.policy.commitment_days)


def _unused(measured: Measured) -> Flags:
    policy, population = measured.policy, measured.population
    is_due: Flags = (
        (measured.age_days > policy.unused_days)
        & (population.importance < policy.unused_importance)
        & (population.recalls <= policy.unused_recalls)
        & ~population.is_about("correction")
        & measured.is_open
    )
    return is_due


def _faded(measured: Measured) -> Flags:
    policy, population = measured.policy, measured.population
    return (
        (measured.age_days > policy.faded_days)
        & (measured.retention < policy.faded_retention)
        & (measured.importance < policy.faded_importance)
        & (population.recalls < policy.faded_recalls)
        & ~population.is_in(Layer.SEMANTIC, Layer.PROCEDURAL, Layer.CODEBASE)
        & measured.is_open
    )


def _weak(measured: Measured) -> Flags:
    policy, population = measured.policy, measured.population
    is_spared = (
        population.stated
        | (population.importance > policy.weak_spares_importance)
        | (population.arousal >= policy.weak_spares_arousal)
    )
    return (measured.retention < policy.weak_below) & ~is_spared


def _decayed(measured: Measured) -> Flags:
    is_gone: Flags = measured.retention < measured.policy.decayed_below
    return is_gone


def _low_value(measured: Measured) -> Flags:
    policy, population = measured.policy, measured.population
    return (
        (measured.age_days > policy.low_value_days)
        & (population.importance < policy.low_value_importance)
        & population.episodes
        & measured.is_open
    )


def _stale_session(measured: Measured) -> Flags:
    policy, population = measured.policy, measured.population
    idle = population.days_since(np.maximum(population.session_ended, population.confirmed), measured.now)
    is_due: Flags = (
        (idle > policy.stale_session_days)
        & population.episodes
        & population.extracted
        & (population.recalls == 0)
        & measured.is_open
    )
    return is_due


def _old_version(measured: Measured) -> Flags:
    superseded = measured.population.days_since(measured.population.changed, measured.now)
    return superseded > measured.policy.old_version_days


def _evicted(measured: Measured) -> Flags:
    return (measured.retention < measured.policy.cold) & measured.is_open


def _crowded_out(measured: Measured) -> Flags:
    """Who may leave a full project: not, for one half-life, what was stated again or brought back."""
    population = measured.population
    is_renewed = population.confirmed > population.created
    is_spared = is_renewed & (measured.age_days <= measured.policy.half_life_days)
    return population.is_in(*PASSING) & ~is_spared


def _archive_ended(measured: Measured) -> Flags:
    archived = measured.population.days_since(measured.population.changed, measured.now)
    return archived > measured.policy.archive_days


RULES = {
    rule.name: rule
    for rule in (
        Rule(name="forget_after", to=Status.FORGOTTEN, due=_forget_after),
        Rule(name="speculative", to=Status.ARCHIVED, due=_speculative),
        Rule(name="commitment", to=Status.ARCHIVED, due=_commitment),
        Rule(name="unused", to=Status.ARCHIVED, due=_unused, of=(Status.ACTIVE,)),
        Rule(name="faded", to=Status.ARCHIVED, due=_faded),
        Rule(name="weak", to=Status.ARCHIVED, due=_weak),
        Rule(name="decayed", to=Status.PRUNED, due=_decayed),
        Rule(name="low_value", to=Status.ARCHIVED, due=_low_value),
        Rule(name="stale_session", to=Status.ARCHIVED, due=_stale_session),
        Rule(name="old_version", to=Status.ARCHIVED, due=_old_version, of=(Status.SUPERSEDED,)),
        Rule(name="evicted", to=Status.ARCHIVED, due=_evicted, chooses=True),
        Rule(name="crowded_out", to=Status.ARCHIVED, due=_crowded_out, chooses=True),
        Rule(name="archive_ended", to=Status.PRUNED, due=_archive_ended, of=(Status.ARCHIVED,)),
    )
}
"""Every rule that columns can decide, by name, in the order in which they are asked."""


def is_due(rule: Rule, measured: Measured) -> Flags:
    """Return which memories a rule wants: of the right status, not pinned, and due."""
    return measured.population.has(*rule.of) & ~measured.population.pinned & rule.due(measured)


def chosen_rules(policy: AgingPolicy) -> list[Rule]:
    """Return the policy's rules in the order in which they are asked."""
    return [rule for name, rule in RULES.items() if name in policy.rules]
