"""`engram.reflect`: what is there twice, old, disputed, doubtful, open or unused; it changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Scope
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.values import Actor, EdgeType, Memory, SecurityTier, Status
from engramdb.values.reading import Lasting

from .dreamt import keep, opened
from .insighted import rewritten, used

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb import Engram
    from engramdb.testing import ManualClock

ANN = Scope(user="ann")


@pytest.fixture
def engram(tmp_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """A memory that keeps the test's time."""
    with opened(tmp_path / "m.db", clock=clock) as found:
        yield found


def kept(engram: Engram, content: str, **fields: Any) -> Memory:
    """A statement of Ann's, as it is."""
    return keep(engram, content, at=engram._now(), scope=ANN, **fields)


def link(engram: Engram, source: Memory, target: Memory, kind: EdgeType) -> None:
    """Link two memories as admission does."""
    with engram._parts.store.atomic() as tx:
        MemoryWriter(tx, Actor(), engram._now()).link(source, target, kind)


def test_what_looks_the_same_and_was_not_merged_is_a_group(engram: Engram) -> None:
    """What differs in a number, a name or a denial is not the same, however alike it sounds."""
    same = [
        kept(engram, "The staging server runs Postgres"),
        kept(engram, "Our staging server runs Postgres"),
    ]
    kept(engram, "The staging server does not run Postgres")
    kept(engram, "The release is on 4 March")
    kept(engram, "The release is on 5 March")

    found = engram.reflect(scope=ANN)

    assert [{one.id for one in group} for group in found.duplicates] == [{one.id for one in same}]
    assert found.counts["duplicates"] == 1


def test_what_is_old_important_and_never_said_again_is_stale(engram: Engram, clock: ManualClock) -> None:
    """Not what lasts for good, was confirmed, matters little, or is new."""
    old = kept(engram, "Otto works at Siemens", importance=0.8)
    kept(engram, "Otto was born in Bonn", importance=0.8, lasting=Lasting.PERMANENT)
    kept(engram, "Otto drives a van", importance=0.8, reinforcements=1)
    kept(engram, "Otto likes tulips", importance=0.2)
    clock.advance(days=120)
    kept(engram, "Otto rents a garden", importance=0.8)

    assert [one.id for one in engram.reflect(scope=ANN).stale] == [old.id]


def test_both_sides_of_a_dispute_and_what_a_change_made_doubtful_are_told(engram: Engram) -> None:
    """With the question that is open about each."""
    first, second = kept(engram, "The gate opens at six"), kept(engram, "The gate opens at eight")
    moved, gym = kept(engram, "We moved to Lisbon"), kept(engram, "The gym is around the corner")
    alone = kept(engram, "The lift is broken", status=Status.CHALLENGED)
    link(engram, second, first, EdgeType.CONTRADICTS)
    link(engram, moved, gym, EdgeType.DOUBTS)

    found = engram.reflect(scope=ANN)

    assert [(one.memory.id, one.other and one.other.id) for one in found.disputed] == [
        (first.id, second.id),
        (alone.id, None),
    ]
    assert [(one.memory.id, one.change.id) for one in found.doubtful] == [(gym.id, moved.id)]
    assert [gap.question for gap in found.questions] == [gap.question for gap in engram.gaps(scope=ANN)]
    assert found.counts["questions"] == 2


def test_the_share_that_was_never_recalled_is_told(engram: Engram) -> None:
    """Of those that were looked at."""
    used(engram, kept(engram, "Otto drives a van"), 3)
    for number in range(3):
        kept(engram, f"Otto has shelf number {number}")

    found = engram.reflect(scope=ANN)

    assert (found.memories, found.is_whole, found.never_recalled) == (4, True, 0.75)


def test_no_more_than_asked_for_is_told_and_the_rest_is_counted(engram: Engram, clock: ManualClock) -> None:
    """The most important first."""
    for number in range(4):
        kept(engram, f"Otto rents garden number {number} in town", importance=0.5 + number / 10)
    clock.advance(days=120)

    found = engram.reflect(limit=1, scope=ANN)

    assert [one.importance for one in found.stale] == [0.8]
    assert found.counts["stale"] == 4


def test_other_scopes_are_not_looked_at(engram: Engram) -> None:
    """Not for duplicates either: what two people say is two memories."""
    kept(engram, "The staging server runs Postgres")
    keep(engram, "Our staging server runs Postgres", scope=Scope(user="otto"))

    assert engram.reflect(scope=ANN).duplicates == ()
    assert engram.reflect(scope=ANN).memories == 1
    assert engram.reflect(scope=Scope(user="eve")).memories == 0


def test_what_is_confidential_is_counted_and_not_shown(engram: Engram, clock: ManualClock) -> None:
    """In no list."""
    for words in ("The door code of the shed is four", "Our door code of the shed is four"):
        memory = kept(engram, words, importance=0.9)
        rewritten(engram, memory, security=SecurityTier.CONFIDENTIAL)
    clock.advance(days=120)

    found = engram.reflect(scope=ANN)

    assert (found.memories, found.withheld) == (2, 2)
    assert not found.duplicates
    assert not found.stale


def test_a_look_changes_nothing(engram: Engram) -> None:
    """Neither memories nor questions nor what was recalled."""
    one = kept(engram, "The staging server runs Postgres")
    kept(engram, "Our staging server runs Postgres")
    before = (engram.list(scope=ANN), engram.gaps(scope=ANN), engram.history(one.id, scope=ANN))

    engram.reflect(scope=ANN)

    assert (engram.list(scope=ANN), engram.gaps(scope=ANN), engram.history(one.id, scope=ANN)) == before
