"""`engram bench`: numbers that were measured, on a store that is gone afterwards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from engramdb.cli.bench import SINGLE, statement

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command


def test_a_bench_measures_a_store_of_its_own(engram_command: Command, home: Path) -> None:
    """As many memories as were asked for and those stored one by one; the user's own store is not made."""
    done = engram_command("bench", "--memories", "60", "--json")

    measured = json.loads(done.stdout)
    assert measured["memories"] == 60 + SINGLE
    assert measured["bulk_per_second"] > 0
    for middle, slow in (measured["remember_ms"], measured["recall_ms"]):
        assert 0 < middle <= slow
    assert not (home / "memory.db").exists()


def test_statements_are_all_different() -> None:
    """A repetition would be reinforced and not stored."""
    assert len({statement(number) for number in range(3000)}) == 3000
