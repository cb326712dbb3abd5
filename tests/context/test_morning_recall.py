"""A new day begins with what matters: promises, how the last session ended, what is weighty of late."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb import Draft, Scope
from engramdb.values import Gap, GapKind, Kind, MemoryType, Provenance, Restored, SlotSource

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.testing import ManualClock


def begun_with(engram: Engram, agent: str = "coder") -> list[str]:
    """What an agent that was never met has in mind."""
    met = engram.resume(agent)
    assert met.restored is Restored.FRESH
    return [item.content for item in met.items]


@pytest.fixture
def lived(engram: Engram, clock: ManualClock) -> Engram:
    """A memory with a past: a summary, promises, weighty and light statements, old and new."""
    now = clock.now()
    engram.remember(
        "An old triumph that moved everyone", importance=1.0, occurred_at=now - timedelta(days=90)
    )
    engram.remember("The office moves to Lyon", importance=0.9)
    engram.remember("Lunch was soup", importance=0.1)
    for days, words in ((40, "paint the fence"), (2, "send the report to Maya"), (9, "call the bank")):
        content = f"I will {words}"
        draft = Draft(content=content, category="commitment", occurred_at=now + timedelta(days=days))
        engram.remember_many([draft])
    told = Draft(
        content="Session s7, 12 turns: we chose Postgres; the tests are green",
        type=MemoryType.NARRATIVE,
        kind=Kind.EPISODE,
        category="context",
        extractor="session-1",
        provenance=Provenance(session="s7"),
    )
    engram.remember_many([told])
    return engram


def test_promises_come_first_and_the_nearest_before_the_others(lived: Engram) -> None:
    """Two of them, then the last session, then what matters most of the last days."""
    assert begun_with(lived) == [
        "I will send the report to Maya",
        "I will call the bank",
        "Session s7, 12 turns: we chose Postgres; the tests are green",
        "The office moves to Lyon",
        "I will paint the fence",
    ]


def test_an_open_question_takes_a_place(lived: Engram, clock: ManualClock) -> None:
    """One, by its id: once it is closed it is gone from mind."""
    gap = Gap(
        id="g1", kind=GapKind.MISSING_FIELD, question="Does Maya still lead the team?", found_at=clock.now()
    )
    with lived._parts.store.atomic() as tx:
        tx.gaps.put(gap)

    first = lived.resume("coder").items
    with lived._parts.store.atomic() as tx:
        tx.gaps.close("g1", at=clock.now(), by=lived.actor.kind, because="answered")

    asked = [item.content for item in first if item.slot.source is SlotSource.GAP_QUESTION]
    assert asked == ["Does Maya still lead the team?"]
    assert len(first) == 5
    assert asked[0] not in [item.content for item in lived.working_memory("coder").items]


def test_a_question_that_was_asked_lately_rests(lived: Engram, clock: ManualClock) -> None:
    """Nobody likes to be asked the same again the next morning."""
    found = clock.now()
    gap = Gap(id="g1", kind=GapKind.MISSING_FIELD, question="Does Maya lead?", found_at=found, asked_at=found)
    with lived._parts.store.atomic() as tx:
        tx.gaps.put(gap)

    clock.advance(days=2)
    soon = begun_with(lived, "coder")
    clock.advance(days=20)
    later = begun_with(lived, "writer")

    assert "Does Maya lead?" not in soon
    assert "Does Maya lead?" in later


def test_a_promise_that_is_long_over_is_let_go(lived: Engram, clock: ManualClock) -> None:
    """After its date it is kept in mind for a while, and then no longer."""
    clock.advance(days=30)

    begun = begun_with(lived)

    assert begun[0] == "I will paint the fence"
    assert not any("report" in content for content in begun)


def test_nobody_begins_with_what_belongs_to_others(lived: Engram) -> None:
    """Another user's promises are not a morning's business."""
    lived.remember("I will water Bob's plants", category="commitment", scope=Scope(user="bob"))

    mine = lived.resume("coder", scope=Scope(user="ann")).items

    assert not any("Bob" in item.content for item in mine)


def test_an_empty_store_gives_an_empty_morning(engram: Engram) -> None:
    """Nothing to begin with is no error."""
    assert begun_with(engram) == []
