"""What a dream made of a memory goes when the memory is forgotten, in the same write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engramdb.values import Status

from .learnt import made, take, tell

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.testing import ManualClock

ANNA = (
    "Anna Schmidt works at Acme",
    "Anna Schmidt lives in Berlin",
    "Anna Schmidt plays the cello",
    "Anna Schmidt is allergic to nuts",
    "Anna Schmidt has two sons",
    "Anna Schmidt drives a van",
)


def test_a_profile_goes_with_what_it_quotes_and_comes_back_without_it(engram: Engram) -> None:
    """Nobody is shown the forgotten words again, not even until the next dream."""
    told = tell(engram, *ANNA)
    take(engram, "profiles")

    engram.forget(told[3].id, reason="private")

    assert not [one for one in engram.list(limit=100) if "nuts" in one.content]
    assert all("nuts" not in hit.memory.content for hit in engram.recall("Anna Schmidt nuts").hits)
    take(engram, "profiles")
    (card,) = [one for one in made(engram, "dream.profiles/1") if "Anna" in one.content.partition("\n")[0]]
    assert "nuts" not in card.content
    assert "two sons" in card.content


def test_a_pinned_conclusion_is_the_persons_own(engram: Engram) -> None:
    """What a person has pinned is theirs to forget."""
    told = tell(engram, *ANNA)
    take(engram, "profiles")
    (card,) = [one for one in made(engram, "dream.profiles/1") if "Anna" in one.content.partition("\n")[0]]
    engram.pin(card.id)

    engram.forget(told[0].id, reason="moved")

    assert engram.get(card.id).status is Status.ACTIVE


def test_a_profile_hides_none_of_the_facts_that_it_is_made_of(engram: Engram) -> None:
    """A question about one fact is answered by that fact."""
    tell(engram, *ANNA)
    take(engram, "profiles")

    found = [hit.memory.content for hit in engram.recall("Where does Anna Schmidt live? Berlin").hits]

    assert "Anna Schmidt lives in Berlin" in found


def test_a_correction_takes_back_what_was_made_of_the_old_statement(engram: Engram) -> None:
    """The profile does not go on saying what is no longer so, not even until the next dream."""
    told = tell(engram, *ANNA)
    take(engram, "profiles")

    engram.correct(told[1].id, "Anna Schmidt lives in Hamburg")

    assert not [one for one in engram.list(limit=100) if "Berlin" in one.content]


def test_a_forgotten_memory_is_in_no_older_version_of_a_profile(engram: Engram, clock: ManualClock) -> None:
    """Asked of the past, too, nothing that was forgotten since is told."""
    told = tell(engram, *ANNA)
    take(engram, "profiles")
    clock.advance(days=1)
    then = clock.now()
    clock.advance(days=1)
    engram.correct(told[1].id, "Anna Schmidt lives in Hamburg")
    take(engram, "profiles")

    engram.forget(told[3].id, reason="private")

    assert not [hit for hit in engram.recall("nuts", as_of=then).hits if "nuts" in hit.memory.content]


def test_a_question_survives_a_correction_of_what_it_was_about(engram: Engram) -> None:
    """It is asked on its new ground, and the next dream has nothing to change."""
    told = tell(engram, "Anna likes rowing", "Anna plays chess", "Anna has a dog", "Anna bought a kayak")
    engram.dream()
    asked = len(engram.gaps())

    engram.correct(told[0].id, "Anna likes sailing")
    engram.dream()

    assert len(engram.gaps()) == asked
    assert engram.dream().changed == 0
