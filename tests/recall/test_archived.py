"""Where the best match has left the memory, the answer says so and offers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Filters, Scope, Settings
from engramdb.testing import TinyEmbedder
from engramdb.values import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import ManualClock

GONE = "The old harbour crane was painted by Ingeborg Falk"
QUESTION = "who painted the old harbour crane?"


@pytest.fixture
def faded(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """A memory with one archived statement and two that have nothing to do with it."""
    with Engram.open(
        store_path,
        settings=Settings(durability="relaxed"),
        clock=clock,
        embedder=TinyEmbedder(),
        background=False,
    ) as engram:
        engram.remember(GONE, confidence=0.3)
        clock.advance(days=31)
        engram.age()
        engram.remember("Basalt is a volcanic rock")
        engram.remember("Nadia plays the oboe on Thursdays")
        yield engram


def test_an_archived_best_match_is_announced(faded: Engram, clock: ManualClock) -> None:
    """With when it left and by what, and it is no hit: nothing archived is given as known."""
    answer = faded.recall(QUESTION)

    (match,) = answer.archived
    assert (match.memory.content, match.memory.status) == (GONE, Status.ARCHIVED)
    assert (match.archived_at, match.reason) == (clock.now(), "speculative")
    assert match.relevance > max((hit.trust.relevance for hit in answer.hits), default=0)
    assert GONE not in {hit.memory.content for hit in answer.hits}


def test_it_is_not_counted_as_recalled(faded: Engram) -> None:
    """Being announced keeps nothing alive."""
    (match,) = faded.recall(QUESTION).archived
    faded.flush()

    assert faded.get(match.memory.id).access.count == 0


def test_what_was_brought_back_is_a_hit(faded: Engram) -> None:
    """And the archive has nothing more to offer."""
    (match,) = faded.recall(QUESTION).archived

    faded.restore(match.memory.id)
    answer = faded.recall(QUESTION)

    assert answer.hits[0].memory.content == GONE
    assert answer.archived == ()


def test_a_good_answer_needs_no_archive(faded: Engram) -> None:
    """What is alive and fits is the answer, whatever lies in the archive."""
    faded.remember("The old harbour crane was painted by Solveig Dahl in 2019")

    answer = faded.recall(QUESTION)

    assert "Solveig" in answer.hits[0].memory.content
    assert answer.archived == ()


def test_a_question_about_something_else_finds_nothing_there(faded: Engram) -> None:
    """The archive is no second answer to everything."""
    assert faded.recall("how do you bake rye bread?").archived == ()
    assert faded.recall("what does Nadia play?").archived == ()


def test_the_archive_keeps_to_the_scope_and_the_filters(faded: Engram) -> None:
    """Nobody is offered what is not theirs, or what they did not ask for."""
    other = Scope(user="somebody else")
    secret = faded.remember("Bruno hides the harbour crane key in the piano", scope=Scope(user="bruno"))
    faded.set_status(secret.id, Status.ARCHIVED, reason="faded", scope=Scope(user="bruno"))

    theirs = faded.recall("where is the harbour crane key hidden?", scope=other)
    narrowed = faded.recall(QUESTION, filters=Filters(categories=frozenset({"preference"})))
    of_status = faded.recall(QUESTION, filters=Filters(statuses=frozenset({Status.SUPERSEDED})))

    assert secret.id not in {one.memory.id for one in theirs.archived}
    assert (narrowed.archived, of_status.archived) == ((), ())


def test_what_a_person_forgot_is_not_offered(faded: Engram) -> None:
    """Forgotten is not archived."""
    faded.forget(faded.remember("Henrik owns seven accordions").id, reason="private")

    assert faded.recall("how many accordions does Henrik own?").archived == ()


def test_what_a_summary_tells_is_not_offered_again(faded: Engram) -> None:
    """Where a hit holds the very words, the archived statement adds nothing."""
    faded.remember(f"Session s1, 4 turns: {GONE}; the tide was low and the ferry came in late that day")

    answer = faded.recall(QUESTION)

    assert GONE in answer.hits[0].memory.content
    assert answer.archived == ()
