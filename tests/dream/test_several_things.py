"""A memory that says several things, when one of them changes: the others are known as long as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock


@pytest.mark.parametrize("policy", ["balanced", "notebook"])
def test_news_about_one_thing_leaves_the_other_known(
    store_path: Path, clock: ManualClock, policy: str
) -> None:
    """She moves, and the dream looks at it a month later: where she works is still found."""
    settings = Settings(embedder="static", policy=policy)
    with Engram.open(store_path, settings=settings, clock=clock, background=False) as engram:
        engram.remember("Maya lives in Oslo and works at Equinor")
        clock.advance(days=30)
        engram.remember("Maya lives in Bergen")
        engram.remember("Maya lives in Bergen", session="again")

        engram.dream()
        home = engram.recall("Where does Maya live?").hits[0].memory.content
        work = [hit.memory.content for hit in engram.recall("Where does Maya work?").hits]

    assert home == "Maya lives in Bergen"
    assert "Maya lives in Oslo and works at Equinor" in work
