"""The forecast says what a clock that is then moved on does, rule by rule and to the second."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb import Scope
from engramdb.errors import InvalidQuery
from engramdb.policy import PRESETS
from engramdb.values import Layer, Status

from .cases import CASES, Case, live, opened
from .made import BORN, EXTRACTOR, SECOND, days, extracted, keep, open_aging, promised, recalls, stated

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb import Engram
    from engramdb.testing import ManualClock
    from engramdb.values import Outlook

FORESEEN = [case for case in CASES if case.rule != "crowded_out"]
"""Who is crowded out depends on the others: that is in the census and in no outlook."""


def outlook(engram: Engram, memory_id: str, *, ahead: float = 365) -> Outlook:
    """What will become of one memory."""
    (found,) = engram.forecast(memory_id, days=ahead).soonest
    return found


@pytest.mark.parametrize("case", FORESEEN, ids=[case.rule for case in FORESEEN])
def test_a_memory_leaves_when_and_as_foreseen(case: Case, store_path: Path, clock: ManualClock) -> None:
    """Two seconds before nothing happens; at the moment it leaves by that rule into that status."""
    with opened(case, store_path, clock) as engram:
        memory = live(engram, clock, case, days=())
        leaving = [one for one in outlook(engram, memory.id).changes if one.kind == "leaves"]
        change = next(one for one in leaving if one.what == case.rule)
        for earlier in leaving[: leaving.index(change)]:
            clock.set(earlier.at)
            engram.age()

        clock.set(change.at - 2 * SECOND)
        before = engram.age()
        clock.set(change.at)
        after = engram.age()

        assert before.changed == 0
        assert after.by_rule == {case.rule: 1}
        assert engram.get(memory.id).status is change.status is case.to


def test_what_leaves_soonest_is_shown_first(store_path: Path, clock: ManualClock) -> None:
    """With the rule that takes each, and no memory that stays."""
    clock.set(BORN)
    with open_aging(store_path, clock, "balanced") as engram:
        promise = promised(day=1)
        doubt = stated(confidence=0.2)
        trial = stated(forget_after=BORN + days(5))
        keep(engram, promise, doubt, trial, stated())

        soonest = engram.forecast(days=365).soonest

        left = [(one.memory.id, one.leaves.what) for one in soonest if one.leaves is not None]
        assert left == [
            (trial.id, "forget_after"),
            (doubt.id, "speculative"),
            (promise.id, "commitment"),
        ]


def test_an_episode_of_a_stale_session_is_shown_to_leave(store_path: Path, clock: ManualClock) -> None:
    """In the outlook of the store as in that of the memory itself."""
    (case,) = [case for case in CASES if case.rule == "stale_session"]
    with opened(case, store_path, clock) as engram:
        memory = live(engram, clock, case, days=())

        (soonest,) = engram.forecast(days=60).soonest
        alone = outlook(engram, memory.id, ahead=60)

        assert soonest == alone
        assert soonest.leaves is not None
        assert (soonest.leaves.what, soonest.leaves.at) == ("stale_session", BORN + days(30) + _MICROSECOND)


def test_tiers_are_entered_when_foreseen(store_path: Path, clock: ManualClock) -> None:
    """A stated episode under `layered` is warm, cold and evictable on its days."""
    clock.set(BORN)
    with open_aging(store_path, clock, "layered") as engram:
        memory = engram.remember("I like tea", importance=0.9, layer=Layer.EPISODIC)
        changes = [one for one in outlook(engram, memory.id).changes if one.kind == "tier"]

        seen = []
        for change in changes:
            clock.set(change.at - 2 * SECOND)
            before = outlook(engram, memory.id).tier
            clock.set(change.at)
            seen.append((before, outlook(engram, memory.id).tier))

        assert [change.what for change in changes] == ["warm", "cold", "evictable"]
        assert seen == [("hot", "warm"), ("warm", "cold"), ("cold", "evictable")]


def test_a_tier_that_is_passed_at_once_is_not_named(store_path: Path, clock: ManualClock) -> None:
    """Where two thresholds are one, the tier between them is never entered."""
    clock.set(BORN)
    with open_aging(store_path, clock, "layered", warm=0.7) as engram:
        memory = engram.remember("I like tea", importance=0.9, layer=Layer.EPISODIC)

        tiers = [one.what for one in outlook(engram, memory.id).changes if one.kind == "tier"]

        assert tiers == ["cold", "evictable"]


def test_a_change_of_layer_is_foreseen(store_path: Path, clock: ManualClock) -> None:
    """Half an hour after it was made a working memory becomes an episode."""
    clock.set(BORN)
    with open_aging(store_path, clock, "notebook") as engram:
        memory = stated(layer=Layer.WORKING)
        keep(engram, memory)

        (change,) = outlook(engram, memory.id).changes
        clock.set(change.at)
        engram.age()

        assert (change.kind, change.what, change.at) == ("layer", "episodic", BORN + timedelta(minutes=30))
        assert engram.get(memory.id).layer is Layer.EPISODIC


def test_what_happens_after_the_archive_is_foreseen(store_path: Path, clock: ManualClock) -> None:
    """A weak memory is archived and, ninety days later, pruned."""
    clock.set(BORN)
    with open_aging(store_path, clock, "cortex") as engram:
        memory = extracted(importance=0.1)
        keep(engram, memory)

        leaving = [one for one in outlook(engram, memory.id).changes if one.kind == "leaves"]

        assert [(one.what, one.status) for one in leaving] == [
            ("weak", Status.ARCHIVED),
            ("archive_ended", Status.PRUNED),
        ]
        assert leaving[1].at - leaving[0].at == days(90) + _MICROSECOND


@pytest.mark.parametrize("preset", list(PRESETS))
def test_one_more_recall_does_what_the_outlook_says(
    preset: str, store_path: Path, clock: ManualClock
) -> None:
    """Recalled in a new session, the memory has the future that was foretold for that."""
    clock.set(BORN)
    with open_aging(store_path, clock, preset) as engram:
        memory = stated(
            confidence=0.5, importance=0.2, extractor=EXTRACTOR, access=recalls(1, sessions=1), stability=1.1
        )
        keep(engram, memory)
        clock.advance(days=20)

        foretold = outlook(engram, memory.id)
        engram.recall("statement", session="another")
        real = outlook(engram, memory.id)

        assert foretold.changes != foretold.after_recall or preset == "notebook"
        assert real.changes == foretold.after_recall
        assert real.memory.access.count == 2


def test_a_pinned_memory_has_no_end(store_path: Path, clock: ManualClock) -> None:
    """It fades and does not leave, in ten years, under any preset."""
    clock.set(BORN)
    for preset in PRESETS:
        with open_aging(store_path.with_name(f"{preset}.db"), clock, preset) as engram:
            memory = extracted(pinned=True, importance=0.0, confidence=0.1, forget_after=BORN + days(1))
            keep(engram, memory)

            assert outlook(engram, memory.id, ahead=3_650).leaves is None


def test_a_forecast_keeps_to_its_scope(store_path: Path, clock: ManualClock) -> None:
    """Others' memories are neither shown nor counted; `everywhere` counts and shows none."""
    clock.set(BORN)
    with open_aging(store_path, clock, "beliefs") as engram:
        keep(engram, stated(scope=Scope(user="ann")), stated(scope=Scope(user="bob")), stated())

        ann = engram.forecast(days=365, scope=Scope(user="ann"))
        everybody = engram.forecast(days=365, everywhere=True)

        assert (ann.population, len(ann.soonest)) == (2, 2)
        assert all(one.memory.scope.user in (None, "ann") for one in ann.soonest)
        assert (everybody.population, everybody.soonest) == (3, ())


def test_the_census_counts_everybody_at_every_moment(store_path: Path, clock: ManualClock) -> None:
    """Who is there and who has left add up to the population, from now to the horizon."""
    clock.set(BORN)
    for preset in PRESETS:
        with open_aging(store_path.with_name(f"{preset}.db"), clock, preset) as engram:
            keep(engram, *(extracted(importance=number / 20, confidence=number / 20) for number in range(20)))

            found = engram.forecast(days=520)

            assert len(found.census) == 53
            assert (found.census[0].at, found.census[-1].at) == (BORN, BORN + days(520))
            assert {one.remaining + sum(one.left.values()) for one in found.census} == {20}


def test_presets_are_compared_on_this_store(store_path: Path, clock: ManualClock) -> None:
    """Each keeps what its own forecast says; `notebook` lets nothing fade, `beliefs` lets all go."""
    clock.set(BORN)
    with open_aging(store_path, clock, "balanced") as engram:
        keep(engram, *(extracted(confidence=0.5, importance=0.5) for _ in range(4)))

        compared = engram.compare_policies(days=(30, 90, 365))

        assert set(compared) == set(PRESETS)
        assert [one.remaining for one in compared["notebook"]] == [4, 4, 4]
        assert [one.remaining for one in compared["beliefs"]] == [4, 4, 0]
        assert compared["beliefs"][-1].left == {"decayed": 4}
        assert [one.at for one in compared["cortex"]] == [BORN + days(ahead) for ahead in (30, 90, 365)]


@pytest.mark.parametrize("ahead", [0, -1, 36_501])
def test_a_horizon_out_of_range_is_refused(store_path: Path, clock: ManualClock, ahead: float) -> None:
    """From now on, and not beyond a hundred years."""
    with open_aging(store_path, clock, "balanced") as engram:
        with pytest.raises(InvalidQuery):
            engram.forecast(days=ahead)
        with pytest.raises(InvalidQuery):
            engram.compare_policies(days=(30, ahead))


_MICROSECOND = timedelta(microseconds=1)
