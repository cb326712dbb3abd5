"""The preset `beliefs`: confidence that halves, stability that grows with use, and pruning."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from engramdb.lifecycle.curves import recalled_at
from engramdb.policy.aging import BELIEFS
from engramdb.values import AccessLog

from .made import BORN, SECOND, days, leaves, left, recalls, stated


@pytest.mark.parametrize(("stability", "half_life"), [(1.0, 30), (2.0, 60), (3.0, 90), (5.0, 150)])
def test_confidence_halves_every_thirty_days_times_stability(stability: float, half_life: float) -> None:
    """0.6 becomes 0.3 after thirty days at stability 1, ninety at 3, a hundred and fifty at 5."""
    belief = stated(confidence=0.6, stability=stability)

    assert left(belief, BELIEFS, 0) == pytest.approx(0.6)
    assert left(belief, BELIEFS, half_life) == pytest.approx(0.3)
    assert left(belief, BELIEFS, 2 * half_life) == pytest.approx(0.15)


def test_each_read_adds_a_tenth_of_stability_and_forty_reach_the_most() -> None:
    """From 1 to 5 in forty reads on different days; the next ones add nothing."""
    belief, grown = stated(), []
    for number in range(45):
        belief = recalled_at(belief, BELIEFS, BORN + days(number), is_new_session=False)
        grown.append(belief.stability)

    assert grown[0] == pytest.approx(1.1)
    assert grown[38] == pytest.approx(4.9)
    assert grown[39:] == pytest.approx([5.0] * 6)
    assert max(grown) <= 5.0


def test_a_stability_above_the_most_is_not_taken_away() -> None:
    """A belief that was given more keeps it."""
    read = recalled_at(stated(stability=7.0), BELIEFS, BORN, is_new_session=False)

    assert read.stability == 7.0


def test_being_read_is_no_evidence() -> None:
    """A read makes the fall slower and does not begin it anew; a confirmation does."""
    read = stated(confidence=0.6, access=recalls(1, days=29))
    confirmed = stated(confidence=0.6, confirmed_at=BORN + days(30))

    assert left(read, BELIEFS, 30) == pytest.approx(0.3)
    assert left(confirmed, BELIEFS, 30) == pytest.approx(0.6)
    assert left(confirmed, BELIEFS, 60) == pytest.approx(0.3)


def test_a_belief_is_pruned_below_a_twentieth() -> None:
    """Six tenths get there after 107.5 days; one second before nothing happens."""
    belief = stated(confidence=0.6)
    gone_after = days(30 * math.log2(0.6 / 0.05))

    assert leaves(belief, BELIEFS, gone_after - SECOND) is None
    assert leaves(belief, BELIEFS, gone_after + SECOND) == "decayed"


@pytest.mark.parametrize(("confidence", "rule"), [(0.05, None), (math.nextafter(0.05, 0), "decayed")])
def test_exactly_a_twentieth_is_enough(confidence: float, rule: str | None) -> None:
    """The edge itself stays."""
    assert leaves(stated(confidence=confidence), BELIEFS, timedelta()) == rule


def test_stability_from_reads_keeps_a_belief_longer() -> None:
    """After forty reads it is pruned five times later."""
    known = stated(confidence=0.6, stability=5.0, access=AccessLog(count=40))
    gone_after = days(150 * math.log2(0.6 / 0.05))

    assert leaves(known, BELIEFS, gone_after - SECOND) is None
    assert leaves(known, BELIEFS, gone_after + SECOND) == "decayed"
