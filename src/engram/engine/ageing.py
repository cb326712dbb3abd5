"""
Age a store and foresee its ageing: what `Engram.age`, `forecast` and `compare_policies` do.

Called by `Engram`; hands the store's columns to `aging`. A sweep is for the whole store, like `doctor`, and
reports ids and numbers only; a forecast shows memories, so it keeps to the scope.
"""

from __future__ import annotations

import dataclasses
import itertools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from engram.aging.curves import retention
from engram.aging.forecast import DAY, after_leaving, census, foresee
from engram.aging.importance import importance_of
from engram.aging.population import LAYERS, NEVER, joined, population_of, recalled_at, to_microseconds
from engram.aging.rules import LIVING
from engram.aging.tiers import TIERS, tier_of
from engram.errors import InvalidQuery
from engram.policy import PRESETS
from engram.values import Census, Change, Forecast, Outlook

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from engram.aging.forecast import Future
    from engram.aging.population import Population
    from engram.policy import AgingPolicy
    from engram.store.contract import Store, Transaction
    from engram.values import Memory, Scope

    Ints = NDArray[np.int64]

PAGE_ROWS = 20_000
POINTS = 53
"""So many moments of a forecast are counted: every week of a year."""
SOONEST = 20
"""So many memories are shown with their own outlook."""
MOST_DAYS = 36_500
SUMMARIES = "session-"
"""How the extractor of a session's summary is called, which does not leave with the session."""


def forecast(
    store: Store, policy: AgingPolicy, name: str, *, scope: Scope | None, now: datetime, days: float
) -> Forecast:
    """Return what becomes of the memories that a scope sees; for None, of all, counted and not shown."""
    _check(days)
    moment = to_microseconds(now)
    with store.read() as tx:
        population = _living(tx, [policy], scope=scope)
        shown = [] if scope is None else _soonest(tx, population, policy, now=moment, days=days)
        ends = session_ends(tx, shown, policy)
    points = [moment + int(days * DAY * step / (POINTS - 1)) for step in range(POINTS)]
    return Forecast(
        made_at=now,
        days=days,
        policy=name,
        population=len(population),
        census=_census(population, policy, moment, points),
        soonest=tuple(outlooks(shown, policy, now=now, days=days, ends=ends)),
    )


def forecast_one(
    memory: Memory, policy: AgingPolicy, name: str, *, now: datetime, days: float, ends: Ints
) -> Forecast:
    """Return what becomes of one memory, whose session ended then."""
    _check(days)
    moment = to_microseconds(now)
    points = [moment + int(days * DAY * step / (POINTS - 1)) for step in range(POINTS)]
    return Forecast(
        made_at=now,
        days=days,
        policy=name,
        population=1,
        census=_census(_columns([memory], ends), policy, moment, points),
        soonest=tuple(outlooks([memory], policy, now=now, days=days, ends=ends)),
    )


def compare(
    store: Store,
    chosen: Mapping[str, AgingPolicy],
    *,
    scope: Scope | None,
    now: datetime,
    days: Sequence[float],
) -> dict[str, tuple[Census, ...]]:
    """Return what each policy would keep of these memories after so many days each."""
    moment = to_microseconds(now)
    for one in days:
        _check(one)
    with store.read() as tx:
        population = _living(tx, chosen.values(), scope=scope)
    points = [moment + int(one * DAY) for one in sorted(days)]
    return {name: _census(population, policy, moment, points) for name, policy in chosen.items()}


def presets_with(name: str, own: AgingPolicy) -> dict[str, AgingPolicy]:
    """Return the ageing of every preset, with the store's own in place of the one that it was made from."""
    return {preset: own if preset == name else policy.aging for preset, policy in PRESETS.items()}


def session_ends(tx: Transaction, memories: Sequence[Memory], policy: AgingPolicy) -> Ints:
    """Return when the session of each memory ended, as the sweep sees it, where the policy asks for that."""
    ends = tx.ages.session_ends(before=NEVER) if "stale_session" in policy.rules else {}
    found = []
    for memory in memories:
        is_summary = (memory.extractor or "").startswith(SUMMARIES)
        session = "" if is_summary else memory.provenance.session or ""
        found.append(ends.get((tx.scopes.find(memory.scope) or 0, session), NEVER))
    return np.array(found, np.int64)


def outlooks(
    memories: Sequence[Memory], policy: AgingPolicy, *, now: datetime, days: float, ends: Ints
) -> list[Outlook]:
    """Return each memory's future, as it is and as it would be after one more recall."""
    if not memories:
        return []
    recalled = [
        recalled_at(
            memory,
            now,
            is_new_session=True,
            stability_per_recall=policy.stability_per_recall,
            stability_most=policy.stability_most,
        )
        for memory in memories
    ]
    left = retention(population_of(memories), policy, to_microseconds(now))
    plain = _changes(_columns(memories, ends), policy, now=now, days=days)
    better = _changes(_columns(recalled, ends), policy, now=now, days=days)
    return [
        Outlook(
            memory=memory,
            retention=float(left[row]),
            tier=tier_of(float(left[row]), policy),
            importance=importance_of(memory, policy, now),
            changes=plain[row],
            after_recall=better[row],
        )
        for row, memory in enumerate(memories)
    ]


def _columns(memories: Sequence[Memory], ends: Ints) -> Population:
    return dataclasses.replace(population_of(memories), session_ended=ends)


def _changes(
    population: Population, policy: AgingPolicy, *, now: datetime, days: float
) -> list[tuple[Change, ...]]:
    start = to_microseconds(now)
    until = start + int(days * DAY)
    future = foresee(population, policy, start, until=until)
    later = foresee(after_leaving(future.settled, future), policy, start, until=until)
    changes = []
    for row in range(len(population)):
        found = [*_moves(future, row), *_leaves(future, row)]
        if future.rule(row) is not None:
            found += _leaves(later, row)
        changes.append(tuple(sorted(found, key=lambda change: change.at)))
    return changes


def _moves(future: Future, row: int) -> list[Change]:
    """Return when a memory changes layer and tier, as long as it is there."""
    end = int(future.leaves_at[row])
    found = []
    if future.layer_at[row] <= end and future.layer_at[row] != NEVER:
        layer = LAYERS[int(future.settled.layers[row])]
        found.append(Change(at=_moment(int(future.layer_at[row])), what=layer, kind="layer"))
    falls = [(int(future.below[tier][row]), lower) for tier, lower in itertools.pairwise(TIERS)]
    for place, (at, tier) in enumerate(falls):
        is_passed_at_once = place + 1 < len(falls) and falls[place + 1][0] == at
        if at != NEVER and at <= end and not is_passed_at_once:
            found.append(Change(at=_moment(at), what=tier, kind="tier"))
    return found


def _leaves(future: Future, row: int) -> list[Change]:
    rule = future.rule(row)
    if rule is None:
        return []
    return [Change(at=_moment(int(future.leaves_at[row])), what=rule.name, kind="leaves", status=rule.to)]


def _living(tx: Transaction, policies: Iterable[AgingPolicy], *, scope: Scope | None) -> Population:
    """Return the living memories that a scope sees, or all of them, in one population for these policies."""
    asks_for_sessions = any("stale_session" in policy.rules for policy in policies)
    ends = tx.ages.session_ends(before=NEVER) if asks_for_sessions else {}
    pages, after = [], 0
    while len(page := tx.ages.page(after_key=after, limit=PAGE_ROWS, scope=scope, session_ends=ends)):
        pages.append(page.take(page.has(*LIVING)))
        after = int(page.keys[-1])
    return joined(pages)


def _soonest(
    tx: Transaction, population: Population, policy: AgingPolicy, *, now: int, days: float
) -> list[Memory]:
    """Return the memories that leave first."""
    future = foresee(population, policy, now, until=now + int(days * DAY))
    first = [row for row in np.argsort(future.leaves_at, kind="stable")[:SOONEST] if future.rule(row)]
    keys = [int(population.keys[row]) for row in first]
    memories = tx.memories.by_keys(keys)
    return [memories[key] for key in keys if key in memories]


def _census(
    population: Population, policy: AgingPolicy, now: int, points: Sequence[int]
) -> tuple[Census, ...]:
    return tuple(
        Census(
            at=_moment(at),
            tiers={tier: int(number) for tier, number in zip(TIERS, numbers, strict=True)},
            left=left,
        )
        for at, numbers, left in census(population, policy, now, at=points)
    )


def _check(days: float) -> None:
    if not 0 < days <= MOST_DAYS:
        raise InvalidQuery(f"days={days:g} is outside 0 to {MOST_DAYS}")


def _moment(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
