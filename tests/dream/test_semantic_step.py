"""Facts of many sessions become lasting knowledge; knowledge that nobody uses loses strength."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Layer, Scope

from .learnt import awake, take, tell

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock
    from engramdb.values import Memory

FACT = "The staging server is probably called Hamster"
"""A guess: what is stated outright is filed as knowledge at once."""


def sessions(engram: Engram, clock: ManualClock, *facts: str, scope: Scope = Scope()) -> None:
    """Say one fact in each session, between smaller talk, and end each with a summary."""
    for number, fact in enumerate(facts):
        name = f"{scope.user or 'all'}-{number}"
        for words in (fact, f"My ticket for today has number {number}", "Fine", "See you"):
            engram.observe(words, role="user", session=name, scope=scope)
        engram.end_session(name, scope=scope)
        clock.advance(days=1)


def layer_of(engram: Engram, content: str, *, scope: Scope = Scope()) -> set[Layer]:
    """The layers of the memories that say this."""
    found = engram.list(limit=500, scope=scope)
    return {one.layer for one in found if content in one.content and one.type == "fact"}


def test_a_fact_of_five_sessions_becomes_knowledge(engram: Engram, clock: ManualClock) -> None:
    """Said in five sessions that were summed up, it moves to the semantic layer, with its own words."""
    sessions(engram, clock, *[FACT] * 5)
    assert layer_of(engram, "Hamster") == {Layer.EPISODIC}

    report = take(engram, "semantic")

    assert report.counts == {"adjust": 1}
    assert layer_of(engram, "Hamster") == {Layer.SEMANTIC}


def test_four_sessions_are_not_enough(engram: Engram, clock: ManualClock) -> None:
    """One session less, and it stays what it was."""
    sessions(engram, clock, *[FACT] * 4, "The cafeteria closes at three")

    assert take(engram, "semantic").counts == {}


def test_the_sessions_of_two_users_are_not_added_up(engram: Engram, clock: ManualClock) -> None:
    """Three sessions here and two there are five in no scope."""
    sessions(engram, clock, *[FACT] * 3, scope=Scope(user="ann"))
    sessions(engram, clock, *[FACT] * 2, scope=Scope(user="bob"))

    assert take(engram, "semantic").counts == {}


def test_a_layer_that_a_person_chose_is_left(engram: Engram, clock: ManualClock) -> None:
    """What somebody demoted is not promoted by a dream."""
    sessions(engram, clock, *[FACT] * 5)
    (memory,) = [one for one in engram.list(limit=500) if one.content.endswith("Hamster")]
    engram.promote(memory.id)
    engram.demote(memory.id)

    assert take(engram, "semantic").counts == {}


def known(engram: Engram, **fields: Any) -> Memory:
    """A piece of knowledge that a dream concluded."""
    told = {"layer": Layer.SEMANTIC, "extractor": "dream.synthesis-1"} | fields
    (memory,) = tell(engram, "The gate code is on the blue card", **told)
    return memory


@pytest.mark.parametrize(("days", "left"), [(29, 1.0), (31, 0.9), (65, 0.81), (36_500, 0.1)])
def test_idle_periods_cost_strength(engram: Engram, clock: ManualClock, days: int, left: float) -> None:
    """Each whole period of thirty days leaves nine tenths, and never less than one tenth."""
    memory = known(engram)
    clock.advance(days=days)

    take(engram, "semantic")

    assert engram.get(memory.id).strength == pytest.approx(left)


def test_a_period_is_taken_once(engram: Engram, clock: ManualClock) -> None:
    """Dreaming twice, or every few days, costs no more than dreaming once at the end."""
    memory = known(engram)
    for _ in range(13):
        clock.advance(days=5)
        take(engram, "semantic")
    take(engram, "semantic")

    assert engram.get(memory.id).strength == pytest.approx(0.81)


def test_what_is_recalled_is_not_idle(engram: Engram, clock: ManualClock) -> None:
    """A recall begins the period anew."""
    memory = known(engram)
    clock.advance(days=29)
    engram.recall("gate code")
    clock.advance(days=29)

    take(engram, "semantic")

    assert engram.get(memory.id).strength == 1.0


def test_only_what_was_concluded_fades_here(engram: Engram, clock: ManualClock) -> None:
    """A pin holds strength; what is episodic fades by aging; what somebody stated is as strong as it was."""
    pinned = known(engram, pinned=True)
    episode, fact = tell(engram, "We had lunch on the roof yesterday", "The API uses JWT tokens")
    clock.advance(days=90)

    take(engram, "semantic")

    assert (episode.layer, fact.layer) == (Layer.EPISODIC, Layer.SEMANTIC)
    assert {engram.get(one.id).strength for one in (pinned, episode, fact)} == {1.0}


def test_the_numbers_are_policy(store_path: Path, clock: ManualClock) -> None:
    """Another period and another number of sessions count where the policy says so."""
    with awake(store_path, clock, idle_days=1.0, idle_factor=0.5, summaries_least=2) as engram:
        memory = known(engram)
        sessions(engram, clock, FACT, FACT)

        report = take(engram, "semantic")

        assert engram.get(memory.id).strength == pytest.approx(0.25)
        assert report.counts == {"adjust": 2}
