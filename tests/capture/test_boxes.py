"""Boxes: stretches of one topic, sealed by a change of topic, by silence or when they are full."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import ManualClock


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """An engine with small boxes."""
    settings = Settings(embedder="static", overrides={"capture": {"box_memories": 3}})
    with Engram.open(store_path, settings=settings, clock=clock, background=False) as opened:
        yield opened


def box(engram: Engram, content: str) -> str:
    """Remember something in a session and return the box it was put into."""
    found = engram.remember(content, session="s").box
    assert found is not None
    return found


def test_one_topic_fills_one_box(engram: Engram) -> None:
    """Statements about the same thing belong together."""
    first = box(engram, "The PostgreSQL database runs on server heron")

    assert box(engram, "The PostgreSQL database is backed up nightly") == first


def test_another_topic_starts_another_box(engram: Engram) -> None:
    """A leap from databases to birthday cake is a new stretch."""
    first = box(engram, "The PostgreSQL database runs on server heron")

    assert box(engram, "Grandma bakes a chocolate cake for the birthday party") != first


def test_silence_starts_another_box(engram: Engram, clock: ManualClock) -> None:
    """Half an hour later the same topic is a new stretch."""
    first = box(engram, "The PostgreSQL database runs on server heron")
    clock.advance(minutes=31)

    assert box(engram, "The PostgreSQL database is backed up nightly") != first


def test_a_full_box_is_sealed(engram: Engram) -> None:
    """No box holds more than the policy says."""
    facts = ("runs on server heron", "is backed up nightly", "has forty tables", "needs more disk space")
    boxes = [box(engram, f"The PostgreSQL database {fact}") for fact in facts]

    assert len(set(boxes[:3])) == 1
    assert boxes[3] != boxes[0]


def test_boxes_of_a_recurring_topic_share_a_trace(engram: Engram, clock: ManualClock) -> None:
    """A topic that comes back is followed from box to box."""
    first = box(engram, "The PostgreSQL database runs on server heron")
    clock.advance(minutes=31)
    box(engram, "Grandma bakes a chocolate cake for the birthday party")
    clock.advance(minutes=31)
    third = box(engram, "The PostgreSQL database on heron is backed up nightly")
    clock.advance(minutes=31)
    box(engram, "Grandma bought flowers for the party")

    with engram._parts.store.read() as tx:
        traces = {one.id: one.trace for one in tx.boxes.sealed(engram._scope, limit=10)}

    assert traces[first] == traces[third]
    assert len(set(traces.values())) == 2


def test_a_statement_outside_any_session_has_no_box(engram: Engram) -> None:
    """A box is a stretch of talk."""
    assert engram.remember("The PostgreSQL database runs on server heron").box is None


def test_what_is_handed_over_late_is_boxed_by_when_it_was_said(engram: Engram, clock: ManualClock) -> None:
    """Two stretches of one topic that were years apart are two boxes, although they are stored at once."""
    old = clock.now() - timedelta(days=900)

    first, again, later = (
        engram.remember(content, session="s", occurred_at=at).box
        for content, at in (
            ("The PostgreSQL database runs on server heron", old),
            ("The PostgreSQL database on server heron is backed up at night", old + timedelta(minutes=5)),
            ("The PostgreSQL database on server heron has a replica", old + timedelta(days=400)),
        )
    )

    assert first == again
    assert later != first
