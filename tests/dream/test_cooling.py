"""Where the policy says so, the vectors of memories that cool are kept with fewer bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engramdb import Engram, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock

FEW_BITS = {"aging": {"embedding_bits_cold": 4, "embedding_bits_evictable": 2}}


def test_cold_vectors_shrink_and_still_answer(store_path: Path, clock: ManualClock) -> None:
    """Three years later the vectors hold fewer bits, questions find the memory, and the doctor is content."""
    settings = Settings(overrides=FEW_BITS, embedder="static")
    with Engram.open(store_path, settings=settings, clock=clock, background=False) as engram:
        kept = engram.remember("The gate code of the old harbour is on the blue card")
        fresh = engram.age()
        clock.advance(days=3 * 365)

        aged = engram.age()

        assert (fresh.requantized, aged.requantized) == (0, 1)
        assert engram.recall("harbour gate code").hits[0].memory.id == kept.id
        assert engram.age().requantized == 0
        assert engram.doctor().ok


def test_by_default_every_vector_keeps_its_bits(store_path: Path, clock: ManualClock) -> None:
    """Fewer bits lose recall and save nothing that is missed: docs/lab/0011-temperature.md."""
    with Engram.open(store_path, settings=Settings(), clock=clock, background=False) as engram:
        engram.remember("The gate code of the old harbour is on the blue card")
        clock.advance(days=365)

        assert engram.age().requantized == 0
