"""A few of the processes that `evals.kills` kills by the thousand, behind every way in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.testing import TinyEmbedder
from evals.kills import WRITERS, Killer, WriteLost

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Library, turns, command line, HTTP, MCP, hooks, dream, import, notebook and migration, side by side."""
    killer = Killer(tmp_path, seed=3, per_round=6)

    killer.run(24)

    assert killer.kills.total() >= 24
    assert killer.acknowledged.total() > 24


def test_every_way_in_is_killed() -> None:
    """The list of writers names each surface that writes."""
    assert set(WRITERS) >= {"library", "command line", "http", "mcp", "hook", "dream", "import", "notebook"}


def test_the_check_notices_a_lost_write(tmp_path: Path) -> None:
    """A file without an acknowledged statement is reported, so a pass means something."""
    path = tmp_path / "memory.db"
    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("one")

    with pytest.raises(WriteLost, match="two"):
        Killer(tmp_path, seed=0, per_round=1).check(path, {"one", "two"})
