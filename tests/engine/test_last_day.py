"""A memory with a last day is gone at that moment, and not when a sweep comes by."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb.values import Filters, Status

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.testing import ManualClock

CODE = "The door code of Maya's office is 4711"


@pytest.fixture
def over(engram: Engram, clock: ManualClock) -> str:
    """A memory whose last day has passed while nothing has swept yet."""
    memory = engram.remember(CODE, forget_after=clock.now() + timedelta(hours=1))
    engram.remember("Maya's office is on the third floor")
    clock.advance(hours=2)
    return memory.id


def test_it_is_not_recalled(engram: Engram, over: str) -> None:
    """A question finds what is left."""
    answer = engram.recall("what is the door code of the office?")

    assert over not in {hit.memory.id for hit in answer.hits}


def test_it_is_not_listed(engram: Engram, over: str) -> None:
    """A page is as full as if it had never been there."""
    page = engram.list(limit=1)
    every = engram.list(filters=Filters(statuses=frozenset(Status)))

    assert [memory.content for memory in page] == ["Maya's office is on the third floor"]
    assert over not in {memory.id for memory in every}


def test_it_is_not_in_a_window(engram: Engram, over: str) -> None:
    """Neither what stands nor what is recalled holds it."""
    window = engram.context("what is the door code of the office?", budget=2000)

    assert over not in {held.memory_id for held in window.holds}
    assert "4711" not in window.text


def test_it_is_not_part_of_a_story_or_a_portrait(engram: Engram, over: str) -> None:
    """Timeline and entity pass it over."""
    told = engram.timeline("door code of Maya's office")
    maya = engram.entity("Maya")

    assert over not in {entry.memory.id for entry in told.entries}
    assert over not in {one.id for some in maya.memories.values() for one in some}


def test_it_leaves_the_mind(engram: Engram, clock: ManualClock) -> None:
    """What an agent had in mind goes, too, at its moment."""
    code = engram.remember(CODE, forget_after=clock.now() + timedelta(hours=1))
    with engram.turn("what is the door code of the office?", agent="a", session="s") as turn:
        turn.reply(f"{CODE}.")
    held = {item.memory.id for item in engram.working_memory(agent="a").items if item.memory}

    clock.advance(hours=2)
    left = {item.memory.id for item in engram.working_memory(agent="a").items if item.memory}

    assert code.id in held
    assert code.id not in left


def test_a_pinned_one_stays(engram: Engram, clock: ManualClock) -> None:
    """No sweep would take it, so no answer leaves it out."""
    kept = engram.remember(CODE, forget_after=clock.now() + timedelta(hours=1), pinned=True)
    clock.advance(hours=2)

    found = engram.recall("what is the door code of the office?")

    assert kept.id in {hit.memory.id for hit in found.hits}
    assert kept.id in {memory.id for memory in engram.list()}


def test_after_the_sweep_it_can_be_listed_as_forgotten(engram: Engram, over: str) -> None:
    """Whoever asks for what was forgotten finds it, to bring it back."""
    engram.age()

    forgotten = engram.list(filters=Filters(statuses=frozenset({Status.FORGOTTEN})))

    assert [memory.id for memory in forgotten] == [over]


def test_a_past_moment_after_its_last_day_does_not_know_it(engram: Engram, clock: ManualClock) -> None:
    """As of the day before it was believed, as of the day after it was not."""
    code = engram.remember(CODE, forget_after=clock.now() + timedelta(hours=1))
    before = clock.now()
    clock.advance(hours=2)
    after = clock.now()
    clock.advance(hours=1)

    then = engram.recall("door code of the office", as_of=before)
    later = engram.recall("door code of the office", as_of=after)

    assert [hit.memory.id for hit in then.hits] == [code.id]
    assert not later.hits
