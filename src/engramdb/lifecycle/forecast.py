"""When memories will change if nothing happens to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.lifecycle.curves import PASSING, TIERS, floor_of, retention, tiers
from engramdb.lifecycle.rules import (
    ANSWER_MICROSECONDS,
    LIVING,
    MOST_ASKED,
    STAYS,
    AgingRule,
    Verdicts,
    answered,
    choose_crowded,
    choose_evicted,
    chosen_rules,
    is_asked_about,
    judge,
    next_layers,
    to_ask,
)
from engramdb.policy import AgingPolicy
from engramdb.values import Layer, Tier
from engramdb.values.aging import LAYERS, NEVER, STATUSES
from engramdb.values.population import Moment, Population

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

DAY = 86_400_000_000
PRECISION = 1_000_000
"""How exactly the moment of a change is found, in microseconds."""
_WORKING = LAYERS.index(Layer.WORKING)


class Future(Struct, frozen=True, kw_only=True):
    """The first moment of each kind of change, `NEVER` where there is none before the horizon."""

    settled: Population
    """The memories in the layers that they end up in."""
    layer_at: Ints
    below: dict[Tier, Ints]
    """When retention falls below a tier's floor."""
    leaves_at: Ints
    leaves_by: NDArray[np.int16]
    """The place in `rules` of the one by which it leaves."""
    rules: list[AgingRule]

    def rule(self, row: int) -> AgingRule | None:
        """Return the rule by which a memory leaves, if it does."""
        return None if self.leaves_at[row] == NEVER else self.rules[self.leaves_by[row]]


def foresee(population: Population, policy: AgingPolicy, now: int, *, until: int) -> Future:
    """Return what will happen to each memory between now and the horizon."""
    layer_at, settled = _settled(population, policy, now)
    leaves_at, leaves_by = _left(settled, policy, now, until)
    return Future(
        settled=settled,
        layer_at=np.where(layer_at < until, layer_at, NEVER),
        below={tier: _falls_below(settled, policy, tier, now, until) for tier in TIERS[:-1]},
        leaves_at=leaves_at,
        leaves_by=leaves_by,
        rules=chosen_rules(policy),
    )


def _left(settled: Population, policy: AgingPolicy, now: int, until: int) -> tuple[Ints, NDArray[np.int16]]:
    """
    Return when each memory leaves, and the place of the rule by which it does.

    What is asked about first is foreseen to be asked about in time, and not to be answered.
    """

    def leaves_from(some: Population) -> Ints:
        return first_moment(
            lambda few, moments: _leaving(few, policy, moments) != STAYS, some, now, until, precision=1
        )

    leaves_at = leaves_from(settled)
    leaves_by = _leaving(settled, policy, np.minimum(leaves_at, until))
    rows = np.flatnonzero(is_asked_about(settled) & (settled.asked == NEVER))
    free = answered(settled.take(rows))
    due_at = leaves_from(free)
    waited = np.where(due_at == NEVER, NEVER, np.maximum(due_at, now + ANSWER_MICROSECONDS))
    is_first = (waited < leaves_at[rows]) & (waited <= until)
    chosen = rows[is_first]
    leaves_at[chosen] = waited[is_first]
    leaves_by[chosen] = _leaving(free.take(is_first), policy, waited[is_first])
    return leaves_at, leaves_by


def census(
    population: Population, policy: AgingPolicy, now: int, *, at: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.int64], dict[str, int]]]:
    """Yield for each moment how many living memories are in each tier, and how many left by each rule."""
    living = population.take(population.has(*LIVING))
    if any(rule.chooses for rule in chosen_rules(policy)):
        yield from _census_by_sweeps(living, policy, now, at)
        return
    future = foresee(living, policy, now, until=max(at))
    for moment in at:
        has_left = future.leaves_at <= moment
        left = np.bincount(future.leaves_by[has_left], minlength=len(future.rules))
        here = retention(future.settled, policy, moment)[~has_left]
        yield moment, _counted(tiers(here, policy)), _by_name(future.rules, left)


def first_moment(
    is_so: Callable[[Population, Moment], Flags],
    population: Population,
    start: int,
    end: int,
    *,
    precision: int = PRECISION,
) -> Ints:
    """Return for each memory the first moment from `start` on at which it is so; `NEVER` if not by `end`."""
    already, at_last = is_so(population, start), is_so(population, end)
    rows = np.flatnonzero(at_last & ~already)
    some = population.take(rows)
    low, high = np.full(len(rows), start, np.int64), np.full(len(rows), end, np.int64)
    while (high - low).max(initial=0) > precision:
        middle = low + (high - low) // 2
        holds = is_so(some, middle)
        high = np.where(holds, middle, high)
        low = np.where(holds, low, middle)
    moments = np.where(already, np.int64(start), np.int64(NEVER))
    moments[rows] = high
    return moments


def simulate(
    living: Population, policy: AgingPolicy, now: int, *, until: int, step: int = DAY
) -> Iterator[tuple[int, NDArray[np.int8], Counter[str]]]:
    """Play sweeps from now to the horizon; yield after each the tiers of what is left and who left so far."""
    here, left = living, Counter[str]()
    for moment in range(now, until + 1, step):
        verdicts = judge(here, policy, moment)
        here = here.in_layers(verdicts.layers)
        gone = {
            rule.name: verdicts.leaving == place
            for place, rule in enumerate(verdicts.rules)
            if not rule.chooses
        }
        gone |= _choose(here, policy, verdicts)
        left.update({name: int(rows.sum()) for name, rows in gone.items() if rows.any()})
        stays = ~np.logical_or.reduce([*gone.values(), np.zeros(len(here), np.bool_)])
        yield moment, verdicts.tiers[stays], left
        here = _asked(here, policy, verdicts, stays, moment).take(stays)


def _asked(
    here: Population, policy: AgingPolicy, verdicts: Verdicts, stays: Flags, moment: int
) -> Population:
    """Return the memories after the questions of one sweep."""
    places = np.flatnonzero(to_ask(here, policy, moment) & stays)
    chosen = choose_evicted(verdicts.measured.retention[places], here.keys[places], most=MOST_ASKED)
    asked = here.asked.copy()
    asked[places[chosen]] = moment
    return replace(here, asked=asked)


def _census_by_sweeps(
    living: Population, policy: AgingPolicy, now: int, at: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.int64], dict[str, int]]]:
    wanted = sorted(at)
    for moment, here, left in simulate(living, policy, now, until=wanted[-1]):
        while wanted and wanted[0] < moment + DAY:
            yield wanted.pop(0), _counted(here), dict(left)


def _choose(here: Population, policy: AgingPolicy, verdicts: Verdicts) -> dict[str, Flags]:
    """Return who leaves by the rules that choose, after those that leave anyway."""
    gone: dict[str, Flags] = {}
    leaving, due = verdicts.leaving != STAYS, verdicts.due
    if "evicted" in due:
        places = np.flatnonzero(due["evicted"])
        left = verdicts.measured.retention[places]
        chosen = choose_evicted(left, here.keys[places], most=policy.evict_most)
        gone["evicted"] = _marked(places[chosen], len(here))
        leaving = leaving | gone["evicted"]
    if "crowded_out" in due:
        passing = here.is_in(*PASSING) & ~leaving
        places = np.flatnonzero(due["crowded_out"] & passing)
        chosen = choose_crowded(
            here.importance[places],
            here.keys[places],
            here.projects[places],
            totals=dict(enumerate(np.bincount(here.projects[passing]).tolist())),
            most=policy.project_most,
        )
        gone["crowded_out"] = _marked(places[chosen], len(here))
    return gone


def _marked(places: Ints, size: int) -> Flags:
    marks = np.zeros(size, np.bool_)
    marks[places] = True
    return marks


def after_leaving(population: Population, future: Future) -> Population:
    """Return the memories as they are once they have left, for what happens to them afterwards."""
    to = np.array([STATUSES.index(rule.to) for rule in future.rules] or [0], np.int8)
    has_left = future.leaves_at != NEVER
    return replace(
        population,
        statuses=np.where(has_left, to[np.maximum(future.leaves_by, 0)], population.statuses),
        changed=np.where(has_left, future.leaves_at, population.changed),
    )


def _settled(population: Population, policy: AgingPolicy, now: int) -> tuple[Ints, Population]:
    """Return when each memory changes layer, and the memories in the layers that they end up in."""
    first = population.in_layers(next_layers(population, policy, now))
    layer_at = np.where(first.layers != population.layers, now, NEVER)

    minutes = int(policy.working_minutes * 60e6)
    waits = (first.layers == _WORKING) & ~first.held & first.has(*LIVING)
    over_at = np.where(waits, first.said + minutes, now)
    last = first.in_layers(next_layers(first, policy, over_at))
    return np.where(waits, over_at, layer_at), last


def _leaving(population: Population, policy: AgingPolicy, moments: Moment) -> NDArray[np.int16]:
    """Return the place of the rule that each memory is due for, `STAYS` for none; being evictable counts."""
    verdicts = judge(population, policy, moments)
    places = verdicts.leaving.copy()
    for place, rule in enumerate(verdicts.rules):
        if rule.name == "evicted":
            places[verdicts.due[rule.name]] = place
    return places


def _counted(codes: NDArray[np.int8]) -> NDArray[np.int64]:
    return np.bincount(codes, minlength=len(TIERS))


def _by_name(rules: Sequence[AgingRule], numbers: NDArray[np.int64]) -> dict[str, int]:
    return {rule.name: int(number) for rule, number in zip(rules, numbers, strict=True) if number}


def _falls_below(population: Population, policy: AgingPolicy, tier: Tier, now: int, until: int) -> Ints:
    """Return when retention falls below a tier's floor; for those that are below already, never."""
    floor = floor_of(tier, policy)
    moments = first_moment(lambda some, at: retention(some, policy, at) < floor, population, now, until)
    is_in_tier = tiers(retention(population, policy, now), policy) <= TIERS.index(tier)
    return np.where(is_in_tier, moments, NEVER)
