"""The preset `cortex`: the forgetting curve with spacing and feeling, and a collection that spares much."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from msgspec.structs import replace

from engramdb.lifecycle.curves import recalled_at
from engramdb.policy.aging import CORTEX
from engramdb.values import Source, Status

from .made import BORN, SECOND, aroused, days, extracted, leaves, left, recalls, stated

TAU_DAYS = 30 / math.log(2)
"""The base time constant is open in the source; ours halves an unrecalled memory in thirty days."""
WEAK_AFTER = days(30 * math.log2(20))
"""When the strength of a memory that was never recalled falls below 0.05."""


def test_an_unrecalled_memory_halves_in_thirty_days() -> None:
    """S0 · e^(−t/τ): a half after one half-life, a quarter after two, 1/e after τ."""
    memory = stated()

    assert left(memory, CORTEX, 0) == 1
    assert left(memory, CORTEX, 30) == pytest.approx(0.5)
    assert left(memory, CORTEX, 60) == pytest.approx(0.25)
    assert left(memory, CORTEX, TAU_DAYS) == pytest.approx(1 / math.e)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 100])
def test_recalls_stretch_the_time_constant(count: int) -> None:
    """After n recalls τ is 1 + ln n times as long; the first recall alone stretches nothing."""
    memory = stated(access=recalls(count))

    tau = TAU_DAYS * (1 + math.log(count))
    assert left(memory, CORTEX, tau) == pytest.approx(1 / math.e)


def test_time_counts_from_the_last_recall() -> None:
    """A memory that is recalled after fifty days is as strong as a new one then."""
    memory = recalled_at(stated(), CORTEX, BORN + days(50), is_new_session=True)

    assert left(memory, CORTEX, 50) == 1
    assert left(memory, CORTEX, 80) == pytest.approx(0.5)


@pytest.mark.parametrize(("sessions", "bonus"), [(0, 1.0), (1, 1.0), (2, 1.2079), (3, 1.3296), (8, 1.6238)])
def test_sessions_apart_add_thirty_percent_of_their_logarithm(sessions: int, bonus: float) -> None:
    """The spacing effect: 1 + 0.3 · ln(sessions), nothing for the first."""
    memory = stated(access=recalls(1, sessions=sessions))

    assert left(memory, CORTEX, 60) == pytest.approx(0.25 * bonus, abs=1e-4)


@pytest.mark.parametrize("arousal", [0.0, 0.2, 0.5, 1.0])
def test_feeling_adds_to_the_first_strength_and_slows_the_fall(arousal: float) -> None:
    """S0 gains half the arousal, up to 1.5, and τ is 1 + arousal times as long."""
    memory = stated(affect=aroused(arousal))

    halved_twice = 60 * (1 + arousal)
    assert left(memory, CORTEX, halved_twice) == pytest.approx((1 + 0.5 * arousal) / 4)


def test_strength_never_exceeds_one() -> None:
    """A moving memory of many sessions starts above one and is cut off there."""
    assert left(stated(affect=aroused(1), access=recalls(50, sessions=20)), CORTEX, 0) == 1


def test_the_collection_takes_what_is_below_a_twentieth() -> None:
    """One second before strength falls below 0.05 nothing happens; one second after, it is archived."""
    memory = extracted()

    assert leaves(memory, CORTEX, WEAK_AFTER - SECOND) is None
    assert leaves(memory, CORTEX, WEAK_AFTER + SECOND) == "weak"


@pytest.mark.parametrize(("strength", "rule"), [(0.05, None), (math.nextafter(0.05, 0), "weak"), (0, "weak")])
def test_exactly_a_twentieth_is_enough(strength: float, rule: str | None) -> None:
    """The edge itself stays; the next smaller number goes."""
    assert leaves(extracted(strength=strength), CORTEX, timedelta()) == rule


def test_what_a_person_asked_to_remember_is_never_collected() -> None:
    """Explicit memories stay for ever; the agent's own and what was read out of turns do not."""
    much_later = days(3650)

    assert leaves(stated(), CORTEX, much_later) is None
    assert leaves(
        stated(provenance=replace(stated().provenance, source=Source.ASSISTANT)), CORTEX, much_later
    )
    assert leaves(extracted(), CORTEX, much_later) == "weak"


@pytest.mark.parametrize(("importance", "rule"), [(0.89, "weak"), (0.9, "weak"), (0.91, None), (1.0, None)])
def test_importance_above_nine_tenths_is_spared(importance: float, rule: str | None) -> None:
    """Strictly above: nine tenths themselves are not enough."""
    assert leaves(extracted(importance=importance), CORTEX, days(3650)) == rule


@pytest.mark.parametrize(("arousal", "rule"), [(0.49, "weak"), (0.5, None), (0.51, None)])
def test_arousal_from_a_half_on_is_spared(arousal: float, rule: str | None) -> None:
    """A half itself is enough."""
    assert leaves(extracted(affect=aroused(arousal)), CORTEX, days(3650)) == rule


@pytest.mark.parametrize(("after", "rule"), [(days(90), None), (days(90) + SECOND, "archive_ended")])
def test_the_archive_can_be_restored_for_ninety_days(after: timedelta, rule: str | None) -> None:
    """Ninety days to the second; then it is pruned."""
    archived = extracted(status=Status.ARCHIVED)

    assert leaves(archived, CORTEX, after) == rule
