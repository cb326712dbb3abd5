"""What the README tells of a sister who moves is so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engramdb import Engram

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock


def test_the_story_of_the_sister(store_path: Path, clock: ManualClock) -> None:
    """Lisbon today, Ghent as of last month, and the timeline tells both."""
    with Engram.open(store_path, clock=clock, background=False) as engram:
        engram.observe("my sister Nora lives in Ghent, right above a bakery", session="s1")
        engram.flush()
        clock.advance(days=1)
        last_month = clock.now()
        clock.advance(days=30)
        engram.observe("my sister Nora just moved to Lisbon, can you believe it", session="s2")
        engram.flush()

        now = engram.recall("where does Nora live?").hits[0].memory.content
        then = engram.recall("where does Nora live?", as_of=last_month).hits[0].memory.content
        told = [entry.memory.content for entry in engram.timeline("Nora").entries]

    assert "Lisbon" in now
    assert "Ghent" in then
    assert "Lisbon" not in then
    assert len(told) >= 2
