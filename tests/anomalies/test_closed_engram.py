"""A memory that was closed says so, whatever it is asked."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

import pytest

from engramdb import Draft, Engram, Settings
from engramdb.errors import StoreClosed
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UNKNOWN = "00000000-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    "call",
    [
        lambda engram: engram.remember("I like tea"),
        lambda engram: engram.remember_many([Draft(content="I like tea")]),
        lambda engram: engram.observe("I like tea"),
        lambda engram: engram.recall("tea"),
        lambda engram: engram.get(UNKNOWN),
        lambda engram: engram.list(),
        lambda engram: engram.turns(),
        lambda engram: engram.history(UNKNOWN),
        lambda engram: engram.correct(UNKNOWN, "I like coffee"),
        lambda engram: engram.forget(UNKNOWN),
        lambda engram: engram.pin(UNKNOWN),
        lambda engram: engram.status(),
        lambda engram: engram.doctor(),
        lambda engram: engram.rebuild(),
        lambda engram: engram.embed_pending(),
    ],
)
def test_a_closed_engram_refuses_every_verb(engram: Engram, call: Callable[[Engram], object]) -> None:
    """The error is the same for every verb, and no file is opened again behind the user's back."""
    engram.close()

    with pytest.raises(StoreClosed) as refused:
        call(engram)

    assert refused.value.code == "E1010"


def test_closing_twice_is_harmless(engram: Engram) -> None:
    """A `with` block around a handle that was closed by hand ends quietly."""
    engram.close()

    engram.close()


def test_closing_waits_for_writes_under_way(store_path: Path) -> None:
    """A write that began before the close is either stored and acknowledged, or refused; nothing between."""
    settings = Settings(policy="notebook")  # "note 1 2" and "note 1 3" are to stay two memories
    engram = Engram.open(store_path, settings=settings, embedder=TinyEmbedder(), background=False)
    acknowledged: list[str] = []
    ready = threading.Barrier(5)

    def write(name: int) -> None:
        ready.wait()
        with contextlib.suppress(StoreClosed):
            for number in range(1000):
                memory = engram.remember(f"note {name} {number}")
                acknowledged.append(memory.id)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    ready.wait()
    while len(acknowledged) < 20:
        pass
    engram.close()
    for thread in threads:
        thread.join()

    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as again:
        assert again.status().memories == len(acknowledged)
        assert len(acknowledged) < 4000
        assert again.doctor().ok


def test_closing_ends_the_background_threads(store_path: Path) -> None:
    """After close no thread of Engram's is left."""
    engram = Engram.open(store_path, embedder=TinyEmbedder())
    engram.remember("I like tea")

    engram.close()

    assert not [thread for thread in threading.enumerate() if thread.name.startswith("engram")]
