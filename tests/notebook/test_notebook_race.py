"""A notebook beside another program that changes the same memory in the middle of a sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from interrupted import Interrupted

from engramdb import Engram
from engramdb.testing import TinyEmbedder
from engramdb.values import NotebookAct

from .notebooks import Notebook, active, acts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def embedder() -> Interrupted:
    """An embedder that can be interrupted."""
    return Interrupted()


@pytest.fixture
def elsewhere(store_path: Path, engram: Engram) -> Iterator[Engram]:
    """The same store, opened by someone else."""
    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as opened:
        yield opened


def test_a_correction_that_comes_between_is_a_conflict_and_nothing_is_lost(
    engram: Engram, elsewhere: Engram, embedder: Interrupted, tmp_path: Path
) -> None:
    """The edit is being embedded when another program corrects the memory: both wordings are there after."""
    notebook = Notebook(engram, tmp_path / "notes")
    drinks = engram.remember("Maya drinks green tea")
    notebook.sync()
    notebook.edit("green tea", "black coffee")
    embedder.meanwhile = lambda: elsewhere.correct(drinks.id, "Maya drinks mineral water")

    report = notebook.sync()

    assert acts(report)[NotebookAct.CONFLICT] == 1
    assert set(active(engram)) == {"Maya drinks mineral water"}
    assert notebook.words() == {"Maya drinks mineral water"}
    assert "Maya drinks black coffee" in notebook.copies()[0].read_text("utf-8")


def test_a_pin_that_comes_between_does_not_stop_an_edit(
    engram: Engram, elsewhere: Engram, embedder: Interrupted, tmp_path: Path
) -> None:
    """The words are as the person had seen them, so the second look takes the edit, and the pin stays."""
    notebook = Notebook(engram, tmp_path / "notes")
    drinks = engram.remember("Maya drinks green tea")
    notebook.sync()
    notebook.edit("green tea", "black coffee")
    embedder.meanwhile = lambda: elsewhere.pin(drinks.id)

    report = notebook.sync()

    assert acts(report)[NotebookAct.CORRECTED] == 1
    assert notebook.copies() == []
    assert active(engram)["Maya drinks black coffee"].pinned
