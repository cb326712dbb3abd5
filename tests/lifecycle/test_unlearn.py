"""Taking back a message unlearns exactly what came from it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Scope
from engramdb.errors import AccessDenied, MemoryNotFound
from engramdb.values import Status

if TYPE_CHECKING:
    from engramdb import Memory, Turn
    from engramdb.testing import ManualClock


def say(engram: Engram, text: str, *, role: str = "user", session: str = "s1") -> Turn:
    """Say something, and have it read."""
    turn = engram.observe(text, role=role, session=session)
    engram.flush()
    return turn


def only(engram: Engram, words: str) -> Memory:
    """Return the one active memory with these words."""
    (found,) = [one for one in engram.list() if words in one.content]
    return found


def test_what_a_message_alone_has_taught_is_forgotten_with_it(engram: Engram) -> None:
    """The turn is gone, its memory is in no answer, and nothing else is touched."""
    kept = say(engram, "My sister Noor lives in Bonn.")
    gone = say(engram, "I take my notes in Logseq.")
    learnt = only(engram, "Logseq")

    found = engram.forget_turn(gone.id)

    assert found.forgotten == (learnt.id,)
    assert engram.get(learnt.id).status is Status.FORGOTTEN
    assert [turn.id for turn in engram.turns()] == [kept.id]
    answer = engram.recall("where do I take notes? Logseq")
    assert not any("Logseq" in hit.memory.content for hit in answer.hits)
    assert not any("Logseq" in one.excerpt for one in answer.said)
    assert only(engram, "Bonn").status is Status.ACTIVE


@pytest.mark.parametrize("which", [0, 1])
def test_what_was_said_twice_stays_and_loses_one_piece_of_evidence(engram: Engram, which: int) -> None:
    """Whichever of the two goes, the memory is as if it had been said once."""
    first = say(engram, "I take my notes in Logseq.")
    once = only(engram, "Logseq")
    both = (first, say(engram, "I take my notes in Logseq.", session="s2"))
    twice = only(engram, "Logseq")
    assert twice.confidence > once.confidence

    found = engram.forget_turn(both[which].id)

    now = engram.get(once.id)
    assert (found.kept, found.forgotten) == ((once.id,), ())
    assert now.status is Status.ACTIVE
    assert now.provenance.turns == (both[1 - which].id,)
    assert now.reinforcements == once.reinforcements
    assert now.confidence == pytest.approx(once.confidence)
    assert engram.forget_turn(both[1 - which].id).forgotten == (once.id,)


def test_what_a_person_also_stated_stays(engram: Engram, clock: ManualClock) -> None:
    """An explicit word is evidence that no message takes along."""
    turn = say(engram, "I take my notes in Logseq.")
    learnt = only(engram, "Logseq")
    clock.advance(minutes=5)
    engram.remember("I take my notes in Logseq")

    found = engram.forget_turn(turn.id)

    assert (found.kept, found.forgotten) == ((learnt.id,), ())
    assert engram.get(learnt.id).status is Status.ACTIVE


def test_what_the_message_had_superseded_counts_again(engram: Engram) -> None:
    """A correction that is taken back corrects nothing."""
    say(engram, "I live in Berlin.")
    old = only(engram, "Berlin")
    correction = say(engram, "I live in Lisbon now.")
    assert engram.get(old.id).status is Status.SUPERSEDED

    found = engram.forget_turn(correction.id)

    back = engram.get(old.id)
    assert found.restored == (old.id,)
    assert (back.status, back.superseded_by, back.valid_to) == (Status.ACTIVE, None, None)
    engram.flush()
    assert "Berlin" in engram.recall("where do I live?").hits[0].memory.content
    assert [event.action for event in engram.history(old.id)][-1] == "restore"


def test_a_link_in_the_middle_hands_on_what_it_had_superseded(engram: Engram) -> None:
    """Berlin, Lisbon, Porto: without Lisbon, Porto still holds, and Berlin is history."""
    say(engram, "I live in Berlin.")
    first = only(engram, "Berlin")
    middle = say(engram, "I live in Lisbon now.")
    say(engram, "I live in Porto now.")
    last = only(engram, "Porto")

    engram.forget_turn(middle.id)

    assert engram.get(first.id).status is Status.SUPERSEDED
    assert engram.get(first.id).superseded_by == last.id
    assert engram.get(last.id).status is Status.ACTIVE


def test_the_words_go_from_what_leaned_on_them(engram: Engram) -> None:
    """An answer no longer quotes the question that was taken back."""
    asked = say(engram, "What is the name of your daughter's school?", role="assistant")
    say(engram, "Philippa goes to the Steiner school.")
    assert any("daughter" in (one.answers or "") for one in engram.list())

    engram.forget_turn(asked.id)

    assert not any("daughter" in f"{one.answers} {one.refers_to}" for one in engram.list())


def test_the_summary_of_the_session_does_not_tell_it_either(engram: Engram) -> None:
    """It quotes what is gone, so it goes; the next one is made of what is left."""
    for text in ("I like tea.", "Staging runs Postgres 15.", "Thanks a lot!"):
        say(engram, text)
    turn = say(engram, "My sister Noor lives in Bonn.")
    summary = engram.end_session("s1")
    assert summary is not None
    assert "Bonn" in summary.content

    engram.forget_turn(turn.id)

    assert not any("Bonn" in one.content for one in engram.list())
    say(engram, "My brother Ali lives in Rome.")
    again = engram.end_session("s1")
    assert again is not None
    assert "Bonn" not in again.content


def test_a_message_that_nobody_has_read_yet_is_never_read(engram: Engram) -> None:
    """What was taken back in time has taught nothing."""
    turn = engram.observe("I take my notes in Logseq.", session="s1")

    engram.forget_turn(turn.id)
    engram.flush()

    assert [one for one in engram.list() if "Logseq" in one.content] == []


def test_only_the_scope_that_a_message_belongs_to_takes_it_back(engram: Engram) -> None:
    """Seeing is not owning, and what is not there is an error."""
    turn = say(engram, "I take my notes in Logseq.")

    with pytest.raises(AccessDenied):
        engram.forget_turn(turn.id, scope=Scope(user="ann"))
    with pytest.raises(MemoryNotFound):
        engram.forget_turn("0197c4a8-3f10-7a3e-9c55-5d2f3f2a9c1b")
