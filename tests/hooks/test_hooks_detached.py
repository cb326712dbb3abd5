"""Detached work of a hook: it holds nothing of the agent's, and does not end in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from engramdb.hooks import filters

from .test_hooks_process import ended, event, start

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is detached without a fork")

SCRIPT = """
import os, signal, sys, time
from pathlib import Path
from engramdb.hooks.detached import detach

def act():
    nothing = os.stat(os.devnull)
    streams = [os.path.samestat(os.fstat(one), nothing) for one in (0, 1, 2)]
    Path(sys.argv[1], "streams").write_text(repr(streams))
    Path(sys.argv[1], "group").write_text(str(os.getsid(0) != int(sys.argv[2])))
    exec(sys.argv[3])

detach(act, home=Path(sys.argv[1]), max_seconds=float(sys.argv[4]))
"""


def behind(home: Path, act: str, *, max_seconds: float = 60) -> list[str]:
    """Do something behind a process that waits for its end, and return what is noted of it."""
    words = [sys.executable, "-c", SCRIPT, str(home), str(os.getsid(0)), act, str(max_seconds)]
    done = subprocess.run(words, capture_output=True, check=True)
    assert done.stdout + done.stderr == b""
    path = home / "hooks" / "failures.jsonl"
    return [json.loads(line)["why"] for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def test_work_that_ends_well_is_not_spoken_of(tmp_path: Path) -> None:
    """It has let go of the streams and of the group that the agent may wait for or end."""
    noted = behind(tmp_path, "print('to nobody')")

    assert noted == []
    assert (tmp_path / "streams").read_text() == "[True, True, True]"
    assert (tmp_path / "group").read_text() == "True"


@pytest.mark.parametrize(
    ("act", "max_seconds", "why"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 60, "it was ended by signal 9"),
        ("raise SystemExit", 60, "it ended early"),
        ("raise ValueError('my secret')", 60, "it ended early"),
        ("time.sleep(60)", 0.05, "it took more than 0.05 seconds and was ended"),
    ],
    ids=["killed", "left", "mistake", "too-long"],
)
def test_however_work_ends_there_is_a_note_of_it(
    act: str, max_seconds: float, why: str, tmp_path: Path
) -> None:
    """Whoever is killed can tell nobody; without the note `status` would say that all is well."""
    assert behind(tmp_path, act, max_seconds=max_seconds) == [why]


def test_an_event_beyond_the_limit_is_read_to_its_end_and_said_to_be_too_large(home: Path) -> None:
    """An agent that cannot write it whole might take that for a failure of its own."""
    ended(start("Stop", event(prompt="x" * 9_000_000)))

    noted = (home / "hooks" / "failures.jsonl").read_text("utf-8")
    assert "the event is larger than 8000000 bytes" in noted


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ("a <x-hook>b</x-hook> c <x-hook>d</x-hook>", "a   c"),
        ("a <x-hook>b <y-hook>c</y-hook> d</x-hook> e", "a   e"),
        ("a <x-hook>b <y-hook>c</y-hook>", "a <x-hook>b"),
        ("a <x-hook>b", "a <x-hook>b"),
    ],
)
def test_what_a_program_put_in_is_cut_out_up_to_its_end(told: str, left: str) -> None:
    """What does not end may be what somebody typed, and stays."""
    assert filters.without_memories(told) == left


def test_marks_that_never_close_do_not_make_a_prompt_slow() -> None:
    """With a pattern that looks for both ends, this text alone took more than two minutes."""
    told = "a " + "<system-reminder>" * 200_000 + "</x>"

    assert filters.without_memories(told) == told
