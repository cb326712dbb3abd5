"""A process that is killed in the middle of a write loses nothing that it was told is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evals.crash import AcknowledgedWriteLost, Crasher, Fate, Step, after

if TYPE_CHECKING:
    from pathlib import Path

MAX_ROUNDS = 60
"""A machine on which so many lives are too short to write anything is broken."""


def crash(crasher: Crasher, *, rounds: int, acknowledged: int) -> None:
    """Crash so many times, and on a busy machine until enough was written to lose."""
    for tally in crasher.run(MAX_ROUNDS):
        if tally.rounds >= rounds and tally.acknowledged >= acknowledged:
            return


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """After each of a dozen SIGKILLs the file says exactly what was acknowledged, in every index."""
    crasher = Crasher(tmp_path, processes=1, seed=1)

    crash(crasher, rounds=12, acknowledged=20)

    assert crasher.tally.kills == crasher.tally.rounds >= 12
    assert crasher.tally.acknowledged >= 20


@pytest.mark.slow
def test_three_writers_killed_on_one_file_lose_nothing(tmp_path: Path) -> None:
    """Processes that share a file and die at different moments leave each other's writes whole."""
    crasher = Crasher(tmp_path, processes=3, seed=2)

    crash(crasher, rounds=6, acknowledged=20)

    assert crasher.tally.kills == 3 * crasher.tally.rounds >= 18
    assert crasher.tally.acknowledged >= 20


def test_the_crash_check_notices_a_lost_write(tmp_path: Path) -> None:
    """A ledger that holds one write more than the file is reported, so a pass means something."""
    acknowledged = after({}, Step("remember", added=("a note",)))
    crasher = Crasher(tmp_path, processes=1, seed=0)

    with pytest.raises(AcknowledgedWriteLost, match="a note"):
        crasher._compare({}, acknowledged, None)


def test_the_crash_check_notices_half_a_write(tmp_path: Path) -> None:
    """A bulk write of which only a part is in the file is reported, even when it was not acknowledged."""
    in_flight = Step("bulk", added=("one", "two"))
    crasher = Crasher(tmp_path, processes=1, seed=0)

    with pytest.raises(AcknowledgedWriteLost, match="two"):
        crasher._compare({"one": Fate()}, {}, in_flight)
