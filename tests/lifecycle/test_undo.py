"""Whatever was done can be undone with all that followed from it, by whom it may, except an erasure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Filters, Scope, Status
from engramdb.errors import AccessDenied, MemoryNotFound, StatusNotAllowed, UndoRefused
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.merging import merge
from engramdb.lifecycle.recorded import FLAGS, RECORDED, UNRECORDED
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.testing import TinyEmbedder
from engramdb.text.identity import FORGOTTEN_WORDS, fingerprint_of
from engramdb.values import Action, Actor, ActorKind, EdgeType, Layer, Memory

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunChild

    from engramdb.testing import ManualClock

ANYTHING = Filters(statuses=frozenset(Status))
AGENT = Actor(name="claude", kind=ActorKind.AGENT)
RULE = Actor(name="sweeper", kind=ActorKind.RULE)

ANOTHER_PROCESS = """
    import sys
    from engramdb import Engram
    with Engram.open(sys.argv[1], background=False) as engram:
        done = engram.undo()
        print(done.undone[0].action, len(done.gone), len(done.back))
"""


def as_actor(path: Path, actor: Actor, clock: ManualClock) -> Engram:
    """Open the store in the name of somebody."""
    return Engram.open(path, actor=actor, clock=clock, embedder=TinyEmbedder(), background=False)


def state(engram: Engram, *memories: Memory) -> list[Memory]:
    """Return memories as they are now, without when they were last changed."""
    return [engram.get(one.id).evolve(updated_at=one.created_at) for one in memories]


def moved_house(engram: Engram, clock: ManualClock) -> tuple[Memory, Memory]:
    """Say where one lives, and then that one lives elsewhere, which supersedes it."""
    old = engram.remember("I live in Berlin.")
    clock.advance(days=30)
    new = engram.remember("I live in Lisbon now.")
    assert engram.get(old.id).superseded_by == new.id
    clock.advance(days=1)
    return old, new


# --- what a person did --------------------------------------------------------------------------------------


def test_a_wrong_statement_goes_and_what_it_displaced_holds_again(engram: Engram, clock: ManualClock) -> None:
    """The displaced fact has its old status, end, successor and confidence; the wrong one never held."""
    old = engram.remember("I live in Berlin.")
    before = engram.get(old.id)
    clock.advance(days=30)
    new = engram.remember("I live in Lisbon now.")

    done = engram.undo()

    assert (done.back, done.gone) == ((old.id,), (new.id,))
    assert state(engram, old) == [before.evolve(updated_at=old.created_at)]
    assert engram.get(new.id).status is Status.INVALIDATED
    assert engram.links(old.id) == []
    assert [hit.memory.id for hit in engram.recall("where do I live?").hits] == [old.id]


def test_undoing_step_by_step_leads_back_and_an_undo_is_not_undone_by_the_next(
    engram: Engram, clock: ManualClock
) -> None:
    """Without a name, undo goes further back each time."""
    tea = engram.remember("Maya likes tea")
    engram.pin(tea.id)
    engram.promote(tea.id, layer=Layer.PROCEDURAL)

    done = [engram.undo().undone[0].action for _ in range(3)]

    assert done == [Action.PROMOTE, Action.PIN, Action.REMEMBER]
    assert engram.list() == []
    with pytest.raises(UndoRefused, match="nothing is left to undo"):
        engram.undo()


def test_an_undo_can_be_undone(engram: Engram, clock: ManualClock) -> None:
    """Everything is as if it had not been undone, and can be undone once more."""
    old, new = moved_house(engram, clock)
    before = state(engram, old, new)
    links = engram.links(old.id)

    undone = engram.undo()
    engram.undo(act=undone.act)

    assert state(engram, old, new) == before
    assert engram.links(old.id) == links
    assert engram.undo().back == (old.id,)


def test_forgetting_is_undone_with_the_words_that_others_quoted(engram: Engram) -> None:
    """What leaned on a forgotten memory has its words back, and the memory is found again."""
    engram.observe("What is your daughter called?", role="assistant", session="s1")
    engram.observe("Philippa.", role="user", session="s1")
    engram.flush()
    (answer,) = engram.list()
    assert answer.answers is not None
    named = engram.remember("What is your daughter called?", session="s1")
    engram.forget(named.id)
    assert engram.get(answer.id).answers == FORGOTTEN_WORDS

    engram.undo()

    assert engram.get(answer.id).answers == answer.answers
    assert engram.get(named.id).status is Status.ACTIVE
    engram.embed_pending()
    assert named.id in [hit.memory.id for hit in engram.recall("daughter called").hits]
    assert engram.doctor().ok


def test_words_that_were_set_aside_go_when_they_are_erased(engram: Engram, store_path: Path) -> None:
    """What was kept for an undo is in the file no longer."""
    engram.observe("Is the zebraword Quagga?", role="assistant", session="s1")
    engram.observe("Yes, exactly that.", role="user", session="s1")
    engram.flush()
    said = engram.remember("Is the zebraword Quagga?", session="s1")
    engram.forget(said.id)

    assert engram.erase(said.id).is_file_clean

    assert b"Quagga" not in store_path.read_bytes()
    with pytest.raises(UndoRefused, match="erased"):
        engram.undo(said.id)


def test_a_correction_is_undone(engram: Engram) -> None:
    """The old words count again, the new ones never did."""
    wrong = engram.remember("The API uses JWT tokens", pinned=True)
    right = engram.correct(wrong.id, "The API uses session cookies")

    done = engram.undo(wrong.id)

    assert done.undone[0].action is Action.CORRECT
    assert engram.get(wrong.id).status is Status.ACTIVE
    assert engram.get(wrong.id).superseded_by is None
    assert engram.get(right.id).status is Status.INVALIDATED


def test_a_repetition_is_undone_without_the_statement(engram: Engram) -> None:
    """Saying it again added evidence and confidence; only that goes."""
    once = engram.remember("Maya likes tea", confidence=0.6)
    engram.remember("Maya likes tea", pinned=True)
    assert engram.get(once.id).reinforcements == 1

    engram.undo()

    assert state(engram, once) == [once.evolve(updated_at=once.created_at)]


def test_links_and_labels_are_undone(engram: Engram) -> None:
    """A link comes and goes with its weight; a status is as it was."""
    cause, effect = engram.remember("The disk was full"), engram.remember("The server crashed")
    engram.link(effect.id, cause.id, type=EdgeType.CAUSED_BY, weight=0.5)
    engram.link(effect.id, cause.id, type=EdgeType.CAUSED_BY, weight=0.9)
    engram.set_status(cause.id, Status.ARCHIVED)

    engram.undo()
    assert engram.get(cause.id).status is Status.ACTIVE
    engram.undo()
    assert [edge.weight for edge in engram.links(cause.id) if edge.type is EdgeType.CAUSED_BY] == [0.5]
    engram.undo()
    assert [edge for edge in engram.links(cause.id) if edge.type is EdgeType.CAUSED_BY] == []


def test_feedback_is_undone(engram: Engram) -> None:
    """The count is as before, and the memory is given again to such questions."""
    tea = engram.remember("Maya likes tea")
    engram.feedback(tea.id, helpful=False, query="what does Maya like?")
    assert engram.recall("what does Maya like?").hits == ()

    engram.undo()

    assert engram.get(tea.id).unhelpful == 0
    assert [hit.memory.id for hit in engram.recall("what does Maya like?").hits] == [tea.id]


def test_what_is_stored_together_is_undone_together_or_one_by_one(engram: Engram) -> None:
    """A bulk is one act for who asks, and each statement of it can be taken back by itself."""
    first, second, third = engram.remember_many([Draft(content=f"note {number}") for number in range(3)])
    (bulk,) = engram.acts()
    assert bulk.memories == 3

    assert engram.undo(second.id).gone == (second.id,)
    assert set(engram.undo().gone) == {first.id, third.id}
    assert next(one for one in engram.acts() if one.id == bulk.id).undone_by is not None


# --- what rules did -----------------------------------------------------------------------------------------


def test_what_aging_took_is_brought_back_and_left_alone_by_the_next_sweep(
    engram: Engram, clock: ManualClock
) -> None:
    """One sweep is one act; who undoes it vouches for what comes back."""
    day = clock.now() + timedelta(days=1)
    gone = [engram.remember(f"{name} is on call", forget_after=day) for name in ("Ann", "Ben")]
    clock.advance(days=2)
    engram.age()
    assert {engram.get(one.id).status for one in gone} == {Status.FORGOTTEN}

    (sweep,) = [one for one in engram.acts() if one.action is Action.AGE]
    done = engram.undo(act=sweep.id[-8:])
    engram.age()

    assert set(done.back) == {one.id for one in gone}
    assert {engram.get(one.id).status for one in gone} == {Status.ACTIVE}
    assert len(engram.list()) == 2


def test_a_merge_of_the_dream_is_undone_and_not_made_again(engram: Engram, clock: ManualClock) -> None:
    """Both statements stand with their own evidence, and the next dream respects that."""
    keeper = engram.remember("The deploy script lives in tools/deploy.sh", confidence=0.7)
    clock.advance(minutes=1)
    loser = engram.remember("tools/deploy.sh is where the deploy script lives", confidence=0.7)
    before = state(engram, keeper, loser)
    with engram._parts.store.atomic() as tx:
        writer = MemoryWriter(tx, RULE, clock.now())
        merge(writer, keeper, [engram.get(loser.id)], policy=engram._parts.policy.dream, reason="same")
    assert engram.get(loser.id).status is Status.MERGED

    undone = engram.undo(loser.id)

    assert state(engram, keeper, loser) == before
    engram.dream()
    assert engram.get(loser.id).status is Status.ACTIVE
    engram.undo(act=undone.act, with_later=True)
    assert engram.get(loser.id).status is Status.MERGED
    assert engram.get(loser.id).superseded_by == keeper.id
    assert [one.id for one in engram.unmerge(keeper.id)] == [loser.id]


def test_a_rule_that_was_taken_back_in_talk_holds_again(engram: Engram) -> None:
    """What a sentence withdrew, undo brings back."""
    engram.observe("Always use uv, never pip.", session="s1")
    engram.flush()
    rules = [one for one in engram.list() if "uv" in one.content]
    engram.observe("forget the uv rule", session="s1")
    engram.flush()
    (gone,) = [one for one in rules if engram.get(one.id).status is Status.INVALIDATED]

    engram.undo(gone.id)

    assert engram.get(gone.id).status is Status.ACTIVE


def test_what_was_read_from_talk_is_undone_statement_by_statement(engram: Engram, clock: ManualClock) -> None:
    """The reader's settling is undone with the newcomer that caused it, and nothing else is."""
    engram.observe("My manager is Alice. I live in Bonn.", session="s1")
    engram.flush()
    clock.advance(days=1)
    engram.observe("My manager is Bob now. I like hiking.", session="s2")
    engram.flush()
    by_words = {one.content: one for one in engram.list(filters=ANYTHING)}
    alice = next(one for words, one in by_words.items() if "Alice" in words)
    bob = next(one for words, one in by_words.items() if "Bob" in words)
    assert engram.get(alice.id).status is Status.SUPERSEDED

    engram.undo(bob.id)

    assert engram.get(alice.id).status is Status.ACTIVE
    assert engram.get(bob.id).status is Status.INVALIDATED
    assert sum(one.status is Status.ACTIVE for one in engram.list()) == len(by_words) - 1


def test_what_a_dream_concluded_goes_with_its_ground_and_comes_back_with_it(engram: Engram) -> None:
    """A derived memory that was withdrawn is a consequence like any other."""
    ground = engram.remember("Maya plays the cello")
    with engram._parts.store.atomic() as tx:
        drawn = ground.evolve(
            id=ground.id[:-4] + "dddd", content="Maya is musical", extractor="dream.profile-1", version=1
        )
        writer = MemoryWriter(tx, Actor(name="dream.profile", kind=ActorKind.RULE), ground.created_at)
        writer.create(drawn, fingerprint=fingerprint_of(drawn), action=Action.DERIVE)
        writer.link(drawn, ground, EdgeType.DERIVED_FROM)
    engram.forget(ground.id)
    assert engram.get(drawn.id).status is Status.PRUNED

    done = engram.undo()

    assert set(done.back) == {ground.id, drawn.id}


def test_a_question_is_open_again_when_its_answer_is_undone(engram: Engram, clock: ManualClock) -> None:
    """The answer and the closing of the question are one act."""
    first, second = engram.remember("The library is quiet"), engram.remember("Reading rooms are loud")
    engram.link(second.id, first.id, type=EdgeType.CONTRADICTS)
    gaps = engram.gaps()
    assert gaps
    before = state(engram, first, second)
    engram.answer(gaps[0].id, "the second")
    assert gaps[0].id not in [one.id for one in engram.gaps()]
    assert state(engram, first, second) != before

    done = engram.undo()

    assert done.undone[0].action is Action.ANSWER
    assert gaps[0].id in [one.id for one in engram.gaps()]
    assert state(engram, first, second) == before
    engram.undo(act=done.act)
    assert gaps[0].id not in [one.id for one in engram.gaps()]


# --- what stands in the way ---------------------------------------------------------------------------------


def test_later_acts_that_build_on_it_are_named_and_undone_first_on_request(
    engram: Engram, clock: ManualClock
) -> None:
    """Nothing is done unless the caller says that later acts are to go too."""
    old, new = moved_house(engram, clock)
    engram.pin(new.id)
    pinned, stored = engram.acts(limit=2)

    with pytest.raises(UndoRefused, match=f"{pinned.id[-8:]} \\(pin by user") as refused:
        engram.undo(act=stored.id)
    assert "with-later" in refused.value.hint
    assert engram.get(new.id).pinned

    done = engram.undo(act=stored.id, with_later=True)

    assert [one.id for one in done.undone] == [pinned.id, stored.id]
    assert engram.get(old.id).status is Status.ACTIVE
    assert not engram.get(new.id).pinned


def test_what_does_not_build_on_it_is_no_hindrance(engram: Engram, clock: ManualClock) -> None:
    """Another field of the same memory may have been changed since, and stays so."""
    tea = engram.remember("Maya likes tea")
    engram.pin(tea.id)
    engram.promote(tea.id, layer=Layer.PROCEDURAL)
    engram.feedback(tea.id, helpful=True)
    (pin,) = [one for one in engram.acts() if one.action is Action.PIN]

    engram.undo(act=pin.id)

    now = engram.get(tea.id)
    assert (now.pinned, now.layer, now.helped) == (False, Layer.PROCEDURAL, 1)


def test_what_was_forgotten_since_stays_forgotten(engram: Engram, clock: ManualClock) -> None:
    """Undoing the statement brings back what it displaced, and not the statement."""
    old, new = moved_house(engram, clock)
    (stored,) = [one for one in engram.acts() if one.memories == 2]
    engram.forget(new.id)

    done = engram.undo(act=stored.id)

    assert done.back == (old.id,)
    assert done.untouched == (new.id,)
    assert engram.get(new.id).status is Status.FORGOTTEN


def test_an_erasure_cannot_be_undone(engram: Engram) -> None:
    """Nothing is left to bring back, and the refusal says so."""
    tea = engram.remember("Maya likes tea")
    engram.erase(tea.id)

    with pytest.raises(UndoRefused, match="erased"):
        engram.undo()


def test_what_was_undone_is_not_undone_twice(engram: Engram) -> None:
    """The refusal names the undo, which can be undone instead."""
    engram.remember("Maya likes tea")
    done = engram.undo()

    with pytest.raises(UndoRefused, match="undone already") as refused:
        engram.undo(act=done.undone[0].id)
    assert done.act in refused.value.hint


def test_acts_out_of_order_are_refused_and_not_half_done(engram: Engram) -> None:
    """Redoing the second of two undone changes needs the first, too."""
    tea = engram.remember("Maya likes tea")
    engram.promote(tea.id, layer=Layer.SEMANTIC if tea.layer is not Layer.SEMANTIC else Layer.EPISODIC)
    engram.promote(tea.id, layer=Layer.PROCEDURAL)
    second, first = engram.undo(), engram.undo()

    with pytest.raises(UndoRefused, match=first.act[-8:]):
        engram.undo(act=second.act)
    engram.undo(act=second.act, with_later=True)

    assert engram.get(tea.id).layer is Layer.PROCEDURAL


def test_a_twin_that_is_active_now_stops_the_undo_as_a_whole(engram: Engram) -> None:
    """Two active memories with the same words cannot be; the transaction leaves everything as it was."""
    tea = engram.remember("Maya likes tea")
    engram.forget(tea.id)
    twin = engram.remember("Maya likes tea")
    (forgot,) = [one for one in engram.acts() if one.action is Action.FORGET]

    with pytest.raises(StatusNotAllowed, match="another active memory says the same"):
        engram.undo(act=forgot.id)

    assert twin.id != tea.id
    assert engram.get(twin.id).status is Status.ACTIVE
    assert engram.get(tea.id).status is Status.FORGOTTEN


# --- who may ------------------------------------------------------------------------------------------------


def test_an_agent_undoes_its_own_acts_and_those_of_rules_but_no_persons(
    engram: Engram, store_path: Path, clock: ManualClock
) -> None:
    """What a person did is the person's."""
    mine = engram.remember("Maya likes tea")
    with as_actor(store_path, AGENT, clock) as agent:
        with pytest.raises(UndoRefused, match="claude"):
            agent.undo()
        with pytest.raises(AccessDenied, match="by a person"):
            agent.undo(mine.id)
        theirs = agent.remember("The build is red")
        agent.pin(mine.id)
        assert agent.undo().undone[0].action is Action.PIN
        assert agent.undo().gone == (theirs.id,)
        engram.forget(theirs.id)
        with pytest.raises(StatusNotAllowed, match="not removed by a rule but by 'user'"):
            agent.restore(theirs.id)
        agent.forget(agent.remember("The nightly job is slow").id)
        with pytest.raises(AccessDenied, match="on purpose"):
            agent.undo()
    assert engram.get(mine.id).status is Status.ACTIVE


def test_a_person_undoes_what_an_agent_did_and_a_rule_nothing(
    engram: Engram, store_path: Path, clock: ManualClock
) -> None:
    """Automatic steps never bring anything back."""
    with as_actor(store_path, AGENT, clock) as agent:
        theirs = agent.remember("The build is red")
    with as_actor(store_path, RULE, clock) as rule, pytest.raises(AccessDenied, match="rule"):
        rule.undo(theirs.id)

    assert engram.undo(theirs.id).gone == (theirs.id,)


def test_an_agent_does_not_take_a_persons_later_act_along(
    engram: Engram, store_path: Path, clock: ManualClock
) -> None:
    """Undoing with later acts is refused as a whole where one of them is a person's."""
    with as_actor(store_path, AGENT, clock) as agent:
        theirs = agent.remember("The build is red")
        engram.pin(theirs.id)

        with pytest.raises(AccessDenied):
            agent.undo(with_later=True)

    assert engram.get(theirs.id).pinned


def test_another_scope_sees_and_undoes_nothing(engram: Engram) -> None:
    """Neither a wider nor a narrower scope reaches an act."""
    ann, wide = Scope(user="ann"), Scope()
    tea = engram.remember("I like tea", scope=ann)
    (act,) = engram.acts(scope=ann)

    for other in (wide, Scope(user="ben"), Scope(user="ann", project="x")):
        assert engram.acts(scope=other) == []
        with pytest.raises(UndoRefused):
            engram.undo(scope=other)
        with pytest.raises(MemoryNotFound):
            engram.undo(act=act.id, scope=other)
        with pytest.raises((AccessDenied, MemoryNotFound)):
            engram.undo(tea.id, scope=other)
    assert engram.undo(scope=ann).gone == (tea.id,)


def test_a_store_wide_act_is_undone_in_one_scope_only(engram: Engram, clock: ManualClock) -> None:
    """One sweep is an act in each scope that it reached."""
    ann, ben = Scope(user="ann"), Scope(user="ben")
    day = clock.now() + timedelta(days=1)
    calls = [engram.remember("I am on call", forget_after=day, scope=one) for one in (ann, ben)]
    clock.advance(days=2)
    engram.age()

    engram.undo(act=engram.acts(scope=ann)[0].id, scope=ann)

    assert engram.get(calls[0].id, scope=ann).status is Status.ACTIVE
    assert engram.get(calls[1].id, scope=ben).status is Status.FORGOTTEN


def test_it_is_undone_after_opening_again_and_by_another_process(
    store_path: Path, child: RunChild, clock: ManualClock
) -> None:
    """Acts are in the file."""
    with Engram.open(store_path, clock=clock, background=False) as engram:
        old, new = moved_house(engram, clock)

    assert child(ANOTHER_PROCESS, store_path) == "remember 1 1"

    with Engram.open(store_path, clock=clock, background=False) as engram:
        assert engram.get(old.id).status is Status.ACTIVE
        assert engram.get(new.id).status is Status.INVALIDATED
        engram.undo(act=engram.acts()[0].id)
        assert engram.get(new.id).status is Status.ACTIVE


# --- what was displaced -------------------------------------------------------------------------------------


def test_forgetting_tells_what_it_had_displaced_and_reinstates_it_on_request(
    engram: Engram, clock: ManualClock
) -> None:
    """The displaced fact is as it was before; undoing that displaces it again."""
    old, new = moved_house(engram, clock)
    told = engram.forget(new.id)
    assert (told.displaced, told.reinstated) == ((old.id,), False)
    assert engram.get(old.id).status is Status.SUPERSEDED
    engram.undo()

    told = engram.forget(new.id, reinstate=True)

    assert (told.displaced, told.reinstated) == ((old.id,), True)
    assert state(engram, old) == [old.evolve(updated_at=old.created_at)]
    engram.undo()
    assert engram.get(old.id).superseded_by == new.id
    assert engram.get(new.id).status is Status.ACTIVE


@pytest.mark.parametrize("way", ["correct", "set_status"])
def test_other_ways_of_removing_a_wrong_newcomer_reinstate_too(
    engram: Engram, clock: ManualClock, way: str
) -> None:
    """Invalidating it, or correcting it into something else."""
    old, new = moved_house(engram, clock)

    if way == "correct":
        engram.correct(new.id, "Noor lives in Lisbon now.", reinstate=True)
    else:
        engram.set_status(new.id, Status.INVALIDATED, reinstate=True)

    assert state(engram, old) == [old.evolve(updated_at=old.created_at)]
    engram.undo()
    assert engram.get(old.id).status is Status.SUPERSEDED
    assert engram.get(new.id).status is Status.ACTIVE


def test_a_person_restores_what_a_person_removed_or_displaced(engram: Engram, clock: ManualClock) -> None:
    """Both statements hold then: only the settling was wrong."""
    old, new = moved_house(engram, clock)

    assert engram.restore(old.id).status is Status.ACTIVE

    assert engram.get(old.id).valid_to is None
    assert engram.get(new.id).status is Status.ACTIVE
    engram.forget(new.id)
    assert engram.restore(new.id).status is Status.ACTIVE


# --- the record ---------------------------------------------------------------------------------------------


def test_every_field_of_a_memory_is_recorded_or_known_not_to_be() -> None:
    """A field that is added must be undoable, or hold words, or never change."""
    fields = set(Memory.__struct_fields__) - {"status", "provenance"}

    assert fields == set(RECORDED) | {FLAGS} | UNRECORDED
    assert not set(RECORDED) & UNRECORDED


def test_the_history_names_the_act_and_no_words(engram: Engram, clock: ManualClock) -> None:
    """Events of one act share its id; what is noted to undo them is numbers, labels and ids."""
    old, new = moved_house(engram, clock)
    engram.undo()

    stored, _ = engram.history(new.id)
    _, superseded, back = engram.history(old.id)

    assert stored.act == superseded.act != back.act
    assert back.action is Action.UNDO
    told = [str(value) for one in (stored, superseded, back) for value in one.changes.values()]
    assert not any("Lisbon" in one or "Berlin" in one for one in told)
    assert any(one.action is Action.UNDO for one in engram.audit())


def test_acts_are_listed_page_by_page(engram: Engram) -> None:
    """Newest first, with who did what to how many."""
    for number in range(5):
        engram.remember(f"note number {number}")

    first = engram.acts(limit=2)
    second = engram.acts(limit=10, before=first[-1].id)

    assert [len(first), len(second)] == [2, 3]
    assert first[0].at >= second[0].at
    assert {(one.action, one.actor.name, one.memories) for one in [*first, *second]} == {
        ("remember", "user", 1)
    }
    with pytest.raises(MemoryNotFound):
        engram.acts(before="0" * 36)


def test_what_was_undone_while_a_memory_was_forgotten_counts_when_it_comes_back(
    engram: Engram, clock: ManualClock
) -> None:
    """Its successor was taken back meanwhile: it must not come back superseded by nothing."""
    old = engram.remember("I live in Berlin")
    clock.advance(days=1)
    engram.remember("I live in Lisbon now")
    moved = engram.acts()[0].id
    clock.advance(days=1)
    engram.forget(old.id)
    forgot = engram.acts()[0].id
    engram.undo(act=moved, with_later=True)

    engram.undo(act=forgot)

    back = engram.get(old.id)
    assert (back.status, back.valid_to, back.superseded_by) == (Status.ACTIVE, None, None)
    assert [hit.memory.id for hit in engram.recall("where do I live?").hits] == [old.id]


def test_a_memory_whose_telling_was_undone_does_not_come_back_by_undoing_its_forgetting(
    engram: Engram, clock: ManualClock
) -> None:
    """Both acts are undone, in either order: it was never said and never forgotten."""
    memory = engram.remember("I live in Berlin")
    told = engram.acts()[0].id
    clock.advance(days=1)
    engram.forget(memory.id)
    forgot = engram.acts()[0].id
    engram.undo(act=told, with_later=True)

    engram.undo(act=forgot)

    assert engram.get(memory.id).status is Status.INVALIDATED
