"""What use and repetition do: spaced recalls last, bursts do not, and asking to remember is stating."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb import Source
from engramdb.lifecycle.curves import recalled_at
from engramdb.policy import PRESETS, AgingPolicy
from engramdb.store.contract import RecallCount
from engramdb.testing import ManualClock
from engramdb.values import Memory, Status

from .made import BORN, days, keep, open_aging, stated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from engramdb import Engram

HOUR = timedelta(hours=1)
BALANCED = PRESETS["balanced"].aging


# --- spacing ------------------------------------------------------------------------------------------------


def test_ten_recalls_in_an_hour_count_once_and_ten_in_a_season_much_more(
    store_path: Path, clock: ManualClock
) -> None:
    """Through the engine: both are asked for ten times, one in a row and the other once a week."""
    clock.set(BORN)
    with open_aging(store_path, clock, "balanced") as engram:
        burst = engram.remember("The harbour office opens at seven")
        spaced = engram.remember("Grandmother's recipe wants cardamom")
        for _ in range(10):
            engram.recall("when does the harbour office open?", limit=1)
            clock.advance(minutes=3)
        for _ in range(10):
            clock.advance(days=7)
            engram.recall("what spice is in grandmother's recipe?", limit=1)
        engram.flush()

        once, often = engram.get(burst.id), engram.get(spaced.id)

        assert (once.access.count, often.access.count) == (10, 10)
        assert once.stability == pytest.approx(1.1, abs=0.01)
        assert often.stability > 1 + 10 * 0.1


def test_a_longer_gap_adds_more() -> None:
    """A quarter more with each doubling of the days; `beliefs` adds a tenth for every read, as its source."""
    gained = [after(gap, BALANCED) - 1 for gap in (1, 3, 7, 15, 31)]
    by_reads = [after(gap, PRESETS["beliefs"].aging) - 1 for gap in (1, 3, 7, 15, 31)]

    assert gained == pytest.approx([0.125, 0.15, 0.175, 0.2, 0.225])
    assert by_reads == pytest.approx([0.1] * 5)


def after(gap_days: float, policy: AgingPolicy) -> float:
    """The stability after a second recall, so many days after the first."""
    first = stated(stability=1.0, access=recalled_at(stated(), BALANCED, BORN, is_new_session=True).access)
    return recalled_at(first, policy, BORN + days(gap_days), is_new_session=True).stability


@given(
    minutes=st.lists(st.integers(0, 20_000), min_size=1, max_size=12), preset=st.sampled_from(list(PRESETS))
)
def test_the_store_counts_as_the_forecast_does(
    minutes: list[int], preset: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One by one or all in one write, recalls leave the same stability as the outlook foretells."""
    policy, memory = PRESETS[preset].aging, stated()
    moments = sorted(BORN + timedelta(minutes=one) for one in minutes)
    foretold: Memory = memory
    for moment in moments:
        foretold = recalled_at(foretold, policy, moment, is_new_session=False)

    at_once = counted(memory, [moments], preset, tmp_path_factory)
    one_by_one = counted(memory, [[moment] for moment in moments], preset, tmp_path_factory)

    assert at_once == one_by_one == pytest.approx(foretold.stability)


def counted(
    memory: Memory,
    batches: Sequence[Sequence[datetime]],
    preset: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> float:
    """The stability that the store has after these batches of recalls."""
    path = tmp_path_factory.mktemp("r") / "m.db"
    with open_aging(path, ManualClock(BORN), preset) as engram:
        keep(engram, memory)
        for moments in batches:
            with engram._parts.store.atomic() as tx:
                recall = RecallCount(memory.id, tuple(moments), frozenset())
                tx.ages.count_recalls([recall], PRESETS[preset].aging)
        return engram.get(memory.id).stability


# --- said again ---------------------------------------------------------------------------------------------


def test_asking_to_remember_what_was_heard_makes_it_stated(store_path: Path, clock: ManualClock) -> None:
    """It has the trust of a statement from then on, and no rule for what was merely heard takes it."""
    clock.set(BORN)
    with open_aging(store_path, clock, "balanced") as engram:
        engram.observe("The boiler is serviced by Okonkwo and Sons.", session="s1")
        engram.flush()
        (heard,) = engram.list()

        stated_ = engram.remember("The boiler is serviced by Okonkwo and Sons")

        assert heard.extractor is not None
        assert (stated_.id, stated_.extractor) == (heard.id, None)
        assert stated_.confidence >= heard.confidence
        assert engram.history(heard.id)[-1].changes["extractor"] == (heard.extractor, None)
        for _ in range(40):
            clock.advance(days=60)
            engram.age()
        assert engram.get(heard.id).status is Status.ACTIVE


def test_what_an_agent_says_again_states_nothing_for_the_user(engram: Engram) -> None:
    """Only a person's own request does."""
    engram.observe("The boiler is serviced by Okonkwo and Sons.", session="s1")
    engram.flush()

    again = engram.remember("The boiler is serviced by Okonkwo and Sons", source=Source.ASSISTANT)

    assert again.extractor is not None


def test_the_redundant_is_less_important_for_being_so(engram: Engram) -> None:
    """Among strangers a near repetition looks new on average: it loses a third of what novelty could give."""
    for text in (
        "Basalt is a volcanic rock",
        "The ferry leaves at noon",
        "Nadia plays the oboe",
        "Our fiscal year starts in April",
        "Invoice 2231 of the harbour bakery in Lund was paid in full",
    ):
        engram.remember(text)

    new = engram.remember("Zsolt repairs accordions")
    near = engram.remember("Invoice 2232 of the harbour bakery in Lund was paid in full")

    assert "redundant" in near.flags
    assert near.surprise is not None
    assert near.surprise > 0.5
    assert near.importance == pytest.approx(0.4)
    assert new.importance > 0.7
