"""The quality of the latest answers shows in the status, and many poor ones in a row are worth a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engramdb import Engram, Settings

if TYPE_CHECKING:
    from pathlib import Path


def test_the_status_averages_the_latest_answers(engram: Engram) -> None:
    """How many, how relevant, how quick."""
    engram.remember("I like green tea")
    for _ in range(3):
        engram.recall("green tea")

    recalls = engram.status().recalls

    assert recalls["answers"] == 3
    assert recalls["level: full"] == 3
    assert 0 < recalls["average_relevancy"] <= 1
    assert 0 < recalls["milliseconds_p50"] <= recalls["milliseconds_p95"]


def test_ten_poor_answers_in_a_row_are_a_warning_and_a_good_one_ends_it(store_path: Path) -> None:
    """Nobody has to look at each answer to notice that none was any good."""
    with Engram.open(store_path, settings=Settings(embedder="static"), background=False) as engram:
        engram.remember("I like green tea")
        for number in range(10):
            engram.recall(f"superconducting magnet {number}")
        poor = engram.status()
        engram.recall("do I like green tea?")
        good = engram.status()

    assert poor.recalls["poor_in_a_row"] == 10
    assert any("poor" in advice for advice in poor.advice)
    assert not any("poor" in advice for advice in good.advice)
