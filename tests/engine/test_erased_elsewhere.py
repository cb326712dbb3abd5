"""Words that one process erases are gone from what every other one holds, by its next call."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock

HOLDER = """
    import functools, gc, sys
    from engramdb import Engram
    from engramdb.testing import TinyEmbedder

    def texts(held, depth=3):
        if isinstance(held, str):
            yield held
        elif depth and isinstance(held, (tuple, list, dict, frozenset)):
            for part in held:
                yield from texts(part, depth - 1)

    def held():
        gc.collect()
        found = [
            text for one in gc.get_objects() if issubclass(type(one), functools._lru_cache_wrapper)
            for inside in gc.get_referents(one) for text in texts(inside) if "quendolin" in text.lower()
        ]
        for one in gc.get_objects():
            name = type(one).__name__
            if name == "ErasableTable":
                found += [text for text in list(one) if "quendolin" in str(text).lower()]
            elif name in ("Slot", "Turn", "Memory"):
                found += [name] if "quendolin" in repr(one).lower() else []
        return len(found)

    engram = Engram.open(sys.argv[1], embedder=TinyEmbedder(), background=False)
    memory = engram.recall("when does the quendolin valve open?").hits[0].memory.id
    engram.observe("The quendolin valve in Oslo never opens before May.", session="s1")
    with engram.turn("Tell me of the quendolin valve", session="s1") as turn:
        turn.reply("It stays closed.")
        turn.note("The quendolin valve in Oslo never opens before May.")
    del turn
    engram.context("the valve")
    print(held(), flush=True)
    sys.stdin.readline()
    {call}
    print(held(), flush=True)
    engram.close()
"""
CALLS = ("engram.status()", "engram.recall('tea')", "engram.list()", "engram.remember('I like tea')")


@pytest.mark.parametrize("call", CALLS)
def test_other_processes_let_go_of_erased_words(store_path: Path, clock: ManualClock, call: str) -> None:
    """Caches, sensory buffers and working memory of a process that erased nothing itself."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        memory = engram.remember("The quendolin valve in Oslo never opens before May.", pinned=True)
        code = textwrap.dedent(HOLDER).replace("{call}", call)
        with subprocess.Popen(
            [sys.executable, "-c", code, str(store_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            before = int(other.stdout.readline())
            engram.erase(memory.id, mentions=True)
            other.stdin.write("\n")
            other.stdin.flush()
            after = int(other.stdout.readline())

    assert before > 0
    assert after == 0


def test_an_engine_beside_lets_go_as_well(store_path: Path, clock: ManualClock) -> None:
    """The number of erasures is looked at by every call, and by the upkeep of an idle process."""
    with (
        Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as one,
        Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as other,
    ):
        memory = one.remember("The quendolin valve opens in May")
        other.observe("The quendolin valve opens in May, I think.")
        assert other._own_parts.capture.sensory._rings

        one.erase(memory.id, mentions=True)
        other._own_parts._keep_up()

        assert not other._own_parts.capture.sensory._rings
