"""Two memories can be linked by hand: recall follows it, history tells it, and scopes hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Scope
from engramdb.errors import AccessDenied, EdgeNotAllowed, MemoryNotFound
from engramdb.values import Action, EdgeType

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANN, BEN = Scope(user="ann"), Scope(user="ben")


@pytest.fixture
def engram(store_path: Path) -> Iterator[Engram]:
    with Engram.open(store_path, background=False) as engram:
        yield engram


def test_a_link_is_seen_from_both_ends(engram: Engram) -> None:
    """Who asks about either memory is told of the link."""
    outage = engram.remember("The checkout was down on Monday")
    cause = engram.remember("A certificate had run out")

    edge = engram.link(outage.id, cause.id, type=EdgeType.CAUSED_BY, weight=0.8)

    assert engram.links(outage.id) == [edge]
    assert engram.links(cause.id) == [edge]


def test_recall_follows_a_link_at_once(engram: Engram) -> None:
    """A memory that shares no word with the question comes with the one that it is linked to."""
    for number in range(30):
        engram.remember(f"Parcel number {number} was delivered to shelf {number * 7}")
    outage = engram.remember("The checkout was down on Monday")
    cause = engram.remember("Bergholt forgot to renew a certificate")
    before = [hit.memory.id for hit in engram.recall("why was the checkout down?").hits]

    engram.link(outage.id, cause.id, type=EdgeType.CAUSED_BY)

    after = [hit.memory.id for hit in engram.recall("why was the checkout down?").hits]
    assert cause.id in after
    assert cause.id not in before or after.index(cause.id) <= before.index(cause.id)


def test_linking_is_in_the_history_of_both_ends(engram: Engram) -> None:
    """Every write has history, and the history holds ids, no words."""
    one, other = engram.remember("The build is slow"), engram.remember("The runner has one core")

    engram.link(one.id, other.id, type=EdgeType.CAUSED_BY, reason="measured")
    engram.unlink(one.id, other.id, type=EdgeType.CAUSED_BY)

    for memory in (one, other):
        actions = [event.action for event in engram.history(memory.id)]
        assert actions[-2:] == [Action.LINK, Action.UNLINK]
    assert engram.history(one.id)[-2].changes == {"link_to": (None, f"caused_by {other.id}")}


def test_a_link_that_was_never_said_is_not_taken_away(engram: Engram) -> None:
    """Taking back twice is harmless and leaves no second row."""
    one, other = engram.remember("The build is slow"), engram.remember("The runner has one core")
    engram.link(one.id, other.id)

    assert engram.unlink(one.id, other.id)
    assert not engram.unlink(one.id, other.id)
    assert engram.links(one.id) == []


def test_the_words_of_the_engine_cannot_be_said_from_outside(engram: Engram) -> None:
    """Nobody makes a memory look replaced or derived by linking it."""
    one, other = engram.remember("The build is slow"), engram.remember("The runner has one core")

    with pytest.raises(EdgeNotAllowed):
        engram.link(one.id, other.id, type=EdgeType.SUPERSEDES)
    with pytest.raises(EdgeNotAllowed):
        engram.link(one.id, one.id)
    with pytest.raises(EdgeNotAllowed):
        engram.link(one.id, other.id, weight=1.5)


def test_causes_never_run_in_a_circle(engram: Engram) -> None:
    """A memory cannot be the cause of its own cause."""
    one, other = engram.remember("The build is slow"), engram.remember("The runner has one core")
    engram.link(one.id, other.id, type=EdgeType.CAUSED_BY)

    with pytest.raises(EdgeNotAllowed):
        engram.link(other.id, one.id, type=EdgeType.CAUSED_BY)


def test_what_was_forgotten_is_not_linked(engram: Engram) -> None:
    """A link would bring it back into answers."""
    one, other = engram.remember("The build is slow"), engram.remember("The runner has one core")
    engram.forget(other.id)

    with pytest.raises(EdgeNotAllowed):
        engram.link(one.id, other.id)


def test_nobody_links_into_the_memories_of_another(engram: Engram) -> None:
    """One user cannot reach another's memories by a link; a wider one may be linked to, not from."""
    common = engram.remember("Lunch is at noon")
    ann = engram.remember("I eat late", scope=ANN)
    ben = engram.remember("I eat early", scope=BEN)

    with pytest.raises(MemoryNotFound):
        engram.link(ann.id, ben.id, scope=ANN)
    with pytest.raises(AccessDenied):
        engram.link(common.id, ann.id, scope=ANN)
    engram.link(ann.id, common.id, type=EdgeType.CONTRADICTS, scope=ANN)

    assert len(engram.links(common.id, scope=ANN)) == 1
    assert engram.links(common.id) == []
    assert [event.action for event in engram.history(common.id)] == [Action.REMEMBER]
