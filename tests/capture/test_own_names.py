"""Who says their own name tells nothing new, where it is known who speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def engram(tmp_path: Path) -> Iterator[Engram]:
    """An engine on a store of its own."""
    with Engram.open(tmp_path / "names.db", embedder=TinyEmbedder(), background=False) as opened:
        yield opened


@pytest.mark.parametrize("said", ["I'm Maya.", "My name is Maya.", "And I am Maya!"])
def test_nobody_is_remembered_as_being_themselves(engram: Engram, said: str) -> None:
    """Or "Maya is Maya" would be the best answer to every question about her."""
    engram.observe(f"{said} I work as a nurse.", speaker="Maya", session="s1")

    engram.flush()

    assert [memory.content for memory in engram.list()] == ["I work as a nurse"]


@pytest.mark.parametrize(
    ("speaker", "said", "stored"),
    [
        (None, "I'm Maya.", "I'm Maya"),
        ("Maya", "I'm Maya Lind.", "I'm Maya Lind"),
        ("Maya", "My boss is Tom.", "My boss is Tom"),
    ],
)
def test_a_name_that_is_news_is_kept(engram: Engram, speaker: str | None, said: str, stored: str) -> None:
    """Of somebody unnamed, a longer name, or somebody else's."""
    engram.observe(said, speaker=speaker, session="s1")

    engram.flush()

    assert [memory.content for memory in engram.list()] == [stored]
