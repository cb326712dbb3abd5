"""Laws of aging: curves only fall, use only helps, pins hold, pages do not matter, forecasts come true."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engramdb import Engram, Settings
from engramdb.lifecycle.curves import TIERS, importance, recalled_at, retention, tiers
from engramdb.lifecycle.forecast import DAY, foresee, simulate
from engramdb.lifecycle.rules import LIVING, STAYS, judge
from engramdb.lifecycle.sweep import Sweeper, sweep
from engramdb.policy import PRESETS
from engramdb.policy.aging import CURVES
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import AccessLog, Affect, Kind, Layer, Memory, Provenance, Scope, Source, Status, new_id
from engramdb.values.population import population_of, to_microseconds
from engramdb.values.reading import Lasting

if TYPE_CHECKING:
    from engramdb.lifecycle.forecast import Future
    from engramdb.policy import AgingPolicy
    from engramdb.values import Census
    from engramdb.values.population import Population

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MOMENT = to_microseconds(NOW)
A_HAIR = 1e-12
SECONDS_A_YEAR = 365 * 86_400

shares = st.floats(0, 1) | st.sampled_from([0.0, 0.05, 0.15, 0.3, 0.4, 0.7, 0.9, 1.0])
seconds_ago = st.integers(0, SECONDS_A_YEAR) | st.sampled_from([0, 1800, 30 * 86_400, 90 * 86_400])
policies = st.sampled_from([policy.aging for policy in PRESETS.values()])
presets = pytest.mark.parametrize("preset", list(PRESETS))
every_curve = [replace(PRESETS["balanced"].aging, curve=curve) for curve in CURVES]
curves = st.sampled_from(every_curve)


@st.composite
def memories(draw: st.DrawFn, /, **fixed: Any) -> Memory:
    """A memory with a past: made, confirmed, recalled at any time up to now."""
    made = NOW - timedelta(seconds=draw(seconds_ago))
    since = int((NOW - made).total_seconds())
    moments = sorted(
        made + timedelta(seconds=one) for one in draw(st.lists(st.integers(0, since), max_size=6))
    )
    more = draw(st.integers(0, 30)) if moments else 0
    is_confirmed = draw(st.booleans())
    fields = {
        "status": draw(st.sampled_from([Status.ACTIVE] * 4 + [Status.CHALLENGED])),
        "layer": draw(st.sampled_from(Layer)),
        "kind": draw(st.sampled_from(Kind)),
        "category": draw(st.sampled_from(["fact", "preference", "commitment", "correction", "bug"])),
        "provenance": Provenance(source=draw(st.sampled_from(Source))),
        "extractor": draw(st.sampled_from([None, "heuristic-1"])),
        "lasting": draw(st.sampled_from([None, *Lasting])),
        "confidence": draw(shares),
        "importance": draw(shares),
        "strength": draw(shares),
        "stability": draw(st.floats(0.1, 8)),
        "reinforcements": draw(st.integers(0, 8)),
        "affect": Affect(arousal=draw(shares)),
        "pinned": draw(st.sampled_from([False, False, False, True])),
        "layer_held": draw(st.sampled_from([False, False, True])),
        "confirmed_at": made + timedelta(seconds=draw(st.integers(0, since))) if is_confirmed else None,
        "forget_after": draw(st.none() | st.integers(0, SECONDS_A_YEAR).map(later)),
        "access": AccessLog(
            count=len(moments) + more,
            last_at=moments[-1] if moments else None,
            recent=tuple(moments),
            sessions=draw(st.integers(0, len(moments))),
        ),
    }
    one = Memory(id=new_id(made), content="a statement", created_at=made, updated_at=made)
    return one.evolve(**(fields | fixed))


def later(seconds: int) -> datetime:
    """A moment so many seconds from now."""
    return NOW + timedelta(seconds=seconds)


def recalled(memory: Memory, *, at: datetime = NOW) -> Memory:
    """The memory after one more recall."""
    return recalled_at(memory, PRESETS["balanced"].aging, at, is_new_session=True)


# --- curves -------------------------------------------------------------------------------------------------


@given(
    memory=memories(), policy=curves, steps=st.lists(st.integers(0, SECONDS_A_YEAR), min_size=2, max_size=8)
)
def test_nothing_grows_by_being_left_alone(memory: Memory, policy: AgingPolicy, steps: list[int]) -> None:
    """Neither what is left of a memory nor its importance rises with idle time, and both stay in 0 to 1."""
    times = [MOMENT + 1_000_000 * second for second in sorted(steps)]

    left = [float(retention(population_of([memory]), policy, at)[0]) for at in times]
    matters = [float(importance(population_of([memory]), policy, at)[0]) for at in times]

    for falling in (left, matters):
        assert all(0 <= one <= 1 for one in falling)
        assert all(before + A_HAIR >= after for before, after in itertools.pairwise(falling))


@given(memory=memories(), policy=curves, wait=st.integers(0, SECONDS_A_YEAR))
def test_one_more_recall_never_lowers(memory: Memory, policy: AgingPolicy, wait: int) -> None:
    """Neither at once nor at any later time, neither what is left nor what it matters."""
    both, at = population_of([memory, recalled(memory)]), MOMENT + 1_000_000 * wait

    without, with_it = retention(both, policy, at)
    mattered, matters = importance(both, policy, at)

    assert with_it + A_HAIR >= without
    assert matters + A_HAIR >= mattered


@given(some=st.lists(memories(), min_size=1, max_size=6), policy=curves, steps=st.data())
def test_a_memory_fades_the_same_alone_and_among_others(
    some: list[Memory], policy: AgingPolicy, steps: st.DataObject
) -> None:
    """Columns of many at moments of their own are the numbers of each by itself."""
    seconds = steps.draw(st.lists(st.integers(0, SECONDS_A_YEAR), min_size=len(some), max_size=len(some)))
    moments = MOMENT + 1_000_000 * np.array(seconds, np.int64)

    together = retention(population_of(some), policy, moments)
    alone = [
        float(retention(population_of([one]), policy, int(at))[0])
        for one, at in zip(some, moments, strict=True)
    ]

    assert together == pytest.approx(alone, abs=A_HAIR)


# --- pins ---------------------------------------------------------------------------------------------------


@given(
    some=st.lists(memories(pinned=True), min_size=1, max_size=8), policy=policies, days=st.integers(0, 2000)
)
def test_no_rule_wants_a_pinned_memory(some: list[Memory], policy: AgingPolicy, days: int) -> None:
    """At no time, by no rule of any preset, however full the project is."""
    crowded = replace(policy, project_most=1)

    verdicts = judge(population_of(some), crowded, MOMENT + days * DAY)
    *_, (_, tiers, left) = simulate(population_of(some), crowded, MOMENT, until=MOMENT + 3 * DAY)

    assert (verdicts.leaving == STAYS).all()
    assert not any(due.any() for due in verdicts.due.values())
    assert (len(tiers), left) == (len(some), Counter())


# --- pages --------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(
    some=st.lists(memories(), min_size=1, max_size=20),
    policy=policies,
    page_rows=st.integers(1, 30),
    waits=st.lists(st.integers(0, 200), min_size=1, max_size=3),
)
def test_the_size_of_a_page_changes_nothing(
    some: list[Memory], policy: AgingPolicy, page_rows: int, waits: list[int]
) -> None:
    """The same history gives the same end, the same counts and the same reasons."""
    small = replace(policy, evict_most=3, project_most=4)

    one_by_one = aged(some, small, waits, page_rows=page_rows)
    at_once = aged(some, small, waits, page_rows=5_000)

    assert one_by_one == at_once


def aged(
    some: list[Memory], policy: AgingPolicy, waits: list[int], *, page_rows: int
) -> tuple[list[dict[str, int]], list[tuple[Status, Layer, list[str]]]]:
    """Let memories live through sweeps some days apart: what each reported, and what became of everybody."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore.open(str(Path(folder) / "memory.db"), now=NOW, is_durable=False)
        with store.atomic() as tx:
            for one in some:
                tx.memories.add(one, fingerprint=one.id.encode())
        now, reports = NOW, []
        for wait in waits:
            now += timedelta(days=wait)
            sweeper = Sweeper(store=store, policy=policy, policy_name="p", now=now, page_rows=page_rows)
            reports.append(dict(sweep(sweeper).by_rule))
        with store.read() as tx:
            end = [
                (one.status, one.layer, [event.reason for event in tx.history.of(one.id)])
                for one in tx.memories.by_keys(list(range(1, len(some) + 1))).values()
            ]
        store.close()
    return reports, end


# --- forecasts ----------------------------------------------------------------------------------------------


@given(memory=memories(), policy=policies)
def test_a_rule_is_due_from_the_foreseen_moment_on(memory: Memory, policy: AgingPolicy) -> None:
    """A microsecond before nobody wants it; at the moment that rule does, and somebody ever after."""
    future = foresee(population_of([memory]), policy, MOMENT, until=MOMENT + 400 * DAY)
    at, rule = int(future.leaves_at[0]), future.rule(0)

    if rule is None:
        assert wanted(future.settled, policy, MOMENT + 400 * DAY) is None
        return
    assert wanted(future.settled, policy, at) == rule.name
    assert at == MOMENT or wanted(future.settled, policy, at - 1) is None
    assert all(wanted(future.settled, policy, at + days * DAY) for days in (1, 10, 100, 1000))


def wanted(population: Population, policy: AgingPolicy, at: int) -> str | None:
    """The rule that wants the only memory of a population at a moment; to be evictable counts."""
    verdicts = judge(population, policy, at)
    place = int(verdicts.leaving[0])
    if place != STAYS:
        return verdicts.rules[place].name
    return "evicted" if "evicted" in verdicts.due and verdicts.due["evicted"][0] else None


@presets
@settings(max_examples=6)
@given(some=st.lists(memories(), min_size=3, max_size=12))
def test_a_forecast_comes_true(preset: str, some: list[Memory]) -> None:
    """A sweep a day for five months: the census is right at all times, and every memory leaves on its day."""
    clock = ManualClock(NOW)
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "m.db", preset, clock) as engram:
        put(engram, some)
        policy = engram._parts.policy.aging
        future = foresee(living(engram), policy, MOMENT, until=MOMENT + 156 * DAY)
        told = {one.at: one for one in engram.forecast(days=156, everywhere=True).census}

        left: dict[str, tuple[int, str]] = {}
        for day in range(157):
            moves = [one for one in engram.age().moves if one.status is not None]
            left |= {one.memory_id: (day, one.rule) for one in moves if one.rule != "archive_ended"}
            if clock.now() in told:
                assert_counted(engram, told[clock.now()], Counter(rule for _, rule in left.values()))
            clock.advance(days=1)

        if preset != "tiered":  # who is chosen has no moment of their own; the census has them
            assert_left_as_foreseen(engram, future, left)


def assert_counted(engram: Engram, told: Census, left: Counter[str]) -> None:
    """The tiers are those of the living, and so many have left; where sweeps were played, by those rules."""
    page, policy = living(engram), engram._parts.policy.aging
    codes = tiers(retention(page, policy, to_microseconds(told.at)), policy)
    assert told.tiers == {tier: int((codes == code).sum()) for code, tier in enumerate(TIERS)}
    assert sum(told.left.values()) == left.total()
    if "evicted" in policy.rules:
        assert told.left == left


def assert_left_as_foreseen(engram: Engram, future: Future, days_left: dict[str, tuple[int, str]]) -> None:
    """Each memory left at the first sweep after its moment, by its rule or one that was due by then too."""
    with engram._parts.store.read() as tx:
        ids = {key: one.id for key, one in tx.memories.by_keys(future.settled.keys.tolist()).items()}
    for row, key in enumerate(future.settled.keys.tolist()):
        rule = future.rule(row)
        if rule is None:
            assert ids[key] not in days_left
            continue
        day, name = days_left[ids[key]]
        at = int(future.leaves_at[row])
        assert day == -(-(at - MOMENT) // DAY)
        if name != rule.name:  # two rules became due between two sweeps, and the other is asked first
            some = future.settled.take(np.array([row]))
            assert wanted(some, engram._parts.policy.aging, MOMENT + day * DAY) == name


@presets
@settings(max_examples=4)
@given(memory=memories(status=Status.ACTIVE, pinned=False))
def test_one_more_recall_is_what_the_outlook_says(preset: str, memory: Memory) -> None:
    """The future that was foretold for a recall is the future after one, in a session of its own."""
    assume(memory.forget_after is None or memory.forget_after > NOW)
    with (
        tempfile.TemporaryDirectory() as folder,
        opened(Path(folder) / "memory.db", preset, ManualClock(NOW)) as engram,
    ):
        put(engram, [memory])
        (foretold,) = engram.forecast(memory.id, days=100).soonest

        answer = engram.recall("statement", session="another")
        (real,) = engram.forecast(memory.id, days=100).soonest

        assert [hit.memory.id for hit in answer.hits] == [memory.id]
        assert real.changes == foretold.after_recall


def opened(path: Path, preset: str, clock: ManualClock) -> Engram:
    """A memory under a preset whose rules that choose are tight enough to matter for a dozen."""
    tight = {"aging": {"evict_most": 2, "project_most": 5}}
    return Engram.open(
        path,
        settings=Settings(policy=preset, overrides=tight, durability="relaxed"),
        clock=clock,
        embedder=TinyEmbedder(),
        background=False,
    )


def put(engram: Engram, some: list[Memory]) -> None:
    """Store memories as they are, in two projects."""
    with engram._parts.store.atomic() as tx:
        for number, one in enumerate(some):
            kept = one.evolve(scope=Scope(project="p") if number % 3 == 1 else one.scope)
            key = tx.memories.add(kept, fingerprint=one.id.encode())
            tx.terms.put(key, ["statement"])
            tx.memories.mark_enriched(key)


def living(engram: Engram) -> Population:
    """The living memories as columns."""
    with engram._parts.store.read() as tx:
        page = tx.ages.page(after_key=0, limit=1_000)
    return page.take(page.has(*LIVING))
