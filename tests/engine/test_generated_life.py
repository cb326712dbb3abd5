"""A small generated life: what was said is told through the product, dreamt over, and still answered."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.testing import ManualClock
from evals.dream import duplicates, every, known, measure, verdict
from evals.life import BEGIN, DAYS, enter, live

if TYPE_CHECKING:
    from pathlib import Path

    from evals.dream import Answer
    from evals.life import Life


@dataclass(frozen=True)
class Told:
    """A life and the store that it was told to, to be copied by tests that change it."""

    life: Life
    store: Path

    def copy(self, folder: Path) -> Engram:
        """Open a copy of the store at the end of the year."""
        path = folder / "life.db"
        shutil.copy(self.store, path)
        clock = ManualClock(BEGIN)
        clock.advance(days=DAYS)
        return _opened(path, clock)


def _opened(path: Path, clock: ManualClock) -> Engram:
    settings = Settings(home=path.parent, embedder="static", durability="relaxed")
    return Engram.open(path, settings=settings, clock=clock, background=False)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A year with one person and one project, told once for all tests."""
    path = tmp_path_factory.mktemp("life") / "life.db"
    life = live(seed=3, people=1, projects=1, repeats=2.0, small_talk=0)
    clock = ManualClock(BEGIN)
    with _opened(path, clock) as engram:
        enter(life, engram, clock)
    return Told(life, path)


def test_the_same_seed_gives_the_same_life() -> None:
    """Numbers of two days can be compared."""
    one, other = live(seed=5, people=2, projects=1), live(seed=5, people=2, projects=1)

    assert one.said == other.said
    assert one.facts == other.facts
    assert live(seed=6, people=2, projects=1).said != one.said


def test_every_fact_is_said_and_found_again_by_its_value() -> None:
    """The ground truth is in the words: each fact in some sentence, each sentence about one slot."""
    life = live(seed=7)

    stated = [life.stated_by(one.content) for one in life.said]

    assert set().union(*stated) == set(life.facts)
    assert all(len({fact.slot for fact in found}) <= 1 for found in stated)
    assert len(life.facts) > 300


def test_what_is_current_was_said_last() -> None:
    """No stale value is told after the current one has come for good, a mistake excepted."""
    life = live(seed=7)
    last_said = {fact: one.day for one in life.said for fact in life.stated_by(one.content)}
    stale = {(fact.slot, fact.value): last_said[fact] for fact in life.facts if not fact.is_current}
    current = {fact.slot: last_said[fact] for fact in life.facts if fact.is_current}

    late = [slot for (slot, _), day in stale.items() if day > current[slot]]

    assert late == []


def test_a_dream_makes_a_told_year_smaller_and_loses_no_current_fact(told: Told, tmp_path: Path) -> None:
    """Fewer memories, no more duplicates, and whatever was known before is known after."""
    with told.copy(tmp_path) as engram:
        before = list(every(engram))
        first = engram.dream()
        after = list(every(engram))
        second = engram.dream()

    assert first.finished
    assert known(told.life, after) == known(told.life, before)
    rate = "duplicate rate"
    assert duplicates(told.life, after)[rate] < duplicates(told.life, before)[rate]
    assert second.changed == 0


def test_a_dream_answers_no_question_worse_on_the_whole(told: Told, tmp_path: Path) -> None:
    """Of the current facts as many are among the first five as before, and no more stale ones."""
    with told.copy(tmp_path) as engram:
        before, answers = measure(engram, told.life, "before")
        engram.dream()
        after, later = measure(engram, told.life, "after")

    assert after["recall@5"] >= before["recall@5"] - 1 / len(told.life.slots)
    assert after["stale of 5"] <= before["stale of 5"]
    assert _found(later) >= _found(answers) - 1


def test_a_text_is_judged_by_the_values_it_holds(told: Told) -> None:
    """With the current value it is current, whatever else it says; with a stale one alone it is stale."""
    slot = next(slot for slot in told.life.slots if slot.stale)

    verdicts = [
        verdict(told.life, slot, text)
        for text in (f"moved from {slot.stale[0]} to {slot.current}", f"it is {slot.stale[0]}", "nothing")
    ]

    assert verdicts == ["current", "stale", ""]


def _found(answers: list[Answer]) -> int:
    return sum(one.rank is not None for one in answers)
