"""Answers where beliefs were revised: successors, both sides of a dispute, outdated premises."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from engramdb import Engram, Memory, Settings
from engramdb.health import JUDGE
from engramdb.lifecycle.merging import merge
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.lifecycle.write import challenge
from engramdb.models.reader import GuardedModel, Judge, Utterance
from engramdb.policy import DreamPolicy
from engramdb.testing import ManualClock
from engramdb.values import Action, Actor, EdgeType, Source, Status
from engramdb.values.reading import PairJudgment


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still."""
    return ManualClock()


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Engram:
    """An empty store that rules judge alone."""
    return Engram.open(store_path, settings=Settings(reader="rules"), clock=clock, background=False)


def disputed(
    engram: Engram, clock: ManualClock, old: str, new: str, *, chance: float
) -> tuple[Memory, Memory]:
    """Two statements of which the newer challenges the older."""
    first = engram.remember(old)
    clock.advance(days=30)
    second = engram.remember(new)
    with engram._parts.store.atomic() as tx:
        writer = MemoryWriter(tx, Actor(), clock.now())
        challenge(writer, engram.get(first.id), by=second, reason="they differ", chance=chance)
    return first, second


def test_the_successor_answers_what_the_old_statement_did(engram: Engram) -> None:
    """Asked what the notes are in, Obsidian is found, whose statement does not speak of notes."""
    engram.remember("I use Notion for my notes")
    new = engram.remember("I switched from Notion to Obsidian")

    hits = engram.recall("What do I use for my notes?").hits

    assert [hit.memory.id for hit in hits[:1]] == [new.id]
    assert "replaced" in {reason.index for reason in hits[0].reasons}


def test_a_merged_wording_is_found_by_its_own_words(engram: Engram, clock: ManualClock) -> None:
    """The keeper answers, and the wording itself is not shown."""
    keeper = engram.remember("Peanuts make me ill")
    other = engram.remember("EpiPen is in my bag because of groundnuts")
    with engram._parts.store.atomic() as tx:
        merge(MemoryWriter(tx, Actor(), clock.now()), keeper, [other], policy=DreamPolicy(), reason="same")

    hits = engram.recall("why is there an EpiPen in the bag?").hits

    assert [hit.memory.id for hit in hits] == [keeper.id]


@pytest.mark.parametrize(("chance", "first"), [(0.9, "new"), (0.5, "old")])
def test_both_sides_of_a_dispute_are_told(
    engram: Engram, clock: ManualClock, chance: float, first: str
) -> None:
    """The newer one first where it is likely right, and otherwise beside the one that fits better."""
    old, new = disputed(
        engram, clock, "I live in Hamburg", "day nine in the new flat, sea gulls at five", chance=chance
    )

    hits = engram.recall("Where do I live?").hits

    wanted = [new.id, old.id] if first == "new" else [old.id, new.id]
    assert [hit.memory.id for hit in hits[:2]] == wanted
    (dispute,) = next(hit for hit in hits if hit.memory.id == old.id).disputes
    assert (dispute.by, dispute.kind) == (new.id, EdgeType.CONTRADICTS)
    assert dispute.question is not None
    assert "Hamburg" in dispute.question


def test_the_last_of_a_chain_of_changes_comes_first(engram: Engram, clock: ManualClock) -> None:
    """Each disputes the one before it, and the last does not speak of what is asked."""
    first, second = disputed(
        engram, clock, "Jakub takes the bus to school", "Grandpa drives Jakub to school", chance=0.85
    )
    clock.advance(days=30)
    third = engram.remember("big boy news: he is back on the number twelve")
    with engram._parts.store.atomic() as tx:
        writer = MemoryWriter(tx, Actor(), clock.now())
        challenge(writer, engram.get(second.id), by=third, reason="they differ", chance=0.85)

    hits = engram.recall("How does Jakub get to school?").hits

    assert [hit.memory.id for hit in hits[:3]] == [third.id, second.id, first.id]


@pytest.mark.parametrize(
    ("report", "first"),
    [
        ("I moved the orders service to 9090", "new"),
        ("Which port does the orders service listen on: 9090", "old"),
    ],
)
def test_an_agents_word_stands_before_a_persons_only_as_a_change(
    engram: Engram, clock: ManualClock, report: str, first: str
) -> None:
    """What it merely holds against it comes after, also where it fits better."""
    old = engram.remember("The orders service listens on port 8080")
    clock.advance(days=30)
    new = engram.remember(report, source=Source.ASSISTANT)
    with engram._parts.store.atomic() as tx:
        writer = MemoryWriter(tx, Actor(), clock.now())
        challenge(writer, engram.get(old.id), by=new, reason="they differ", chance=0.85)

    hits = engram.recall("Which port does the orders service listen on?").hits

    assert hits[0].memory.id == (new.id if first == "new" else old.id)


def test_a_question_about_what_is_over_is_answered_with_the_change(
    engram: Engram, clock: ManualClock
) -> None:
    """Naming the old value takes it for granted."""
    old = engram.remember("I live in Porto")
    clock.advance(days=60)
    new = engram.remember("I moved to Lisbon")

    (premise,) = engram.recall("How long is my commute from Porto?").premises

    assert (premise.was.id, premise.now.id, premise.is_certain) == (old.id, new.id, True)


@pytest.mark.parametrize(
    "question", ["Where did I live before Lisbon?", "Where do I live?", "When did we leave Porto?"]
)
def test_asking_for_the_present_or_of_the_past_takes_nothing_for_granted(
    engram: Engram, clock: ManualClock, question: str
) -> None:
    """Such a question is answered and not corrected."""
    engram.remember("I live in Porto")
    clock.advance(days=60)
    engram.remember("I moved to Lisbon")

    assert engram.recall(question).premises == ()


def test_what_is_withdrawn_disputes_nothing_any_more(engram: Engram, clock: ManualClock) -> None:
    """Forgetting the newcomer lets the older statement hold again."""
    old, new = disputed(engram, clock, "I live in Hamburg", "I live in Kiel, they say", chance=0.6)
    assert engram.get(old.id).status is Status.CHALLENGED

    engram.forget(new.id)

    assert engram.get(old.id).status is Status.ACTIVE
    assert engram.history(old.id)[-1].action is Action.SET_STATUS


class Rippling:
    """A judge that finds every change to end the first and to make the gym doubtful."""

    name = "rippling"
    is_remote = False

    def relate(
        self,
        newer: Utterance,
        older: Sequence[Utterance],
        *,
        seconds: float | None = None,
    ) -> list[PairJudgment | None]:
        """It has no opinion on pairs; the rules have."""
        return [None] * len(older)

    def answers(self, question: str, memories: Sequence[str], *, seconds: float | None = None) -> list[float]:
        """No memory answers anything."""
        return [0.0] * len(memories)

    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> list[bool] | None:
        """Every question."""
        return [True] * len(changes)

    def makes_doubtful(self, change: tuple[str, str], statements: Sequence[str]) -> list[bool] | None:
        """The gym alone."""
        return ["gym" in one for one in statements]


def test_a_change_marks_what_rested_on_the_old_fact_and_asks(engram: Engram, clock: ManualClock) -> None:
    """It stays in every answer, with the reason, and nothing else is touched."""
    judge = GuardedModel[Judge](Rippling, engram._parts.guard, JUDGE)
    engram._parts.__dict__["judge"] = judge
    gym = engram.remember("The gym in Porto is around the corner")
    cat = engram.remember("Our cat is called Fumo")
    engram.remember("I live in Porto")
    clock.advance(days=60)
    move = engram.remember("I moved to Lisbon")

    engram.judge_pending()

    assert (engram.get(gym.id).status, engram.get(cat.id).status) == (Status.CHALLENGED, Status.ACTIVE)
    links = [(one.source, one.type) for one in engram.links(gym.id)]
    assert (move.id, EdgeType.DOUBTS) in links
    assert any("gym" in gap.question for gap in engram.gaps())
    assert gym.id in {hit.memory.id for hit in engram.recall("Which gym do I go to?").hits}


def test_a_question_may_rest_on_a_change_that_it_does_not_find(engram: Engram, clock: ManualClock) -> None:
    """What is disputed counts among all candidates, not among the few that are shown."""
    judge = GuardedModel[Judge](Rippling, engram._parts.guard, JUDGE)
    engram._parts.__dict__["judge"] = judge
    old, new = disputed(engram, clock, "We live in Porto", "keys to the house in Braga!", chance=0.85)
    for street in ("Elm", "Oak", "Ash", "Fir"):
        engram.remember(f"The commute through {street} street takes ages")

    (premise,) = engram.recall("How long is the commute?", limit=2).premises

    assert (premise.was.id, premise.now.id, premise.is_certain) == (old.id, new.id, False)


def test_each_dispute_names_its_own_question(engram: Engram, clock: ManualClock) -> None:
    """Two statements dispute one memory; answering what is named settles that pair and no other."""
    old, first = disputed(engram, clock, "I live in Hamburg", "Home is Kiel, they say", chance=0.6)
    second = engram.remember("Our flat is in Bremen, it seems")
    with engram._parts.store.atomic() as tx:
        writer = MemoryWriter(tx, Actor(), clock.now())
        challenge(writer, engram.get(old.id), by=second, reason="they differ", chance=0.6)

    hit = next(one for one in engram.recall("Where do I live?").hits if one.memory.id == old.id)

    asked = {one.by: one.question or "" for one in hit.disputes}
    assert "Kiel" in asked[first.id]
    assert "Bremen" in asked[second.id]


def test_what_was_not_found_says_why_it_is_there(engram: Engram, clock: ManualClock) -> None:
    """It speaks against a hit; it does not borrow where that one was found."""
    disputed(engram, clock, "Jakub takes the bus to school", "big boy news, he walks", chance=0.85)

    first = engram.recall("Which bus does Jakub take to school?").hits[0]

    assert "he walks" in first.memory.content
    assert "lexical" not in {one.index for one in first.reasons}
