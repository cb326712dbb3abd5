"""What is pinned or about health only a person replaces; what an agent says against it disputes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Settings, Source
from engramdb.errors import AccessDenied, MemoryChanged, StatementForgotten
from engramdb.integrations.tools import MemoryCalls
from engramdb.lifecycle import admission
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.lifecycle.write import challenge
from engramdb.text.guarded import is_guarded
from engramdb.values import Action, Actor, ActorKind, AnswerOutcome, EdgeType, GapKind, Memory, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import ManualClock

AGENT = Actor(name="claude", kind=ActorKind.AGENT)
GUARDED = {
    "pinned": ("My landlord is called Osei", "My landlord is called Mensah", {"pinned": True}),
    "health": ("I am allergic to peanuts", "I am allergic to cashews", {}),
}


@pytest.fixture
def agent(store_path: Path, clock: ManualClock, engram: Engram) -> Iterator[Engram]:
    """The store of a person, opened by an agent."""
    settings = engram._parts.settings
    with Engram.open(store_path, settings=settings, clock=clock, background=False, actor=AGENT) as opened:
        yield opened


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """An empty store, opened by a person."""
    with Engram.open(store_path, settings=Settings(reader="rules"), clock=clock, background=False) as opened:
        yield opened


@pytest.fixture(params=list(GUARDED.values()), ids=list(GUARDED))
def told(request: pytest.FixtureRequest, engram: Engram, clock: ManualClock) -> tuple[Memory, str]:
    """A memory that is guarded, and what somebody says instead a month later."""
    content, instead, labels = request.param
    memory = engram.remember(content, **labels)
    clock.advance(days=30)
    return memory, instead


def test_an_agents_correction_disputes_it(engram: Engram, agent: Engram, told: tuple[Memory, str]) -> None:
    """Both are kept and found, the question is open, and nothing inherits the pin or the person's word."""
    old, instead = told

    new = agent.correct(old.id, instead, reason="they said so")

    assert new.disputed == old.id
    assert (new.status, new.supersedes, new.pinned) == (Status.ACTIVE, None, False)
    assert new.provenance.source is Source.ASSISTANT
    left = engram.get(old.id)
    assert (left.status, left.pinned, left.content) == (Status.CHALLENGED, old.pinned, old.content)
    assert engram.history(old.id)[-1].reason == "they said so"
    (gap,) = engram.gaps()
    assert (gap.kind, set(gap.memories)) == (GapKind.CONTRADICTION, {old.id, new.id})
    hits = {hit.memory.id: hit for hit in engram.recall(old.content).hits}
    assert [one.by for one in hits[old.id].disputes] == [new.id]


def test_a_persons_correction_replaces_it(engram: Engram, told: tuple[Memory, str]) -> None:
    """And what is pinned stays pinned, in other words."""
    old, instead = told

    new = engram.correct(old.id, instead)

    assert (new.disputed, new.supersedes, new.pinned) == (None, old.id, old.pinned)
    assert engram.get(old.id).status is Status.SUPERSEDED


def test_who_acts_may_be_named_for_one_call(engram: Engram, told: tuple[Memory, str]) -> None:
    """A program of a person hands a model's wish on."""
    old, instead = told

    assert engram.correct(old.id, instead, actor=AGENT).disputed == old.id
    assert engram.get(old.id).status is Status.CHALLENGED


def test_an_agent_corrects_what_nobody_guards(engram: Engram, agent: Engram) -> None:
    """As ever."""
    old = engram.remember("My editor is vim")

    new = agent.correct(old.id, "My editor is Helix")

    assert (new.disputed, new.supersedes) == (None, old.id)
    assert engram.get(old.id).status is Status.SUPERSEDED


def test_a_correction_of_what_was_just_given_is_no_echo(engram: Engram, agent: Engram) -> None:
    """Though all of its words stand in what the agent has just read."""
    old = engram.remember("I am allergic to peanuts and cashews")
    agent.recall("what am I allergic to?", session="s")

    new = agent.correct(old.id, "I am allergic to peanuts")

    assert new.id != old.id
    assert engram.get(old.id).status is Status.CHALLENGED
    assert engram.get(old.id).reinforcements == 0


def test_saying_it_twice_changes_nothing_more(
    engram: Engram, agent: Engram, told: tuple[Memory, str]
) -> None:
    """The statement counts as said again, and one question is open."""
    old, instead = told
    first = agent.correct(old.id, instead)
    confidence = engram.get(old.id).confidence

    second = agent.correct(old.id, instead)

    assert second.id == first.id
    assert engram.get(old.id).confidence == confidence
    assert len(engram.gaps()) == 1


def test_the_person_settles_it(engram: Engram, agent: Engram, told: tuple[Memory, str]) -> None:
    """By answering, in the agent's favor or not."""
    old, instead = told
    new = agent.correct(old.id, instead)
    (gap,) = engram.gaps()

    engram.answer(gap.id, instead)

    assert engram.get(old.id).status is Status.SUPERSEDED
    assert engram.get(new.id).status is Status.ACTIVE


def test_a_dispute_is_undone_as_one_act(engram: Engram, agent: Engram, told: tuple[Memory, str]) -> None:
    """The statement goes, and the old one holds as before."""
    old, instead = told
    new = agent.correct(old.id, instead)

    engram.undo(act=engram.acts()[0].id)

    assert (engram.get(old.id).status, engram.get(old.id).confidence) == (Status.ACTIVE, old.confidence)
    assert engram.get(new.id).status not in (Status.ACTIVE, Status.CHALLENGED)
    assert engram.gaps() == []


def test_what_was_forgotten_disputes_nothing(
    engram: Engram, agent: Engram, clock: ManualClock, told: tuple[Memory, str]
) -> None:
    """It is withheld, and the old one stays as it was."""
    old, instead = told
    gone = engram.remember(f"{instead}, says Ada", source=Source.INGEST)
    engram.forget(gone.id)
    before = engram.get(old.id)
    clock.advance(hours=1)

    with pytest.raises(StatementForgotten):
        agent.correct(old.id, gone.content)

    assert engram.get(old.id) == before


def test_what_is_pinned_meanwhile_is_not_replaced(
    engram: Engram, agent: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last look is in the write itself."""
    old = engram.remember("My editor is vim")
    prepare = admission.prepare

    def pinned_first(*drafts: Any, **options: Any) -> admission.Prepared:
        engram.pin(old.id)
        return prepare(*drafts, **options)

    monkeypatch.setattr(admission, "prepare", pinned_first)
    with pytest.raises(MemoryChanged):
        agent.correct(old.id, "My editor is Helix")

    assert engram.get(old.id).status is Status.ACTIVE
    assert [event.action for event in engram.history(old.id)] == [Action.REMEMBER, Action.PIN]


REMOVING: dict[str, Callable[[Engram, str], object]] = {
    "forget": lambda agent, one: agent.forget(one),
    "invalidate": lambda agent, one: agent.set_status(one, Status.INVALIDATED, reason="wrong"),
    "archive": lambda agent, one: agent.set_status(one, Status.ARCHIVED, reason="old"),
    "forgotten as a status": lambda agent, one: agent.set_status(one, Status.FORGOTTEN, reason="rubbish"),
    "erase": lambda agent, one: agent.erase(one),
}


@pytest.mark.parametrize("remove", list(REMOVING.values()), ids=list(REMOVING))
def test_an_agent_takes_nothing_away_that_is_guarded(
    engram: Engram, agent: Engram, told: tuple[Memory, str], remove: Callable[[Engram, str], object]
) -> None:
    """It is told why, and who can; the person still can."""
    old, _ = told
    before = engram.get(old.id)

    with pytest.raises(AccessDenied, match=r"only the person may .* not an agent") as refused:
        remove(agent, old.id)

    assert "user" in (refused.value.hint or "")
    assert engram.get(old.id) == before
    remove(engram, old.id)
    assert engram.get(old.id).status is not Status.ACTIVE


@pytest.mark.parametrize("remove", list(REMOVING.values()), ids=list(REMOVING))
def test_an_agent_takes_away_what_nobody_guards(
    engram: Engram, agent: Engram, remove: Callable[[Engram, str], object]
) -> None:
    """The user has asked it to."""
    old = engram.remember("My editor is vim")

    remove(agent, old.id)

    assert engram.get(old.id).status is not Status.ACTIVE


def test_only_a_person_takes_a_pin_away(engram: Engram, agent: Engram) -> None:
    """Else the guard would last as long as the agent likes; it may set one."""
    old = engram.remember("My landlord is called Osei")
    agent.pin(old.id)

    with pytest.raises(AccessDenied):
        agent.unpin(old.id)

    assert engram.get(old.id).pinned
    assert not engram.unpin(old.id).pinned


def test_a_model_in_a_program_of_a_person_is_an_agent(engram: Engram, told: tuple[Memory, str]) -> None:
    """Whoever has opened the store."""
    old, _ = told
    calls = MemoryCalls(engram, session=None, scope=None)

    with pytest.raises(AccessDenied):
        asyncio.run(calls.forget(old.id))

    assert engram.get(old.id).status is Status.ACTIVE


def test_an_agent_takes_back_no_message_that_something_guarded_rests_on(
    engram: Engram, agent: Engram
) -> None:
    """Nor all of a user."""
    turn = engram.observe("I am allergic to penicillin.", session="s")
    engram.flush()
    (memory,) = engram.list()

    with pytest.raises(AccessDenied):
        agent.forget_turn(turn.id)

    assert engram.get(memory.id).status is Status.ACTIVE
    assert engram.forget_turn(turn.id).forgotten == (memory.id,)


def test_an_agent_ends_no_dispute_about_what_is_guarded(
    engram: Engram, agent: Engram, told: tuple[Memory, str]
) -> None:
    """Neither by its status nor by taking the link away; it may dispute and bring back."""
    old, instead = told
    new = agent.correct(old.id, instead)

    with pytest.raises(AccessDenied):
        agent.set_status(old.id, Status.ACTIVE, reason="all well")
    with pytest.raises(AccessDenied):
        agent.unlink(new.id, old.id, type=EdgeType.CONTRADICTS)

    assert engram.get(old.id).status is Status.CHALLENGED
    assert len(engram.gaps()) == 1


def test_a_flood_of_challenges_costs_confidence_once(engram: Engram, agent: Engram) -> None:
    """Eight of an agent's statements weigh no more than one, and each is kept."""
    old = engram.remember("Ann lives in Paris", pinned=True)
    lost = []
    for place in ("Rome", "Oslo", "Bern", "Kyoto", "Lima", "Porto", "Riga", "Turin"):
        agent.remember(f"Ann lives in {place}", source=Source.ASSISTANT)
        lost.append(round(old.confidence - engram.get(old.id).confidence, 2))

    assert len(set(lost)) == 1
    assert engram.get(old.id).status is Status.CHALLENGED


def test_being_judged_again_costs_nothing_more(engram: Engram, agent: Engram) -> None:
    """The same memory disputes another once, whoever finds that."""
    old = engram.remember("Ann lives in Paris", pinned=True)
    new = agent.remember("Ann lives in Rome", source=Source.ASSISTANT)
    once = engram.get(old.id)

    with engram._parts.store.atomic() as tx:
        again = challenge(MemoryWriter(tx, AGENT, engram._now()), once, by=new, reason="judged", chance=0.9)

    assert once.status is Status.CHALLENGED
    assert again == once == engram.get(old.id)


OF_HEALTH = (
    "I have epilepsy",
    "I am HIV positive",
    "I take insulin twice a day",
    "My daughter carries an EpiPen",
    "I was treated for breast cancer",
    "I have asthma",
    "I am celiac",
    "I am pregnant",
    "I take warfarin",
    "I have type 1 diabetes",
    "My blood type is 0 negative",
    "I've got a bad heart",
    "Ich bin allergisch gegen Penicillin",
    "Soy alérgica a los cacahuetes",
)
ORDINARY = (
    "The patch was merged yesterday",
    "I keep a diary of every release",
    "The smoke tests pass on main",
    "The health check answers with 200",
    "The doctor command looks through the store",
    "Upgrading Django was a pain",
    "My sister is a dentist",
    "We had a bad reaction to the new logo",
    "I run five kilometers before work",
)


@pytest.mark.parametrize("content", OF_HEALTH)
def test_what_is_said_of_health_is_guarded(engram: Engram, agent: Engram, content: str) -> None:
    """Whatever the condition and the language."""
    old = engram.remember(content)

    new = agent.correct(old.id, "I am perfectly well")

    assert new.disputed == old.id
    assert engram.get(old.id).status is Status.CHALLENGED


@pytest.mark.parametrize("content", ORDINARY)
def test_what_only_sounds_like_health_is_not_guarded(engram: Engram, content: str) -> None:
    """Else an agent could mend nothing any more."""
    assert not is_guarded(engram.remember(content))


def test_what_is_filed_under_health_or_answers_a_question_about_it_is_guarded(engram: Engram) -> None:
    """Though its own words tell nothing of it."""
    filed = engram.remember("No more runs above ten kilometers", category="health")
    answer = engram.remember("Only cashews").evolve(answers="What are you allergic to?")

    assert is_guarded(filed)
    assert is_guarded(answer)


RELAYING: dict[str, Callable[[Engram, Memory, str], Memory]] = {
    "correct of something else": lambda agent, other, said: agent.correct(other.id, said),
    "from the user": lambda agent, _other, said: agent.remember(said, source=Source.HUMAN),
}


@pytest.mark.parametrize("relay", list(RELAYING.values()), ids=list(RELAYING))
def test_what_an_agent_reports_against_it_stands_behind_it(
    engram: Engram, agent: Engram, clock: ManualClock, relay: Callable[[Engram, Memory, str], Memory]
) -> None:
    """It counts as the agent's word, whatever words of the person it stands in the place of."""
    old = engram.remember("I am allergic to penicillin")
    other = engram.remember("I like teal")
    clock.advance(days=30)

    new = relay(agent, other, "I am no longer allergic to penicillin")

    assert new.provenance.source is Source.ASSISTANT
    assert engram.get(new.id).provenance.source is Source.ASSISTANT
    assert engram.get(old.id).status is Status.CHALLENGED
    hits = engram.recall("Am I allergic to penicillin?").hits
    assert [hit.memory.id for hit in hits][:2] == [old.id, new.id]


def test_an_answer_that_an_agent_reports_against_it_is_the_agents_word(
    engram: Engram, agent: Engram, clock: ManualClock
) -> None:
    """The question stays open for the person."""
    old = engram.remember("I live in Paris", pinned=True)
    clock.advance(days=30)
    agent.remember("I live in Rome", source=Source.ASSISTANT)
    (gap,) = engram.gaps()

    answered = agent.answer(gap.id, "I live in Oslo since June")

    assert [one.provenance.source for one in answered.holds] == [Source.ASSISTANT]
    assert engram.get(old.id).status is Status.CHALLENGED
    assert engram.gaps()


def test_what_an_agent_reports_otherwise_is_taken_as_reported(engram: Engram, agent: Engram) -> None:
    """Where nothing guarded is in question, the user's word stays theirs."""
    reported = agent.remember("I moved to Ghent", source=Source.HUMAN)

    assert engram.get(reported.id).provenance.source is Source.HUMAN


@pytest.mark.parametrize("said", ["I am allergic to peanuts and carry an epipen.", "I moved to Rome."])
def test_an_agent_does_not_undo_what_was_read_from_a_persons_message(
    engram: Engram, agent: Engram, said: str
) -> None:
    """A rule has read it, and the person has said it."""
    engram.observe(said, session="s")
    engram.flush()
    (memory,) = engram.list()

    with pytest.raises(AccessDenied):
        agent.undo(memory.id)

    assert engram.get(memory.id) == memory
    engram.undo(memory.id)
    assert engram.get(memory.id).status is Status.INVALIDATED


def test_an_agent_undoes_what_it_did_itself_to_something_guarded(
    engram: Engram, agent: Engram, told: tuple[Memory, str]
) -> None:
    """Its dispute of something guarded goes with its statement."""
    old, instead = told
    agent.correct(old.id, instead)

    agent.undo()

    assert engram.get(old.id).status is Status.ACTIVE


def test_feedback_withholds_nothing_guarded(engram: Engram, agent: Engram, told: tuple[Memory, str]) -> None:
    """It may stand behind others."""
    old, _ = told
    question = "Who is my landlord?" if old.pinned else "What am I allergic to?"

    agent.feedback(old.id, helpful=False, query=question)

    assert old.id in [hit.memory.id for hit in engram.recall(question).hits]


def test_an_agent_settles_no_question_about_what_is_guarded(
    engram: Engram, agent: Engram, told: tuple[Memory, str]
) -> None:
    """Neither by keeping both nor by closing it; the person does."""
    old, instead = told
    agent.correct(old.id, instead)
    (gap,) = engram.gaps()

    answered = agent.answer(gap.id, "both")
    with pytest.raises(AccessDenied):
        agent.close_gap(gap.id)

    assert answered.outcome is AnswerOutcome.CHALLENGED
    assert engram.get(old.id).status is Status.CHALLENGED
    assert [one.id for one in engram.gaps()] == [gap.id]
    assert engram.answer(gap.id, "both").outcome is AnswerOutcome.KEPT_BOTH
