"""A dispute lasts as long as both sides are believed; the person settles it by saying again what holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings, Source
from engramdb.values import Actor, ActorKind, EdgeType, Memory, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import ManualClock

AGENT = Actor(name="claude", kind=ActorKind.AGENT)


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """An empty store, opened by a person."""
    with Engram.open(store_path, settings=Settings(reader="rules"), clock=clock, background=False) as opened:
        yield opened


@pytest.fixture
def agent(store_path: Path, clock: ManualClock, engram: Engram) -> Iterator[Engram]:
    """The same store, opened by an agent."""
    settings = engram._parts.settings
    with Engram.open(store_path, settings=settings, clock=clock, background=False, actor=AGENT) as opened:
        yield opened


@pytest.fixture
def homes(engram: Engram, agent: Engram, clock: ManualClock) -> tuple[Memory, Memory]:
    """A pinned statement of the person, and what an agent said against it."""
    mine = engram.remember("I live in Paris", pinned=True)
    clock.advance(days=3)
    other = agent.remember("I live in Rome", source=Source.ASSISTANT)
    clock.advance(days=3)
    assert engram.get(mine.id).status is Status.CHALLENGED
    return mine, other


def disputes(engram: Engram, memory: Memory) -> list[str]:
    """The ids of what disputes a memory by a link."""
    kinds = (EdgeType.CONTRADICTS, EdgeType.DOUBTS)
    return [e.source for e in engram.links(memory.id) if e.type in kinds and e.target == memory.id]


@pytest.mark.parametrize(
    "again", ["I live in Paris", "I live in paris.", "I do live in Paris", "I'm living in Paris"]
)
@pytest.mark.parametrize("way", ["remember", "observe"])
def test_the_person_saying_it_again_settles_the_dispute(
    engram: Engram, homes: tuple[Memory, Memory], again: str, way: str
) -> None:
    """In its favor, in the same words or others; nothing disputes it by its own words."""
    mine, other = homes

    if way == "remember":
        engram.remember(again)
    else:
        engram.observe(again, session="s")
        engram.flush()
    engram.dream()

    now = engram.get(mine.id)
    assert (now.status, now.pinned) == (Status.ACTIVE, True)
    assert engram.get(other.id).status is Status.SUPERSEDED
    assert disputes(engram, mine) == []
    assert engram.gaps() == []
    assert [one.id for one in engram.list()] == [mine.id]


def test_an_agent_saying_it_again_settles_nothing(
    engram: Engram, agent: Engram, homes: tuple[Memory, Memory]
) -> None:
    """It is no second memory either."""
    mine, other = homes

    agent.remember("I live in Paris", source=Source.ASSISTANT)

    assert engram.get(mine.id).status is Status.CHALLENGED
    assert disputes(engram, mine) == [other.id]
    assert {one.id for one in engram.list()} == {mine.id, other.id}
    assert len(engram.gaps()) == 1


def test_a_disputer_that_is_corrected_to_the_same_disputes_nothing(
    engram: Engram, homes: tuple[Memory, Memory]
) -> None:
    """Whatever the words."""
    mine, other = homes

    engram.correct(other.id, "I do live in Paris")

    assert engram.get(mine.id).status is Status.ACTIVE
    assert disputes(engram, mine) == []
    assert engram.gaps() == []
