"""The verbs of insight: questions and their answers, domains and summaries, each inside a scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb.errors import InvalidQuery, MemoryNotFound
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.values import Action, Actor, Gap, GapKind, Scope

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.testing import ManualClock

MINE = Scope(user="me")


@pytest.fixture
def asked(engram: Engram, clock: ManualClock) -> Gap:
    """A question about a memory of mine."""
    memory = engram.remember("Anna lives in Berlin", scope=MINE)
    gap = Gap(
        id="gap-1",
        kind=GapKind.STALE,
        question="On 1 January 2026 you said “Anna lives in Berlin”. Is that still so?",
        scope=MINE,
        memories=(memory.id,),
        priority=0.5,
        found_at=clock.now(),
    )
    with engram._parts.store.atomic() as tx:
        tx.gaps.put(gap)
    return gap


def test_open_questions_are_shown_to_their_scope_and_narrower_ones(engram: Engram, asked: Gap) -> None:
    """And to nobody else."""
    assert engram.gaps(scope=MINE) == [asked]
    assert engram.gaps(scope=Scope(user="me", channel="c")) == [asked]
    assert engram.gaps() == []
    assert engram.gaps(scope=Scope(user="you")) == []


def test_a_closed_question_is_not_asked_again(engram: Engram, asked: Gap) -> None:
    """A person's word stands: finding the same question anew changes nothing."""
    closed = engram.close_gap(asked.id, reason="not my business", scope=MINE)
    with engram._parts.store.atomic() as tx:
        is_asked_again = tx.gaps.put(asked)

    assert closed.closed_at is not None
    assert not is_asked_again
    assert engram.gaps(scope=MINE) == []
    assert engram.audit(limit=1, action=Action.FEEDBACK)


def test_an_answer_is_remembered_and_closes_the_question(engram: Engram, asked: Gap) -> None:
    """In the question's own scope."""
    answered = engram.answer(asked.id, "Anna moved to Lisbon in spring", scope=MINE)

    assert [memory.scope for memory in answered.holds] == [MINE]
    assert engram.gaps(scope=MINE) == []
    assert "Lisbon" in engram.recall("where does Anna live?", scope=MINE).hits[0].memory.content


@pytest.mark.parametrize("scope", [Scope(), Scope(user="me", channel="c"), Scope(user="you")])
def test_only_its_own_scope_settles_a_question(engram: Engram, asked: Gap, scope: Scope) -> None:
    """A narrower reader sees it but may not settle it for everyone; others do not see it at all."""
    with pytest.raises((InvalidQuery, MemoryNotFound)):
        engram.close_gap(asked.id, scope=scope)
    with pytest.raises((InvalidQuery, MemoryNotFound)):
        engram.answer(asked.id, "Anna moved to Lisbon", scope=scope)

    assert engram.gaps(scope=MINE) == [asked]


def test_a_question_is_settled_once(engram: Engram, asked: Gap) -> None:
    """Closing twice, or one that nobody asked, is an error that says so."""
    engram.close_gap(asked.id, scope=MINE)

    with pytest.raises(InvalidQuery, match="closed already"):
        engram.close_gap(asked.id, scope=MINE)
    with pytest.raises(MemoryNotFound, match="no question"):
        engram.close_gap("gap-0", scope=MINE)


def test_erasing_a_memory_erases_its_question_from_the_file(engram: Engram, asked: Gap) -> None:
    """Open or closed, no row of it is left."""
    engram.close_gap(asked.id, scope=MINE)
    memory = engram.get(asked.memories[0], scope=MINE)

    with engram._parts.store.atomic() as tx:
        MemoryWriter(tx, Actor(), memory.created_at).erase(memory, reason="asked to")

    with engram._parts.store.read() as tx:
        assert tx.gaps.get(asked.id, scope=MINE) is None


@pytest.mark.parametrize("limit", [0, 10_001])
def test_a_senseless_limit_is_refused(engram: Engram, limit: int) -> None:
    """As everywhere."""
    with pytest.raises(InvalidQuery):
        engram.gaps(limit=limit)


def test_an_unknown_breadth_is_refused(engram: Engram) -> None:
    """With the words that are known."""
    with pytest.raises(InvalidQuery, match="breadth"):
        engram.summaries(breadth="galaxy")


def test_before_the_first_dream_there_is_no_map_and_confidence_still_answers(engram: Engram) -> None:
    """It looks at the memories themselves."""
    engram.remember("Anna lives in Berlin")

    found = engram.confidence("Anna lives in Berlin")

    assert engram.domains() == []
    assert engram.summaries() == []
    assert found.domain is None
    assert found.certainty == "uncertain"
    assert engram.confidence("zebra crossing paint").certainty == "unknown"
