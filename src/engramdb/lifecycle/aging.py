"""
Let a store age once, and foresee how it will: `age`, `forecast` and `compare_policies`.

A sweep is for the whole store and reports ids and numbers only; a forecast shows memories, so it keeps to
the scope.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.clock import Clock
from engramdb.errors import EmbeddingError, EngramError, InvalidQuery
from engramdb.health import Health
from engramdb.lifecycle.change import find
from engramdb.lifecycle.curves import TIERS, importance_of, recalled_at, retention, tier_of
from engramdb.lifecycle.forecast import DAY, Future, after_leaving, census, foresee
from engramdb.lifecycle.lease import held
from engramdb.lifecycle.questions import stale_question
from engramdb.lifecycle.rules import LIVING
from engramdb.lifecycle.sweep import AGER, SessionAccounts, Sweeper, sweep
from engramdb.models.embedder import Embedder
from engramdb.policy import PRESETS, AgingPolicy, Policy
from engramdb.store.contract import Store, Transaction
from engramdb.values import (
    Action,
    AgeReport,
    Census,
    EmbedderIdentity,
    Forecast,
    ForecastChange,
    Memory,
    MemoryId,
    Outlook,
    Scope,
)
from engramdb.values.aging import LAYERS, NEVER
from engramdb.values.population import Population, concatenate, population_of, to_microseconds

Ints = NDArray[np.int64]

PAGE_ROWS = 20_000
POINTS = 53
"""So many moments of a forecast are counted: every week of a year."""
SOONEST = 20
"""So many memories are shown with their own outlook."""
MOST_DAYS = 36_500
LEASE_MINUTES = 5.0
"""How long a sweep may be silent before another process takes over; it shows itself with every page."""


class SummarizesSessions(Protocol):
    """Stores the summary of a session whose episodes are about to leave, and says what it tells."""

    def cover(self, session: str, scope: Scope, *, dry_run: bool = False) -> frozenset[MemoryId]: ...


class AgingParts(Protocol):
    """What a sweep needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def store(self) -> Store: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def summarizer(self) -> SummarizesSessions: ...
    @property
    def stop(self) -> threading.Event: ...


def age_once(
    parts: AgingParts,
    *,
    dry_run: bool,
    progress: Callable[[int], None] | None,
) -> AgeReport:
    """Let the store age once; a dry run only tells, and needs no lease."""
    policy, clock = parts.policy, parts.clock
    sweeper = Sweeper(
        store=parts.store,
        policy=policy.aging,
        policy_name=policy.name,
        now=clock.now(),
        dry_run=dry_run,
        identity=_identity(parts),
        summarize=lambda ends: _summarize_sessions(parts, ends, dry_run=dry_run),
        stop=parts.stop,
        progress=progress,
    )
    with parts.health.watch("aging"), parts.store.background_writes():
        if dry_run:
            return sweep(sweeper)
        with (
            held(parts.store, "age", minutes=LEASE_MINUTES, clock=clock.now) as lease,
            parts.store.one_act(Action.AGE, actor=AGER, at=sweeper.now),
        ):
            return sweep(replace(sweeper, progress=lease.renewed_by(parts.store, progress)))


def _summarize_sessions(
    parts: AgingParts, ends: Mapping[tuple[int, str], int], *, dry_run: bool
) -> SessionAccounts:
    """Summarize the sessions that are about to lose their episodes, and return what the summaries tell."""
    covered, failures = set[MemoryId](), []
    for number, session in ends:
        with parts.store.read() as tx:
            place = tx.scopes.get(number)
        try:
            covered |= parts.summarizer.cover(session, place, dry_run=dry_run)
        except EngramError as exc:
            failures.append(f"{exc.code}: a session could not be summarised")
    return SessionAccounts(frozenset(covered), tuple(failures))


def _identity(parts: AgingParts) -> EmbedderIdentity | None:
    """Return whose vectors the store holds; None while the embedder cannot say."""
    try:
        return parts.embedder.identity
    except EmbeddingError:
        return None


def forecast_memory(parts: AgingParts, memory_id: MemoryId, *, scope: Scope, days: float) -> Forecast:
    """Return what becomes of one memory if nothing happens."""
    policy = parts.policy
    with parts.store.read() as tx:
        memory = find(tx, memory_id, scope)
        around = surroundings(tx, [memory], policy.aging)
    return forecast_one(memory, policy.aging, policy.name, now=parts.clock.now(), days=days, around=around)


def forecast_scope(parts: AgingParts, scope: Scope | None, *, days: float) -> Forecast:
    """Return what becomes of the memories that a scope sees; for None, of all, counted and not shown."""
    policy = parts.policy
    return forecast(parts.store, policy.aging, policy.name, scope=scope, now=parts.clock.now(), days=days)


def compare_presets(
    parts: AgingParts, scope: Scope | None, *, days: Sequence[float]
) -> Mapping[str, Sequence[Census]]:
    """Return what each preset would keep of these memories after so many days each, if nothing happens."""
    chosen = presets_with(parts.policy.name, parts.policy.aging)
    return compare(parts.store, chosen, scope=scope, now=parts.clock.now(), days=days)


def forecast(
    store: Store, policy: AgingPolicy, name: str, *, scope: Scope | None, now: datetime, days: float
) -> Forecast:
    """Return what becomes of the memories that a scope sees; for None, of all, counted and not shown."""
    _check(days)
    moment = to_microseconds(now)
    with store.read() as tx:
        population = _living(tx, [policy], scope=scope)
        shown = [] if scope is None else _soonest(tx, population, policy, now=moment, days=days)
        around = surroundings(tx, shown, policy)
    points = [moment + int(days * DAY * step / (POINTS - 1)) for step in range(POINTS)]
    return Forecast(
        made_at=now,
        days=days,
        policy=name,
        population=len(population),
        census=_census(population, policy, moment, points),
        soonest=tuple(outlooks(shown, policy, now=now, days=days, around=around)),
    )


def forecast_one(
    memory: Memory, policy: AgingPolicy, name: str, *, now: datetime, days: float, around: Surroundings
) -> Forecast:
    """Return what becomes of one memory in such surroundings."""
    _check(days)
    moment = to_microseconds(now)
    points = [moment + int(days * DAY * step / (POINTS - 1)) for step in range(POINTS)]
    return Forecast(
        made_at=now,
        days=days,
        policy=name,
        population=1,
        census=_census(_columns([memory], around), policy, moment, points),
        soonest=tuple(outlooks([memory], policy, now=now, days=days, around=around)),
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
    """Return the aging of every preset, with the store's own in place of the one that it was made from."""
    return {preset: own if preset == name else policy.aging for preset, policy in PRESETS.items()}


class Surroundings(Struct, frozen=True):
    """What the store knows of memories besides what they are, each at the same place."""

    session_ended: Ints
    """When the session of each ended, as the sweep sees it, where the policy asks for that."""
    asked: Ints
    """When somebody was asked whether it still holds."""


def surroundings(tx: Transaction, memories: Sequence[Memory], policy: AgingPolicy) -> Surroundings:
    """Return what the store knows of these memories besides what they are."""
    ends = tx.ages.session_ends(before=NEVER) if "stale_session" in policy.rules else {}
    ended, asked = [], []
    for memory in memories:
        # A summary does not leave with its session.
        session = "" if memory.is_session_summary else memory.provenance.session or ""
        ended.append(ends.get((tx.scopes.find(memory.scope) or 0, session), NEVER))
        gap = tx.gaps.get(stale_question(memory, priority=0, now=memory.updated_at).id, scope=memory.scope)
        moments = () if gap is None else (gap.found_at, gap.snoozed_until or gap.found_at)
        asked.append(to_microseconds(max(moments)) if moments else NEVER)
    return Surroundings(np.array(ended, np.int64), np.array(asked, np.int64))


def outlooks(
    memories: Sequence[Memory],
    policy: AgingPolicy,
    *,
    now: datetime,
    days: float,
    around: Surroundings,
) -> list[Outlook]:
    """Return each memory's future, as it is and as it would be after one more recall."""
    if not memories:
        return []
    recalled = [recalled_at(memory, policy, now, is_new_session=True) for memory in memories]
    left = retention(population_of(memories), policy, to_microseconds(now))
    plain = _changes(_columns(memories, around), policy, now=now, days=days)
    better = _changes(_columns(recalled, around), policy, now=now, days=days)
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


def _columns(memories: Sequence[Memory], around: Surroundings) -> Population:
    return replace(population_of(memories), session_ended=around.session_ended, asked=around.asked)


def _changes(
    population: Population, policy: AgingPolicy, *, now: datetime, days: float
) -> list[tuple[ForecastChange, ...]]:
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


def _moves(future: Future, row: int) -> list[ForecastChange]:
    """Return when a memory changes layer and tier, as long as it is there."""
    end = int(future.leaves_at[row])
    found = []
    if future.layer_at[row] <= end and future.layer_at[row] != NEVER:
        layer = LAYERS[int(future.settled.layers[row])]
        found.append(ForecastChange(at=_moment(int(future.layer_at[row])), what=layer, kind="layer"))
    falls = [(int(future.below[tier][row]), lower) for tier, lower in itertools.pairwise(TIERS)]
    for place, (at, tier) in enumerate(falls):
        is_passed_at_once = place + 1 < len(falls) and falls[place + 1][0] == at
        if at != NEVER and at <= end and not is_passed_at_once:
            found.append(ForecastChange(at=_moment(at), what=tier, kind="tier"))
    return found


def _leaves(future: Future, row: int) -> list[ForecastChange]:
    rule = future.rule(row)
    if rule is None:
        return []
    return [
        ForecastChange(at=_moment(int(future.leaves_at[row])), what=rule.name, kind="leaves", status=rule.to)
    ]


def _living(tx: Transaction, policies: Iterable[AgingPolicy], *, scope: Scope | None) -> Population:
    """Return the living memories that a scope sees, or all of them, in one population for these policies."""
    asks_for_sessions = any("stale_session" in policy.rules for policy in policies)
    ends = tx.ages.session_ends(before=NEVER) if asks_for_sessions else {}
    pages, after = [], 0
    while len(page := tx.ages.page(after_key=after, limit=PAGE_ROWS, scope=scope, session_ends=ends)):
        pages.append(page.take(page.has(*LIVING)))
        after = int(page.keys[-1])
    return concatenate(pages)


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
