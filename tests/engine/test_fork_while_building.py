"""A fork while a part is being built: a child waits for no thread that only its parent has."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

FORKED = """
import gc, os, signal, sys, threading

begun = threading.Event()
{before}
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(30)  # what waits for ever is ended, and seen
    {inside}
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def forked(script: str, *, folder: Path) -> int:
    """Run a script that forks in a process of its own; returns how its child ended."""
    ran = subprocess.run([sys.executable, "-c", script], cwd=folder, timeout=60, check=False)
    return ran.returncode


def test_a_child_can_build_what_its_parent_was_building(tmp_path: Path) -> None:
    """A thread that builds a part is not in the child, so the child builds the part itself."""
    before = """
from engramdb.engine.parts import lazy_property

class Holder:
    @lazy_property
    def part(self):
        begun.set()
        if threading.current_thread() is not threading.main_thread():
            threading.Event().wait()
        return 7

holder = Holder()
threading.Thread(target=lambda: holder.part, daemon=True).start()
"""

    ended = forked(FORKED.format(before=before, inside="assert holder.part == 7"), folder=tmp_path)

    assert ended == 0
