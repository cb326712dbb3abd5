"""A fork in the middle of late loading: a child waits for no thread that only its parent has."""

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


def test_a_child_can_load_what_its_parent_was_loading(tmp_path: Path) -> None:
    """The fork waits for the module, which the child then has, whole, with the collector at work."""
    (tmp_path / "slow_room.py").write_text(
        "import time, __main__\n__main__.begun.set()\ntime.sleep(0.2)\nWHOLE = True\n", encoding="utf-8"
    )
    before = "from engramdb.late import load\nthreading.Thread(target=load, args=('slow_room',)).start()"
    inside = "assert load('slow_room').WHOLE and gc.isenabled()"

    ended = forked(FORKED.format(before=before, inside=inside), folder=tmp_path)

    assert ended == 0


def test_a_child_can_build_what_its_parent_was_building(tmp_path: Path) -> None:
    """A thread that builds a part is not in the child, so the child builds the part itself."""
    before = """
from engramdb.engine.built import built

class Holder:
    @built
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


def test_a_fork_in_the_middle_of_its_own_loading_waits_for_nobody(tmp_path: Path) -> None:
    """A module that forks while it is loaded is not what its own fork waits for."""
    (tmp_path / "forking_room.py").write_text(
        "import os\nchild = os.fork()\nif child == 0:\n    os._exit(0)\nos.waitpid(child, 0)\n",
        encoding="utf-8",
    )
    script = (
        "from engramdb import late\n"
        "late.FORK_PATIENCE_SECONDS = 1000.0  # far beyond what this process is given\n"
        "late.load('forking_room')"
    )

    assert forked(script, folder=tmp_path) == 0
