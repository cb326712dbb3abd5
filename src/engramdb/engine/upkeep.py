"""Verbs for the whole store: status, doctor, rebuild, aging, forecast."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from os import PathLike
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.dream.run import LEASE_MINUTES
from engramdb.engine.assemble import Parts
from engramdb.engine.doctor import embed_pending, examine, rebuild
from engramdb.engine.handle import Handle
from engramdb.engine.status import overview
from engramdb.errors import EmbeddingError, EngramError, InvalidQuery
from engramdb.lifecycle.change import find
from engramdb.lifecycle.curves import TIERS, importance_of, retention, tier_of
from engramdb.lifecycle.enrich import enrich_pending
from engramdb.lifecycle.forecast import DAY, Future, after_leaving, census, foresee
from engramdb.lifecycle.lease import held
from engramdb.lifecycle.rules import LIVING
from engramdb.lifecycle.sweep import Sweeper, sweep
from engramdb.policy import PRESETS, AgingPolicy
from engramdb.store.contract import Store, Transaction
from engramdb.values import (
    Action,
    AgeReport,
    AuditEvent,
    Backup,
    Census,
    DoctorReport,
    EmbedderIdentity,
    Forecast,
    ForecastChange,
    Memory,
    MemoryId,
    Outlook,
    Scope,
    StatusReport,
)
from engramdb.values.population import (
    LAYERS,
    NEVER,
    Population,
    joined,
    population_of,
    recalled_at,
    to_microseconds,
)
from engramdb.values.query import check_limit, check_number

# The verbs for the whole store: its state, its health, its derived data, its ageing and what will become of
# it.
#
# Part of `Engram`; each is a few lines that call one room. They look at the whole store whatever the scope,
# and
# answer with counts and ids; only a forecast shows memories, and those of its scope alone.


class Upkeep(Handle):
    """Verbs that look after the whole store."""

    def status(self) -> StatusReport:
        """Return a look at the whole: counts, sizes, what waits, what fails."""
        return overview(self._parts)

    def doctor(self, *, fix: bool = False, progress: Callable[[int], None] | None = None) -> DoctorReport:
        """Examine the store and its parts; with `fix`, rebuild what is derived and wrong."""
        return examine(self._parts.store, self._parts.embedder, fix=fix, progress=progress)

    def backup(self, path: str | PathLike[str]) -> Backup:
        """
        Write a whole copy of the store to a path where nothing is, while others go on using it.

        It is as the store is at one moment, with the same key, and its owner's alone.
        """
        self._reads.write(self._now())
        target = Path(path).expanduser().absolute()
        self._parts.store.back_up(target)
        with self._parts.store.atomic() as tx:
            tx.audit.add(AuditEvent(at=self._now(), action=Action.BACK_UP, actor=self._actor))
        return Backup(path=str(target), size_bytes=target.stat().st_size)

    def audit(self, *, limit: int = 50, before: int | None = None) -> Sequence[AuditEvent]:
        """
        Return who did what in the store, newest first: ids, counts and reasons, never a memory's words.

        `before` an event's `number` gives the page after it.
        """
        check_limit(limit)
        if before is not None:
            check_number("before", before)
        with self._parts.store.read() as tx:
            return tx.audit.recent(limit=limit, before=before)

    def embed_pending(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Embed now what waits for it, and return how many memories that were."""
        return embed_pending(self._parts.store, self._parts.embedder, progress=progress)

    def enrich(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Infer now what waits to be inferred from statements that came in bulk, and return how many."""
        return enrich_pending(self._parts.store, now=self._now(), progress=progress)

    def rebuild(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Make every derived index anew from the memories, and return how many there were."""
        done = rebuild(self._parts.store, self._parts.embedder, progress=progress)
        self._parts.spaces.rebuild(self._parts.store)
        return done

    def age(self, *, dry_run: bool = False, progress: Callable[[int], None] | None = None) -> AgeReport:
        """
        Let the whole store age once: layers change, and what a rule of the policy is due for leaves.

        Works in small writes beside everything else; an interrupted sweep goes on where it stopped. With
        `dry_run` it only tells what it would do. `restore` brings back what a rule removed.
        """
        self._reads.write(self._now())
        return age_once(self._parts, dry_run=dry_run, summarise=self._summarise_sessions, progress=progress)

    def forecast(
        self,
        memory_id: MemoryId | None = None,
        *,
        days: float = 365,
        everywhere: bool = False,
        scope: Scope | None = None,
    ) -> Forecast:
        """
        Say what will fade, move and leave within so many days if nothing happens, of one memory or of all.

        Covers what the scope sees; `everywhere` counts the whole store instead and shows no memory.
        """
        policy, now, place = self._parts.policy, self._now(), self._in(scope)
        self._reads.write(now)
        if memory_id is not None:
            target = self._resolve(memory_id, scope)
            with self._parts.store.read() as tx:
                memory = find(tx, target, place)
                ends = session_ends(tx, [memory], policy.aging)
            return forecast_one(memory, policy.aging, policy.name, now=now, days=days, ends=ends)
        return forecast(
            self._parts.store,
            policy.aging,
            policy.name,
            scope=None if everywhere else place,
            now=now,
            days=days,
        )

    def compare_policies(
        self,
        *,
        days: Sequence[float] = (30, 90, 365),
        everywhere: bool = False,
        scope: Scope | None = None,
    ) -> Mapping[str, Sequence[Census]]:
        """Say what each preset would keep of these memories after so many days each, if nothing happens."""
        policy = self._parts.policy
        self._reads.write(self._now())
        return compare(
            self._parts.store,
            presets_with(policy.name, policy.aging),
            scope=None if everywhere else self._in(scope),
            now=self._now(),
            days=days,
        )

    def _summarise_sessions(self, ends: Mapping[tuple[int, str], int]) -> dict[tuple[int, str], str]:
        """Summarise the sessions that are about to lose their episodes, and return which failed, and why."""
        failed = {}
        for number, session in ends:
            with self._parts.store.read() as tx:
                place = tx.scopes.get(number)
            try:
                self._summarise(session, place)
            except EngramError as exc:
                failed[number, session] = f"{exc.code}: a session could not be summarised"
        return failed


# One sweep of ageing over the whole store.


def age_once(
    parts: Parts,
    *,
    dry_run: bool,
    summarise: Callable[[Mapping[tuple[int, str], int]], dict[tuple[int, str], str]],
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
        summarise=summarise,
        stop=parts.stop,
        progress=progress,
    )
    with parts.health.watch("ageing"):
        if dry_run:
            return sweep(sweeper)
        with held(parts.store, "age", minutes=LEASE_MINUTES, clock=clock.now) as lease:
            return sweep(replace(sweeper, progress=lease.renewed_by(parts.store, progress)))


def _identity(parts: Parts) -> EmbedderIdentity | None:
    """Return whose vectors the store holds; None while the embedder cannot say."""
    try:
        return parts.embedder.identity
    except EmbeddingError:
        return None


# Age a store and foresee its ageing: what `Engram.age`, `forecast` and `compare_policies` do.
#
# Called by `Engram`; hands the store's columns to `aging`. A sweep is for the whole store, like `doctor`, and
# reports ids and numbers only; a forecast shows memories, so it keeps to the scope.

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
    return replace(population_of(memories), session_ended=ends)


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
