"""The preset `tiered`: salience and recent use make a score, the score a tier, and the lowest leave."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec.structs import replace

from engramdb import Draft
from engramdb.lifecycle.curves import tier_of
from engramdb.lifecycle.rules import choose_crowded, choose_evicted
from engramdb.policy.aging import TIERED
from engramdb.values import AccessLog, Kind, Layer, Status, Tier
from engramdb.values.population import population_of, to_microseconds

from .made import BORN, SECOND, days, extracted, is_due, leaves, left, open_aging, recalls, stated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from engramdb import Engram
    from engramdb.testing import ManualClock
    from engramdb.values import Memory
    from engramdb.values.population import Population

# --- the score ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "weight"),
    [
        ("architecture", 0.9),
        ("preference", 0.85),
        ("pattern", 0.8),
        ("bug", 0.7),
        ("workflow", 0.6),
        ("fact", 0.5),
        ("general", 0.5),
        ("a-word-of-the-users-own", 0.5),
    ],
)
def test_salience_begins_with_the_category(category: str, weight: float) -> None:
    """The six weights of the source, and a half for what it does not name."""
    assert left(stated(category=category), TIERED, 0) == pytest.approx(weight)


def test_an_unused_memory_halves_in_sixty_nine_days() -> None:
    """λ = 0.01 a day: ln 2 / λ is 69.3 days, counted from birth."""
    memory = stated(category="architecture")

    assert left(memory, TIERED, 69) == pytest.approx(0.45, abs=0.002)
    assert left(memory, TIERED, math.log(2) / 0.01) == pytest.approx(0.45)
    assert left(memory, TIERED, 100) == pytest.approx(0.9 / math.e)


@pytest.mark.parametrize(("days_ago", "boost"), [(1, 0.3), (2, 0.15), (3, 0.1), (30, 0.01), (0.5, 0.6)])
def test_a_recall_adds_three_tenths_over_its_days(days_ago: float, boost: float) -> None:
    """One of yesterday adds 0.3, one of thirty days ago 0.01."""
    memory = stated(access=recalls(1, days=200 - days_ago))

    salience = (0.5 + 0.02) * math.exp(-0.01 * 200)
    assert left(memory, TIERED, 200) == pytest.approx(salience + boost)


def test_every_recent_recall_adds_its_part() -> None:
    """The sum over the recalls that are remembered one by one."""
    moments = tuple(BORN + days(number) for number in (190, 198, 199))
    memory = stated(access=AccessLog(count=3, last_at=moments[-1], recent=moments))

    salience = (0.5 + 0.06) * math.exp(-2)
    assert left(memory, TIERED, 200) == pytest.approx(salience + 0.03 + 0.15 + 0.3)


def test_a_recall_of_this_very_moment_is_not_worth_infinitely_much() -> None:
    """It counts as an hour ago: the score is finite and cut off at one."""
    memory = stated(access=recalls(1, days=200))

    assert left(memory, TIERED, 200) == 1
    assert left(memory, replace(TIERED, sigma_days=0.001), 200) == pytest.approx(
        0.52 * math.exp(-2) + 0.001 * 24
    )


@pytest.mark.parametrize(
    ("count", "gain"), [(1, 0.02), (5, 0.1), (9, 0.18), (10, 0.2), (11, 0.2), (500, 0.2)]
)
def test_salience_grows_for_ten_recalls(count: int, gain: float) -> None:
    """Two hundredths each, and no more than two tenths."""
    long_ago = AccessLog(count=count, last_at=BORN)

    assert left(stated(access=long_ago), TIERED, 50) == pytest.approx((0.5 + gain) * math.exp(-0.5))


def test_a_confirmed_memory_is_as_young_as_its_confirmation() -> None:
    """What is stated again, or brought back, fades from there on: otherwise it would be evicted at once."""
    memory = stated(confirmed_at=BORN + days(300))

    assert left(memory, TIERED, 300) == pytest.approx(0.5)
    assert left(memory, TIERED, 400) == pytest.approx(0.5 / math.e)


# --- tiers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "tier"),
    [
        (1.0, Tier.HOT),
        (0.7, Tier.HOT),
        (math.nextafter(0.7, 0), Tier.WARM),
        (0.4, Tier.WARM),
        (math.nextafter(0.4, 0), Tier.COLD),
        (0.15, Tier.COLD),
        (math.nextafter(0.15, 0), Tier.EVICTABLE),
        (0.0, Tier.EVICTABLE),
    ],
)
def test_a_tier_begins_at_its_threshold(score: float, tier: Tier) -> None:
    """Hot from 0.7, warm from 0.4, cold from 0.15; the number itself belongs to the higher tier."""
    assert tier_of(score, TIERED) is tier


def test_tiers_are_policy() -> None:
    """Other thresholds give other tiers."""
    assert tier_of(0.5, replace(TIERED, hot=0.5)) is Tier.HOT
    assert tier_of(0.5, replace(TIERED, warm=0.6)) is Tier.COLD


# --- leaving ------------------------------------------------------------------------------------------------


def test_a_fact_can_be_evicted_after_a_hundred_and_twenty_days() -> None:
    """0.5 · e^(−0.01 t) falls below 0.15 there."""
    falls = days(math.log(0.5 / 0.15) / 0.01)

    assert not is_due("evicted", stated(), TIERED, falls - SECOND)
    assert is_due("evicted", stated(), TIERED, falls + SECOND)


def test_the_lowest_leave_first_and_at_most_fifty() -> None:
    """Lowest score first; among equals, the oldest."""
    scores, keys = np.linspace(0.14, 0.0, 120), np.arange(120)
    equal = np.full(120, 0.1)

    lowest = choose_evicted(scores, keys, most=TIERED.evict_most)
    oldest = choose_evicted(equal, keys[::-1], most=TIERED.evict_most)

    assert lowest.tolist() == list(range(119, 69, -1))
    assert keys[::-1][oldest].tolist() == list(range(50))


@pytest.mark.parametrize(("too_many", "gone"), [(-1, 0), (0, 0), (1, 1), (7, 7)])
def test_a_project_holds_ten_thousand(too_many: int, gone: int) -> None:
    """Beyond that the least important leave, and only so many."""
    size = TIERED.project_most + too_many
    importance, keys = np.linspace(0, 1, size), np.arange(size)

    chosen = choose_crowded(
        importance, keys, np.zeros(size, np.int64), totals={0: size}, most=TIERED.project_most
    )

    assert TIERED.project_most == 10_000
    assert chosen.tolist() == list(range(gone))


def test_each_project_has_its_own_limit() -> None:
    """What one project holds too many does not cost another."""
    projects = np.array([1, 1, 1, 2, 2])

    chosen = choose_crowded(
        np.array([0.3, 0.1, 0.2, 0.0, 0.0]), np.arange(5), projects, totals={1: 3, 2: 2}, most=2
    )

    assert chosen.tolist() == [1]


@pytest.mark.parametrize(
    ("layer", "due"), [(Layer.WORKING, True), (Layer.EPISODIC, True), (Layer.SEMANTIC, False)]
)
def test_knowledge_is_not_crowded_out(layer: Layer, due: bool) -> None:
    """The limit is about observations."""
    assert is_due("crowded_out", stated(layer=layer), TIERED, timedelta()) is due


def test_what_was_brought_back_is_not_crowded_out_for_thirty_days() -> None:
    """Stated again or restored, it gets a half-life; a full project would take it at once otherwise."""
    back = stated(confirmed_at=BORN + days(10))

    assert not is_due("crowded_out", back, TIERED, days(10))
    assert not is_due("crowded_out", back, TIERED, days(40))
    assert is_due("crowded_out", back, TIERED, days(40) + SECOND)


@pytest.mark.parametrize(("after", "rule"), [(days(90), None), (days(90) + SECOND, "low_value")])
def test_unimportant_observations_leave_after_ninety_days(after: timedelta, rule: str | None) -> None:
    """Ninety days to the second."""
    assert leaves(stated(kind=Kind.EPISODE, importance=0.2), TIERED, after) == rule


@pytest.mark.parametrize(("importance", "rule"), [(0.29, "low_value"), (0.3, None), (0.31, None)])
def test_three_of_ten_are_important_enough(importance: float, rule: str | None) -> None:
    """Below three of ten; three itself stays."""
    assert leaves(stated(kind=Kind.EPISODE, importance=importance), TIERED, days(100)) == rule


def test_only_what_happened_once_is_an_observation() -> None:
    """A note of the same importance stays."""
    assert leaves(stated(kind=Kind.NOTE, importance=0.2), TIERED, days(100)) is None


@pytest.mark.parametrize(("after", "rule"), [(days(90), None), (days(90) + SECOND, "old_version")])
def test_superseded_versions_leave_after_ninety_days(after: timedelta, rule: str | None) -> None:
    """Counted from when it was superseded."""
    old = stated(status=Status.SUPERSEDED, created_at=BORN - days(500), updated_at=BORN)

    assert leaves(old, TIERED, after) == rule


@pytest.mark.parametrize(("after", "rule"), [(days(30), None), (days(30) + SECOND, "stale_session")])
def test_episodes_of_a_session_leave_thirty_days_after_its_end(after: timedelta, rule: str | None) -> None:
    """Thirty days to the second after its last turn."""
    assert leaves(of_session(BORN), TIERED, after) == rule


def test_only_unused_extracted_episodes_leave_with_their_session() -> None:
    """Notes, what somebody asked to remember, and what was recalled stay."""
    kept = [
        extracted(kind=Kind.NOTE),
        stated(kind=Kind.EPISODE),
        extracted(kind=Kind.EPISODE, access=recalls(1)),
    ]

    assert [leaves(of_session(BORN, one), TIERED, days(60)) for one in kept] == [None] * 3


def test_an_episode_that_was_confirmed_later_outlives_its_session() -> None:
    """Its own thirty days begin there; otherwise bringing it back would be in vain."""
    back = extracted(kind=Kind.EPISODE, importance=0.9, confirmed_at=BORN + days(50))

    assert leaves(of_session(BORN, back), TIERED, days(80)) is None
    assert leaves(of_session(BORN, back), TIERED, days(80) + SECOND) == "stale_session"


def of_session(ended: datetime, memory: Memory | None = None) -> Population:
    """An episode read out of a session that ended then."""
    one = memory or extracted(kind=Kind.EPISODE, importance=0.9)
    return replace(population_of([one]), session_ended=np.array([to_microseconds(ended)]))


# --- versions -----------------------------------------------------------------------------------------------

SAID = "The freezer in the harbour lab was set to minus twenty by Ines"


@pytest.mark.parametrize(
    ("extractor", "is_version"),
    [(None, True), ("heuristic-1", True), ("session-1", False), ("dream.crystals/1", False)],
)
@pytest.mark.parametrize("is_newer", [True, False])
def test_what_sums_up_is_no_version_of_what_it_sums_up(
    engram_of: Callable[[str], Engram], extractor: str | None, is_version: bool, is_newer: bool
) -> None:
    """Neither takes a summary the place of a statement that it repeats, nor a statement that of a summary."""
    engram = engram_of("tiered")
    plain, other = Draft(content=f"{SAID}."), Draft(content=f"{SAID} today", extractor=extractor)
    first, second = (plain, other) if is_newer else (other, plain)

    (before,) = engram.remember_many([first])
    (after,) = engram.remember_many([second])

    assert (engram.get(before.id).status is Status.SUPERSEDED) is is_version
    assert (after.supersedes == before.id) is is_version


@pytest.fixture
def engram_of(store_path: Path, clock: ManualClock) -> Iterator[Callable[[str], Engram]]:
    """Opens a memory under a preset."""
    opened: list[Engram] = []

    def opens(preset: str) -> Engram:
        clock.set(BORN)
        opened.append(open_aging(store_path, clock, preset))
        return opened[0]

    yield opens
    for one in opened:
        one.close()
