"""A correction whose words were known a moment ago, and are not any more, is embedded all the same."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from engramdb import Engram
from engramdb.testing import ManualClock, TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def until(is_so: Callable[[], bool]) -> bool:
    """Wait a while for something, and return whether it came."""
    ends = time.monotonic() + 30
    while not is_so() and time.monotonic() < ends:
        time.sleep(0.005)
    return is_so()


def test_words_whose_twin_left_meanwhile_get_a_vector(store_path: Path) -> None:
    """Nothing was embedded, for the words were known; once they are not, the backfill is woken."""
    with Engram.open(store_path, clock=ManualClock(), embedder=TinyEmbedder(), dream=False) as engram:
        wrong = engram.remember("The boat is green")
        twin = engram.remember("The harbour opens at seven")
        assert until(lambda: engram.status().awaiting_embedding == 0)
        store = engram._parts.store
        correcting = threading.Thread(target=engram.correct, args=(wrong.id, twin.content))

        with store.atomic():
            correcting.start()
            assert until(lambda: store._line.waiting > 0)  # type: ignore[attr-defined]
            engram.forget(twin.id)
        correcting.join()

        assert [memory.content for memory in engram.list()] == [twin.content]
        assert until(lambda: engram.status().awaiting_embedding == 0)
