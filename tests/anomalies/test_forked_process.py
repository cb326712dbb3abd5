"""A process that was forked from one with an open store cannot harm it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunChild

# Forking is done in a fresh process: the test process has threads of its own, which must not be forked.
FORK = """
    import gc, os, sys, warnings
    from engramdb import Engram, EngramError
    from engramdb.testing import TinyEmbedder

    engram = Engram.open(sys.argv[1], embedder=TinyEmbedder(), background=False)
    engram.remember("before the fork")
    engram.recall("fork")
    pid = os.fork()
    if pid == 0:
        said = []
        for call in (lambda: engram.remember("in the child"), lambda: engram.recall("fork"), engram.doctor):
            try:
                call()
                said.append("no error")
            except EngramError as error:
                said.append(type(error).__name__)
        engram.close()
        del engram
        gc.collect()
        with Engram.open(sys.argv[1], embedder=TinyEmbedder(), background=False) as own:
            own.remember("from the child's own handle")
        print(*said, flush=True)
        os._exit(0)
    for number in range(20):
        engram.remember(f"from the parent {number}")
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
    engram.remember("after the fork")
    print(engram.status().memories, engram.doctor().ok, len(engram.recall("own handle", limit=1).hits))
    engram.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_child_is_refused_and_the_parent_is_unharmed(store_path: Path, child: RunChild) -> None:
    """The child is told that the store is closed for it; both processes' writes are all there."""
    in_child, in_parent = child(FORK, store_path).splitlines()

    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        assert in_child.split() == ["StoreClosed"] * 3
        assert in_parent.split() == ["23", "True", "1"]
        assert engram.status().memories == 23
        assert engram.doctor().ok
