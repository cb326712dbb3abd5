"""What a person states and a document says as well belongs to the person: no document takes it away."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb.values import DocumentMessage, PutDocument, Source, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from engramdb import Engram
    from engramdb.testing import ManualClock

TEA = "Maya drinks green tea in the morning"
NOTES = ("notes", "maya")


def put(engram: Engram, text: str | None, *, minutes: int | None = None) -> str | None:
    """Put the one document of these tests, and return the id of its memory."""
    lifetime = None if minutes is None else timedelta(minutes=minutes)
    return engram.documents.put(NOTES, "tea", {"text": text}, text=text, lifetime=lifetime).memory_id


def remember(engram: Engram) -> None:
    """A person states it outright."""
    engram.remember(TEA)


def observe(engram: Engram) -> None:
    """A person says it in a conversation."""
    engram.observe(f"Remember that {TEA}.", session="s1")
    engram.flush(session="s1")


def remove(engram: Engram, clock: ManualClock) -> None:
    """The program removes its document."""
    engram.documents.remove(NOTES, "tea")


def overwrite(engram: Engram, clock: ManualClock) -> None:
    """The program writes something else in its place."""
    put(engram, "Maya drinks coffee")


def empty(engram: Engram, clock: ManualClock) -> None:
    """The program no longer wants it found."""
    put(engram, None)


def expire(engram: Engram, clock: ManualClock) -> None:
    """The time of the document is over, for the document store and for the aging of memories."""
    clock.advance(minutes=11)
    engram.documents.prune()
    engram.age()


@pytest.mark.parametrize("state", [remember, observe])
@pytest.mark.parametrize("leave", [remove, overwrite, empty, expire])
def test_what_a_person_states_later_outlives_the_document(
    engram: Engram,
    clock: ManualClock,
    state: Callable[[Engram], None],
    leave: Callable[[Engram, ManualClock], None],
) -> None:
    """Whoever repeats what a document says has said it, whatever becomes of the document."""
    known = put(engram, TEA, minutes=10)
    assert known is not None
    state(engram)

    leave(engram, clock)

    assert engram.get(known).status is Status.ACTIVE
    assert known in [hit.memory.id for hit in engram.recall("what does Maya drink in the morning?").hits]


def test_what_a_person_states_is_trusted_like_a_persons_word(engram: Engram) -> None:
    """It is no longer an imported text that they repeat."""
    known = put(engram, TEA, minutes=10)

    told = engram.remember(TEA, session="s1")

    assert told.id == known
    assert (told.provenance.source, told.provenance.session) == (Source.HUMAN, "s1")
    assert (told.extractor, told.forget_after) == (None, None)


def test_a_document_that_repeats_a_document_stays_the_shelfs(engram: Engram) -> None:
    """Only another voice than the document store's makes a memory independent of it."""
    known = put(engram, TEA)
    engram.documents.put(("other",), "tea", {}, text=TEA)

    engram.documents.remove(NOTES, "tea")
    engram.documents.remove(("other",), "tea")

    assert known is not None
    assert engram.get(known).status is Status.FORGOTTEN


@pytest.mark.parametrize("leave", [remove, overwrite, empty, expire])
def test_a_correction_by_a_person_outlives_the_document(
    engram: Engram, clock: ManualClock, leave: Callable[[Engram, ManualClock], None]
) -> None:
    """The new words are the person's, and have no end."""
    known = put(engram, TEA, minutes=10)
    assert known is not None
    corrected = engram.correct(known, "Maya drinks white tea in the morning")

    leave(engram, clock)

    assert engram.get(corrected.id).status is Status.ACTIVE


def test_writing_a_corrected_document_again_does_not_bring_the_mistake_back(engram: Engram) -> None:
    """A program that saves the same words every minute knows nothing of the correction."""
    known = put(engram, TEA)
    assert known is not None
    corrected = engram.correct(known, "Maya drinks white tea in the morning")

    again = put(engram, TEA)

    assert again == known
    assert [memory.id for memory in engram.list()] == [corrected.id]


@pytest.mark.parametrize("is_first", [True, False])
def test_taking_a_message_back_leaves_what_was_also_stated_outright(engram: Engram, is_first: bool) -> None:
    """Before or after the message: somebody has said it without it."""
    words = "I prefer tea over coffee"
    told = engram.remember(words) if is_first else None
    said = DocumentMessage(content=f"{words}.", session="s1")
    engram.documents.write([PutDocument(place=("chat",), key="1", value={}, said=said)])
    engram.flush(session="s1")
    told = told or engram.remember(words)

    engram.documents.take_back(("chat",))

    assert engram.get(told.id).status is Status.ACTIVE
    assert engram.turns(session="s1") == []
