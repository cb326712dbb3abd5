"""`engram.answer`: what an answer to an open question does to the memories that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Scope
from engramdb.errors import InvalidQuery
from engramdb.lifecycle.answers import SNOOZE_DAYS
from engramdb.lifecycle.questions import hold_both, stale_question
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.values import (
    Action,
    Actor,
    ActorKind,
    AnswerOutcome,
    EdgeType,
    Gap,
    GapKind,
    Memory,
    Source,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import ManualClock, TinyEmbedder

ANN = Scope(user="ann")
GYM = "The gym around the corner costs 30 euros"


def told(engram: Engram, content: str, *, pinned: bool = False) -> Memory:
    """What Ann has asked to remember."""
    return engram.remember(content, pinned=pinned, scope=ANN)


def linked(engram: Engram, source: Memory, target: Memory, kind: EdgeType) -> None:
    """Let one memory put another into question, as admission does."""
    with engram._parts.store.atomic() as tx:
        writer = MemoryWriter(tx, Actor(name="rule", kind=ActorKind.RULE), engram._now())
        writer.link(source, target, kind)


def challenged(engram: Engram, memory: Memory) -> Memory:
    """A memory that somebody doubts."""
    return engram.set_status(memory.id, Status.CHALLENGED, reason="somebody doubts it", scope=ANN)


def question(engram: Engram) -> Gap:
    """The one question that is open."""
    (gap,) = engram.gaps(scope=ANN)
    return gap


def stale(engram: Engram, memory: Memory) -> Gap:
    """The question whether a memory still holds."""
    with engram._parts.store.atomic() as tx:
        tx.gaps.put(stale_question(memory, priority=0.5, now=engram._now()))
    return question(engram)


def status_of(engram: Engram, memory: Memory) -> Status:
    """Where a memory stands now."""
    return engram.get(memory.id, scope=ANN).status


@pytest.fixture
def homes(engram: Engram, clock: ManualClock) -> tuple[Memory, Memory]:
    """Two statements that cannot both hold, both disputed."""
    first = told(engram, "I have my flat in Hamburg")
    clock.advance(days=60)
    second = told(engram, "We are settling in in Leipzig")
    linked(engram, second, first, EdgeType.CONTRADICTS)
    return challenged(engram, first), challenged(engram, second)


@pytest.fixture
def agent(store_path: Path, clock: ManualClock, embedder: TinyEmbedder) -> Iterator[Engram]:
    """The same store, in the hands of an agent."""
    actor = Actor(name="coder", kind=ActorKind.AGENT)
    with Engram.open(store_path, clock=clock, embedder=embedder, actor=actor, background=False) as opened:
        yield opened


def test_yes_confirms(engram: Engram, clock: ManualClock) -> None:
    """It counts again, for more, and is fresh; no other question about it is left."""
    memory = told(engram, GYM)
    with engram._parts.store.atomic() as tx:
        MemoryWriter(tx, Actor(), clock.now()).update(memory, Action.WEAKEN, confidence=0.4)
    challenged(engram, memory)
    clock.advance(days=200)
    gap = stale(engram, engram.get(memory.id, scope=ANN))

    answered = engram.answer(gap.id, "yes, still so", scope=ANN)

    (now,) = answered.holds
    assert answered.outcome is AnswerOutcome.CONFIRMED
    assert (now.id, now.status, now.confidence, now.confirmed_at) == (
        memory.id,
        Status.ACTIVE,
        1.0,
        clock.now(),
    )
    assert now == engram.get(memory.id, scope=ANN)
    assert engram.gaps(scope=ANN) == []
    assert [event.actor.kind for event in engram.history(memory.id, scope=ANN)][-1] is ActorKind.PERSON


def test_no_invalidates_and_offers_what_it_displaced(engram: Engram, clock: ManualClock) -> None:
    """The person can bring the older one back; nothing is brought back behind their back."""
    old = told(engram, "The office is on the third floor")
    new = engram.correct(old.id, "The office is on the ninth floor", scope=ANN)
    clock.advance(days=200)
    gap = stale(engram, new)

    answered = engram.answer(gap.id[-8:], "No.", scope=ANN)
    back = engram.set_status(old.id, Status.ACTIVE, reason="it holds again", scope=ANN)

    assert answered.outcome is AnswerOutcome.INVALIDATED
    assert [one.id for one in answered.retired] == [new.id]
    assert [one.id for one in answered.displaced] == [old.id]
    assert status_of(engram, new) is Status.INVALIDATED
    assert engram.get(new.id, scope=ANN).valid_to == clock.now()
    assert back.status is Status.ACTIVE


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("no, the gym closed in March", "the gym closed in March"),
        ("The gym costs 45 euros these days", "The gym costs 45 euros these days"),
    ],
)
def test_a_value_corrects(engram: Engram, said: str, stored: str) -> None:
    """It is the person's own statement, and stands in the place of what was asked about."""
    memory = told(engram, GYM)
    gap = stale(engram, memory)

    answered = engram.answer(gap.id, said, scope=ANN)

    (now,) = answered.holds
    assert answered.outcome is AnswerOutcome.CORRECTED
    assert (now.content, now.status, now.supersedes) == (stored, Status.ACTIVE, memory.id)
    assert engram.get(memory.id, scope=ANN).superseded_by == now.id
    assert engram.gaps(scope=ANN) == []


def test_a_fragment_is_put_where_the_old_value_stood(engram: Engram) -> None:
    """A bare "Ghent" would say nothing to one who was not there."""
    gap = stale(engram, told(engram, "I live in Hamburg"))

    answered = engram.answer(gap.id, "no, Ghent", scope=ANN)

    assert [one.content for one in answered.holds] == ["I live in Ghent"]


@pytest.mark.parametrize(
    ("said", "winner"),
    [
        ("second", 1),
        ("2", 1),
        ("the first one", 0),
        ("no, the second one", 1),
        ("Leipzig", 1),
        ("we live in Leipzig", 1),
        ("Hamburg", 0),
    ],
)
def test_of_two_that_contradict_each_other_one_is_chosen(
    engram: Engram, homes: tuple[Memory, Memory], said: str, winner: int
) -> None:
    """By its place in the question, or by a word that only it has; the other is superseded, not lost."""
    answered = engram.answer(question(engram).id, said, scope=ANN)

    assert answered.outcome is AnswerOutcome.CHOSEN
    assert [one.id for one in answered.holds] == [homes[winner].id]
    assert status_of(engram, homes[winner]) is Status.ACTIVE
    assert status_of(engram, homes[1 - winner]) is Status.SUPERSEDED
    assert engram.gaps(scope=ANN) == []


def test_both_hold_for_good(engram: Engram, homes: tuple[Memory, Memory]) -> None:
    """The link goes, both count, and neither a dream nor the same finding asks again."""
    answered = engram.answer(question(engram).id, "both", scope=ANN)
    engram.dream()
    linked(engram, homes[1], homes[0], EdgeType.CONTRADICTS)

    assert answered.outcome is AnswerOutcome.KEPT_BOTH
    assert [status_of(engram, one) for one in homes] == [Status.ACTIVE, Status.ACTIVE]
    assert engram.gaps(scope=ANN) == []
    with engram._parts.store.read() as tx:
        assert hold_both(tx, *homes)


def test_the_link_of_two_that_both_hold_is_gone(engram: Engram, homes: tuple[Memory, Memory]) -> None:
    """And its end is in their histories."""
    engram.answer(question(engram).id, "both are true", scope=ANN)

    kinds = {edge.type for edge in engram.links(homes[0].id, scope=ANN)}
    actions = [event.action for event in engram.history(homes[0].id, scope=ANN)]
    assert EdgeType.CONTRADICTS not in kinds
    assert "unrelate" in actions


def test_neither_holds(engram: Engram, homes: tuple[Memory, Memory]) -> None:
    """Both are invalidated."""
    answered = engram.answer(question(engram).id, "neither", scope=ANN)

    assert {one.id for one in answered.retired} == {one.id for one in homes}
    assert {status_of(engram, one) for one in homes} == {Status.INVALIDATED}


def test_a_third_value_supersedes_both(engram: Engram, homes: tuple[Memory, Memory]) -> None:
    """The new statement stands for the two that were disputed."""
    answered = engram.answer(question(engram).id, "we moved to Ghent last week", scope=ANN)

    assert answered.outcome is AnswerOutcome.CORRECTED
    assert [one.content for one in answered.holds] == ["we moved to Ghent last week"]
    assert {status_of(engram, one) for one in homes} == {Status.SUPERSEDED}
    assert {one.id for one in answered.retired} == {one.id for one in homes}


def test_not_now_lets_it_rest(engram: Engram, clock: ManualClock) -> None:
    """It stays open, and no prompt asks it before its time."""
    memory = told(engram, GYM)
    gap = stale(engram, memory)

    answered = engram.answer(gap.id, "not now", scope=ANN)
    at_once = engram.context("the gym around the corner", scope=ANN).asked
    clock.advance(days=SNOOZE_DAYS + 1)
    later = engram.context("the gym around the corner", scope=ANN).asked

    assert answered.outcome is AnswerOutcome.SNOOZED
    assert question(engram).id == gap.id
    assert at_once == ()
    assert [one.id for one in later] == [gap.id]


@pytest.mark.parametrize("said", ["yes", "no", "yes, but only in winter", "yes no"])
def test_an_answer_that_does_not_settle_it_changes_nothing(
    engram: Engram, homes: tuple[Memory, Memory], said: str
) -> None:
    """A yes does not say which one holds; the error says what would."""
    gap = question(engram)

    with pytest.raises(InvalidQuery) as refused:
        engram.answer(gap.id, said, scope=ANN)

    assert "first, second, both or neither" in refused.value.hint
    assert question(engram) == gap
    assert {status_of(engram, one) for one in homes} == {Status.CHALLENGED}


@pytest.mark.parametrize(
    "said",
    [
        *("?", "hm", "lol", "🙂", "what do you mean", "both but not Rome", "busy", "I'm busy", "asdf"),
        *("no idea what you mean", "not Rome", "I don't live in Rome", "Paris or Rome", "I already told you"),
    ],
)
@pytest.mark.parametrize("pinned", [True, False])
def test_vague_words_decide_nothing(engram: Engram, agent: Engram, said: str, *, pinned: bool) -> None:
    """They supersede neither side, and store nothing."""
    first = told(engram, "I live in Paris", pinned=pinned)
    second = agent.remember("I live in Rome", source=Source.ASSISTANT, scope=ANN)

    with pytest.raises(InvalidQuery):
        engram.answer(question(engram).id, said, scope=ANN)

    assert [status_of(engram, one) for one in (first, second)] == [Status.CHALLENGED, Status.ACTIVE]
    assert len(engram.list(scope=ANN)) == 2


@pytest.mark.parametrize("said", ["lol", "?", "why", "wait", "no, lol", "I'm busy", "ask my wife"])
def test_vague_words_correct_nothing(engram: Engram, said: str) -> None:
    """Neither does what is about something else stand in the place of what was asked about."""
    memory = told(engram, GYM)

    with pytest.raises(InvalidQuery):
        engram.answer(stale(engram, memory).id, said, scope=ANN)

    assert status_of(engram, memory) is Status.ACTIVE


def test_a_third_place_supersedes_both(engram: Engram, agent: Engram) -> None:
    """A value of the same sort says what holds instead."""
    told(engram, "I live in Paris", pinned=True)
    agent.remember("I live in Rome", source=Source.ASSISTANT, scope=ANN)

    engram.answer(question(engram).id, "Ghent", scope=ANN)

    assert [one.content for one in engram.list(scope=ANN)] == ["I live in Ghent"]


@pytest.mark.parametrize(("said", "status"), [("yes", Status.ACTIVE), ("no", Status.INVALIDATED)])
def test_what_a_change_made_doubtful_is_settled(
    engram: Engram, clock: ManualClock, said: str, status: Status
) -> None:
    """Yes takes the doubt away; no ends it at the change. The change itself is untouched."""
    gym = told(engram, GYM)
    clock.advance(days=30)
    moved = told(engram, "We moved to Lisbon")
    linked(engram, moved, gym, EdgeType.DOUBTS)
    challenged(engram, gym)
    clock.advance(days=5)

    engram.answer(question(engram).id, said, scope=ANN)

    assert status_of(engram, gym) is status
    assert status_of(engram, moved) is Status.ACTIVE
    if said == "yes":
        assert engram.links(gym.id, scope=ANN) == []
    else:
        assert engram.get(gym.id, scope=ANN).valid_to == moved.when
    engram.dream()
    assert engram.gaps(scope=ANN) == []


def test_a_missing_fact_is_remembered_as_an_answer(engram: Engram, clock: ManualClock) -> None:
    """Beside the question that it answers, so that a bare date can be found."""
    gap = Gap(
        id="g",
        kind=GapKind.MISSING_FIELD,
        question="When is the birthday of Lena?",
        scope=ANN,
        found_at=clock.now(),
    )
    with engram._parts.store.atomic() as tx:
        tx.gaps.put(gap)

    answered = engram.answer("g", "on 4 May", scope=ANN)

    assert answered.outcome is AnswerOutcome.REMEMBERED
    assert answered.holds[0].answers == "When is the birthday of Lena?"


@pytest.mark.parametrize("said", ["no", "no, the appendix is still there"])
def test_an_agent_cannot_retire_what_is_pinned(engram: Engram, agent: Engram, said: str) -> None:
    """It reports what the person said: the memory is disputed, and the person is asked still."""
    memory = told(engram, "My appendix was taken out in 2015", pinned=True)
    gap = stale(engram, memory)

    answered = agent.answer(gap.id, said, scope=ANN)

    assert answered.outcome is AnswerOutcome.CHALLENGED
    assert status_of(engram, memory) is Status.CHALLENGED
    assert gap.id in [one.id for one in engram.gaps(scope=ANN)]


def test_an_agent_may_confirm_what_is_pinned(engram: Engram, agent: Engram) -> None:
    """That loses nothing."""
    memory = told(engram, "My appendix was taken out in 2015", pinned=True)
    gap = stale(engram, memory)

    assert agent.answer(gap.id, "yes", scope=ANN).outcome is AnswerOutcome.CONFIRMED
    assert engram.gaps(scope=ANN) == []


def test_an_agent_passes_on_what_the_person_said(engram: Engram, agent: Engram) -> None:
    """What is neither pinned nor about health goes on a report."""
    memory = told(engram, GYM)

    assert agent.answer(stale(engram, memory).id, "no", scope=ANN).outcome is AnswerOutcome.INVALIDATED
    assert status_of(engram, memory) is Status.INVALIDATED


def test_the_person_corrects_what_is_pinned(engram: Engram) -> None:
    """In their own words."""
    memory = told(engram, "The door code is four roses", pinned=True)

    answered = engram.answer(stale(engram, memory).id, "no, it is five tulips", scope=ANN)

    assert answered.outcome is AnswerOutcome.CORRECTED
    assert status_of(engram, memory) is Status.SUPERSEDED


@pytest.mark.parametrize("way", ["remember", "observe"])
def test_three_times_hamburg_and_three_times_leipzig_is_a_question_that_leipzig_settles(
    engram: Engram, clock: ManualClock, way: str
) -> None:
    """Neither side vanishes; both are recalled until somebody says which one it is."""
    for place in ("Hamburg", "Leipzig"):
        for number in range(3):
            clock.advance(minutes=5)
            if way == "remember":
                engram.remember(f"I live in {place}", scope=ANN)
            else:
                engram.observe(f"I live in {place}", session=f"{place} {number}", scope=ANN)
                engram.flush()
    engram.dream()
    before = {hit.memory.content for hit in engram.recall("where do I live?", scope=ANN).hits}
    gap = question(engram)

    engram.answer(gap.id, "Leipzig", scope=ANN)

    after = [hit.memory.content for hit in engram.recall("where do I live?", scope=ANN).hits]
    assert gap.question == (
        "You said “I live in Hamburg” (1 January 2026) and “I live in Leipzig” (1 January 2026). "
        "Which holds now?"
    )
    assert before == {"I live in Hamburg", "I live in Leipzig"}
    assert after == ["I live in Leipzig"]
    assert engram.gaps(scope=ANN) == []
