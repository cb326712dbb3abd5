"""What the README tells of an editor that changes is so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engramdb import Engram

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock


def test_the_story_of_the_editor(store_path: Path, clock: ManualClock) -> None:
    """Helix today, vim as of last month, and the timeline tells both."""
    with Engram.open(store_path, clock=clock, background=False) as engram:
        engram.observe("I use vim for everything.", session="s1")
        engram.flush()
        clock.advance(days=1)
        last_month = clock.now()
        clock.advance(days=30)
        engram.observe("I switched from vim to Helix last week.", session="s2")
        engram.flush()

        now = engram.recall("which editor do I use?").hits[0].memory.content
        then = engram.recall("which editor do I use?", as_of=last_month).hits[0].memory.content
        told = [entry.memory.content for entry in engram.timeline("vim").entries]

    assert "Helix" in now
    assert "vim" in then
    assert "Helix" not in then
    assert len(told) >= 2
