"""Searches take turns, so that writes beside them get their share; one that hangs holds up nobody."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.engine.parts import SearchSlots
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

LONG = 30.0


def test_only_so_many_searches_compute_at_once() -> None:
    """Eight that come together run one after the other where there is one place."""
    slots, lock = SearchSlots(at_once=1, patience_seconds=LONG), threading.Lock()
    running, most = 0, 0

    def search(_number: int) -> None:
        nonlocal running, most
        with slots.taken():
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.01)
            with lock:
                running -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(search, range(8)))

    assert most == 1


def test_a_search_that_raises_gives_its_place_back() -> None:
    """The next one does not wait."""
    slots = SearchSlots(at_once=1, patience_seconds=LONG)
    with pytest.raises(ValueError, match="broken"), slots.taken():
        raise ValueError("broken")

    start = time.monotonic()
    with slots.taken():
        assert time.monotonic() - start < LONG / 2


class HangingEmbedder(TinyEmbedder):
    """Hangs over one question until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.may_go = threading.Event(), threading.Event()

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed questions; those that hang when told to."""
        if any("hang" in text for text in texts):
            self.has_begun.set()
            assert self.may_go.wait(LONG)
        return super().embed_queries(texts)


def test_a_search_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    """However many hang, the next is answered, and so is a window."""
    embedder = HangingEmbedder()
    settings = Settings(home=tmp_path, embedder_timeout_seconds=LONG)
    with Engram.open(settings=settings, embedder=embedder, background=False) as engram:
        engram.remember("the alarm rings at seven")
        hanging = [threading.Thread(target=engram.recall, args=(f"do {one} hang?",)) for one in range(8)]
        for one in hanging:
            one.start()
        assert embedder.has_begun.wait(LONG)

        found = engram.recall("when does the alarm ring?")
        window = engram.context("when does the alarm ring?")
        were_waiting = all(one.is_alive() for one in hanging)
        embedder.may_go.set()
        for one in hanging:
            one.join()

    assert were_waiting
    assert found.hits[0].memory.content == "the alarm rings at seven"
    assert "the alarm rings at seven" in window.text
