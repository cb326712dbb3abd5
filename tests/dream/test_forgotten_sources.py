"""What a dream made of a memory goes when the memory is forgotten, in the same write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.values import Status

from .learnt import made, take, tell

if TYPE_CHECKING:
    from engram import Engram

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
