"""A question speaks in the words of the memories that it is about, and of nothing else."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Draft
from engramdb.lifecycle.questions import (
    open_questions_about,
    question_of_link,
    stale_question,
    topic_of,
)
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.values import (
    Actor,
    EdgeType,
    GapKind,
    Memory,
    Provenance,
    Scope,
    SecurityTier,
    Source,
    Status,
)
from engramdb.values.memory import INJECTION

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb import Engram
    from engramdb.testing import ManualClock

MINE = Scope(user="ann")


def told(engram: Engram, content: str, *, scope: Scope = MINE, **fields: Any) -> Memory:
    """A statement, with fields as some way in would have set them."""
    memory = engram.remember(content, scope=scope)
    changed = memory.evolve(**fields)
    with engram._parts.store.atomic() as tx:
        tx.memories.replace(changed)
    return changed


def linked(engram: Engram, source: Memory, target: Memory, kind: EdgeType = EdgeType.CONTRADICTS) -> None:
    """Link two memories as admission does."""
    with engram._parts.store.atomic() as tx:
        MemoryWriter(tx, Actor(), engram._now()).link(source, target, kind)


def the_question(engram: Engram, scope: Scope = MINE) -> str:
    """The words of the one question that is open."""
    (gap,) = engram.gaps(scope=scope)
    return gap.question


@pytest.fixture
def homes(engram: Engram, clock: ManualClock) -> tuple[Memory, Memory]:
    """Two statements of different days that cannot both hold."""
    first = told(engram, "I have my flat in Hamburg.")
    clock.advance(days=60)
    second = told(engram, "We're settling in in Leipzig")
    linked(engram, second, first)
    return first, second


def test_a_contradiction_quotes_both_sides_with_their_days(
    engram: Engram, homes: tuple[Memory, Memory]
) -> None:
    """It is open as soon as the two are linked, the older first, and says so in `memories` too."""
    (gap,) = engram.gaps(scope=MINE)

    assert gap.question == (
        "You said “I have my flat in Hamburg” (1 January 2026) and “We're settling in in Leipzig” "
        "(2 March 2026). Which holds now?"
    )
    assert gap.memories == tuple(one.id for one in homes)


def test_who_said_it_is_said_where_it_was_not_the_person(engram: Engram, clock: ManualClock) -> None:
    """A speaker by name, the assistant, an import."""
    mine = told(engram, "The gate opens at six")
    clock.advance(days=1)
    other = told(engram, "The gate opens at eight", provenance=Provenance(speaker="Otto"))
    linked(engram, other, mine)

    assert the_question(engram) == (
        "You said “The gate opens at six” (1 January 2026). Otto said “The gate opens at eight” "
        "(2 January 2026). Which holds now?"
    )


@pytest.mark.parametrize(
    ("made", "teller"),
    [
        (Provenance(source=Source.ASSISTANT), "the assistant said"),
        (Provenance(source=Source.INGEST), "it was noted:"),
    ],
)
def test_what_another_source_said_is_not_put_into_the_persons_mouth(
    engram: Engram, made: Provenance, teller: str
) -> None:
    """A wrong note of the assistant is not something that one has said."""
    memory = told(engram, "The gate opens at six", provenance=made)
    with engram._parts.store.atomic() as tx:
        tx.gaps.put(stale_question(memory, priority=0.5, now=engram._now()))

    assert the_question(engram) == f"On 1 January 2026 {teller} “The gate opens at six”. Is that still so?"


def test_a_doubt_tells_the_change_and_quotes_what_it_makes_doubtful(
    engram: Engram, clock: ManualClock
) -> None:
    """Whichever of the two has the smaller id."""
    gym = told(engram, "The gym around the corner costs 30 euros")
    clock.advance(days=30)
    moved = told(engram, "We moved to Lisbon")
    linked(engram, moved, gym, EdgeType.DOUBTS)

    (gap,) = engram.gaps(scope=MINE)

    assert gap.kind is GapKind.DOUBT
    assert gap.question == (
        "You said “We moved to Lisbon” (31 January 2026). Is “The gym around the corner costs 30 euros” "
        "(1 January 2026) still so?"
    )


def test_a_long_statement_is_shortened_and_its_quotation_marks_give_way(engram: Engram) -> None:
    """Nothing in it can end the quotation."""
    long = told(engram, 'She said “stop” and "go" ' + "and then walked on " * 20)
    linked(engram, long, told(engram, "She never said a word"))

    question = the_question(engram)

    assert "“She said 'stop' and 'go' and then" in question
    assert " …” (" in question
    assert len(question) < 400


@pytest.mark.parametrize("hidden", [{"security": SecurityTier.CONFIDENTIAL}, {"flags": (INJECTION,)}])
def test_what_may_not_be_told_is_not_quoted(
    engram: Engram, homes: tuple[Memory, Memory], hidden: dict[str, Any]
) -> None:
    """Also where it was found to be so after the question was found."""
    with engram._parts.store.atomic() as tx:
        tx.memories.replace(homes[1].evolve(**hidden))

    question = the_question(engram)

    assert "Leipzig" not in question
    assert "Hamburg" not in question
    assert question.startswith("Two memories about something")


def test_no_word_of_a_memory_is_stored_with_its_question(
    engram: Engram, homes: tuple[Memory, Memory], store_path: Path
) -> None:
    """The table of questions holds ids alone; forgetting one side takes the question with it."""
    asked = engram.gaps(scope=MINE)
    with sqlite3.connect(store_path) as file:
        rows = str(file.execute("SELECT * FROM gaps").fetchall())

    engram.forget(homes[0].id, scope=MINE)

    assert asked
    assert "Hamburg" not in rows
    assert "Leipzig" not in rows
    assert engram.gaps(scope=MINE) == []


def test_a_correction_is_what_the_question_then_quotes_or_it_is_gone(
    engram: Engram, homes: tuple[Memory, Memory]
) -> None:
    """A question never tells what a memory used to say."""
    engram.correct(homes[0].id, "I have my flat in Bremen", scope=MINE)

    assert all("Hamburg" not in gap.question for gap in engram.gaps(scope=MINE))


def test_the_open_question_of_a_memory_is_found_in_its_scope_alone(
    engram: Engram, homes: tuple[Memory, Memory]
) -> None:
    """Both sides of a dispute carry it; another scope finds none."""
    ids = [one.id for one in homes]

    with engram._parts.store.read() as tx:
        found = [gap.question for one in ids for gap in open_questions_about(tx, one, MINE)]
        elsewhere = [gap for one in ids for gap in open_questions_about(tx, one, Scope(user="otto"))]

    assert found == [the_question(engram)] * 2
    assert elsewhere == []


def test_a_change_is_not_itself_in_question(engram: Engram, clock: ManualClock) -> None:
    """Of a doubt only what it makes doubtful carries the question."""
    gym = told(engram, "The gym around the corner costs 30 euros")
    clock.advance(days=30)
    moved = told(engram, "We moved to Lisbon")
    linked(engram, moved, gym, EdgeType.DOUBTS)

    with engram._parts.store.read() as tx:
        assert len(open_questions_about(tx, gym.id, MINE)) == 1
        assert open_questions_about(tx, moved.id, MINE) == []


def test_a_settled_memory_carries_no_question(engram: Engram, homes: tuple[Memory, Memory]) -> None:
    """What it was asked about is decided."""
    engram.set_status(homes[0].id, Status.INVALIDATED, reason="wrong", scope=MINE)

    with engram._parts.store.read() as tx:
        assert not [gap for one in homes for gap in open_questions_about(tx, one.id, MINE)]


@pytest.mark.parametrize("fields", [{"scope": Scope(user="otto")}, {"flags": (INJECTION,)}])
def test_no_question_joins_scopes_or_rests_on_what_is_flagged(engram: Engram, fields: dict[str, Any]) -> None:
    """A link by hand may join what a person may see; a question would tell one side to the other."""
    mine, other = told(engram, "The gate opens at six"), told(engram, "The gate opens at eight")

    assert question_of_link(mine, other, EdgeType.CONTRADICTS, now=engram._now()) is not None
    assert question_of_link(mine, other.evolve(**fields), EdgeType.CONTRADICTS, now=engram._now()) is None


def test_what_was_imported_is_dated_by_when_it_was_said(engram: Engram) -> None:
    """Not by the minute of the import."""
    then = engram._now() - timedelta(days=365)
    (memory,) = engram.remember_many([Draft(content="The gate opens at six", occurred_at=then, scope=MINE)])
    linked(engram, told(engram, "The gate opens at eight"), memory)

    assert "“The gate opens at six” (1 January 2025)" in the_question(engram)


def test_a_question_that_may_not_quote_names_the_matter_alone(engram: Engram) -> None:
    """As one would speak of it."""
    memory = told(engram, "Ben lives in Porto")

    assert topic_of(memory) == "where Ben lives"
    assert topic_of(memory.evolve(security=SecurityTier.CONFIDENTIAL)) == "something confidential"
