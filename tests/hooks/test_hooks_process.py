"""Hooks as Claude Code runs them: a real process, JSON on its input, and an agent that must always go on."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from engramdb import Engram
from engramdb.hooks.filters import MARK

from .test_hooks_parts import line, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from surfaces.fixtures import Command

HOOK = [sys.executable, "-P", "-m", "engramdb", "hook"]
PATIENCE_SECONDS = 60


def start(name: str, told: object, *options: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start a hook and tell it an event."""
    process = subprocess.Popen(
        [*HOOK, name, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "ENGRAM_HOOK_TIMEOUT_SECONDS": "25", **environment},
    )
    assert process.stdin is not None
    process.stdin.write(told if isinstance(told, bytes) else json.dumps(told).encode())
    process.stdin.close()
    process.stdin = None
    return process


def ended(process: subprocess.Popen[bytes]) -> bytes:
    """Return what a hook printed; it always ends with 0 and without a word on stderr."""
    with process:
        printed, complaint = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, complaint) == (0, b"")
    return printed


def event(**told: object) -> dict[str, object]:
    """Return an event as Claude Code tells it, with fields that we have never heard of."""
    return {"session_id": "s1", "cwd": "/w/harvest", "permission_mode": "default", "novel": {"x": 1}, **told}


def until(is_so: Callable[[], Any]) -> Any:
    """Return the first answer that is not empty; what a hook does behind the agent takes a moment."""
    begun = time.monotonic()
    while not (found := is_so()):
        assert time.monotonic() - begun < PATIENCE_SECONDS
        time.sleep(0.05)
    return found


def read(home: Path, question: Callable[[Engram], Any]) -> Any:
    """Ask the store of the home; None while there is none."""
    if not (home / "memory.db").exists():
        return None
    with Engram.open(home / "memory.db", background=False) as engram:
        return question(engram)


def part(home: Path, command: Command) -> Any:
    """Return how `engram status` says that the hooks fare."""
    parts = json.loads(command("status", "--json").stdout)["all_parts"]
    return next((one for one in parts if one["name"] == "hook"), None)


def test_a_session_from_its_start_to_its_end(home: Path, tmp_path: Path, engram_command: Command) -> None:
    """The first prompt makes the store; what it states is remembered, and given to the next session."""
    prompt = "From now on I use Helix"
    log = str(tmp_path / "s1.jsonl")
    first = ended(start("UserPromptSubmit", event(prompt=prompt, transcript_path=log)))
    until(lambda: read(home, lambda engram: engram.list()))
    write(tmp_path / "s1.jsonl", [line("user", prompt, "u1"), line("assistant", "Helix it is.", "a1")])
    ended(start("Stop", event(transcript_path=log, stop_hook_active=False)))
    until(lambda: read(home, lambda engram: len(engram.turns()) == 2))

    second = ended(start("UserPromptSubmit", event(session_id="s2", prompt="open my editor, Helix")))

    output = json.loads(second)["hookSpecificOutput"]
    assert first == b""
    assert output["hookEventName"] == "UserPromptSubmit"
    assert "Helix" in output["additionalContext"]
    turns = read(home, lambda engram: [turn.content for turn in engram.turns(session="claude-code:s1")])
    assert turns == [prompt, "Helix it is."]
    until(lambda: part(home, engram_command))
    assert part(home, engram_command)["failures"] == 0


def test_two_hooks_at_once_keep_everything_once(home: Path, tmp_path: Path) -> None:
    """One event told twice and another beside it, on one store that none of them has made yet."""
    log = write(tmp_path / "s1.jsonl", [line("user", "I like tea", "u1"), line("assistant", "Good.", "a1")])
    stop = event(transcript_path=log)

    for hook in [start("Stop", stop), start("Stop", stop), start("Stop", {**stop, "session_id": "s2"})]:
        ended(hook)
    end = event(transcript_path=log)
    for hook in [start("SessionEnd", end), start("SessionEnd", {**end, "session_id": "s2"})]:
        ended(hook)

    assert read(home, lambda engram: len(engram.turns())) == 2


def test_nobody_waits_for_a_stop_to_be_kept(home: Path, engram_command: Command) -> None:
    """The agent goes on while the store is busy, nothing is late, and what was said is kept all the same."""
    engram_command("init")
    with closing(apsw.Connection(str(home / "memory.db"))) as other:
        other.execute("BEGIN IMMEDIATE")

        printed = ended(start("Stop", event(last_assistant_message="The boat is red.")))

        other.execute("ROLLBACK")
    assert printed == b""
    assert not (home / "hooks" / "failures.jsonl").exists()
    kept = until(lambda: read(home, lambda engram: [turn.content for turn in engram.turns()]))
    assert kept == ["The boat is red."]


@pytest.mark.parametrize(
    ("name", "told", "environment"),
    [
        ("SubagentStop", event(), {}),
        ("Stop", event(stop_hook_active=True), {}),
        ("UserPromptSubmit", event(prompt="hello"), {MARK: "1"}),
        ("PostToolUse", event(tool_name="Read", tool_input={"file_path": "/x"}), {}),
        ("UserPromptSubmit", event(prompt="hello", agent_id="sub"), {}),
        ("UserPromptSubmit", event(prompt="/compact"), {}),
    ],
)
def test_what_is_not_ours_to_hear_touches_nothing(
    home: Path, name: str, told: object, environment: dict[str, str]
) -> None:
    """Sub-agents, an agent that another hook drives on, runs inside a hook, and idle tools."""
    assert ended(start(name, told, **environment)) == b""
    assert not home.exists()


def test_a_locked_store_can_still_be_read_and_loses_nothing(home: Path, engram_command: Command) -> None:
    """The answer does not wait for whoever writes; what was said is kept as soon as the store is free."""
    engram_command("remember", "I use the Helix editor", "--category", "preference")
    with closing(apsw.Connection(str(home / "memory.db"))) as other:
        other.execute("BEGIN IMMEDIATE")
        hook = start("UserPromptSubmit", event(prompt="which editor?"))
        assert hook.stdout is not None

        answer = hook.stdout.readline()

        assert hook.poll() is None
        other.execute("ROLLBACK")
    ended(hook)
    assert b"Helix" in answer
    assert read(home, lambda engram: len(engram.turns())) == 1


def test_a_hook_that_is_too_late_keeps_nobody_and_loses_nothing(home: Path, engram_command: Command) -> None:
    """The agent goes on without memory; what was said is kept in the background, and `status` shows it."""
    engram_command("init")

    printed = ended(start("UserPromptSubmit", event(prompt="hello"), ENGRAM_HOOK_TIMEOUT_SECONDS="0.05"))

    failing = until(lambda: part(home, engram_command))
    assert printed == b""
    assert (failing["failures"], "not done in time" in failing["failure"]) == (1, True)
    until(lambda: read(home, lambda engram: engram.turns()))


def test_whatever_is_wrong_the_agent_goes_on_and_status_says_so(home: Path, engram_command: Command) -> None:
    """A malformed event, settings and a store that cannot be used are noted, by reason and by number."""
    engram_command("init")
    ended(start("Stop", b'{"session_id": "s1", "prompt": "my secret'))
    ended(start("Stop", event(), ENGRAM_POLICY="nonsense"))
    ended(start("UserPromptSubmit", event(prompt="hello"), "--store", "/nowhere/at/all.db"))

    failing = until(lambda: part(home, engram_command))

    assert (failing["failures"], failing["failure"][:5]) == (3, "E1007")
    assert "secret" not in json.dumps(failing)


@pytest.mark.parametrize("streams", [">&-", "<&- >&- 2>&-"])
def test_a_closed_stream_stops_nobody(home: Path, streams: str) -> None:
    """Some programs start hooks without a standard input or output at all."""
    shell = f"{shlex.join([*HOOK, 'Stop'])} {streams}"

    done = subprocess.run(["sh", "-c", shell], input=b"{}", capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert home


def test_an_answer_that_nobody_waits_for_is_no_complaint(home: Path, engram_command: Command) -> None:
    """An agent that was closed meanwhile has closed its end of the pipe."""
    engram_command("remember", "The red boat lies in Porto")
    reading, writing = os.pipe()
    os.close(reading)

    with os.fdopen(writing, "wb") as nobody:
        done = subprocess.run(
            [*HOOK, "UserPromptSubmit"],
            input=json.dumps(event(prompt="where is the red boat?")).encode(),
            stdout=nobody,
            stderr=subprocess.PIPE,
            env={**os.environ, "ENGRAM_HOOK_TIMEOUT_SECONDS": "25"},
            check=False,
        )

    assert (done.returncode, done.stderr) == (0, b"")
    assert until(lambda: read(home, lambda engram: engram.turns()))


@pytest.mark.parametrize("options", [("--home", "~nobody-of-this-name/x"), ("--home", "/dev/null/x")])
def test_a_home_that_cannot_be_stops_nobody(options: tuple[str, ...]) -> None:
    """There is not even a place to note it."""
    assert ended(start("Stop", event(), *options)) == b""


def test_an_event_that_does_not_end_is_not_waited_for(home: Path) -> None:
    """Whoever holds the other end of standard input open does not hold the agent."""
    with subprocess.Popen([*HOOK, "Stop"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"session_id": ')
        process.stdin.flush()

        assert process.wait(PATIENCE_SECONDS) == 0

    assert "did not end" in (home / "hooks" / "failures.jsonl").read_text(encoding="utf-8")


def test_a_hook_without_fork_keeps_its_time_too(home: Path) -> None:
    """Where the system has no fork, the process ends itself; what it was told is kept."""
    script = """
        import io, sys, time
        from engramdb.hooks.events import parse_arguments
        from engramdb.hooks.run import run
        call = parse_arguments(sys.argv[1:])
        run(call, sys.stdin.buffer, sys.stdout.buffer, can_fork=False)
    """
    lines = "\n".join(row.strip() for row in script.strip().splitlines())
    done = subprocess.run(
        [sys.executable, "-c", lines, "UserPromptSubmit"],
        input=json.dumps(event(prompt="hello")).encode(),
        capture_output=True,
        env={**os.environ, "ENGRAM_HOOK_TIMEOUT_SECONDS": "20"},
        check=False,
    )
    hasty = subprocess.run(
        [sys.executable, "-c", lines, "UserPromptSubmit"],
        input=json.dumps(event(prompt="again")).encode(),
        capture_output=True,
        env={**os.environ, "ENGRAM_HOOK_TIMEOUT_SECONDS": "0.01"},
        check=False,
    )

    assert (done.returncode, done.stderr, hasty.returncode, hasty.stderr) == (0, b"", 0, b"")
    assert read(home, lambda engram: [turn.content for turn in engram.turns()]) == ["hello"]
    assert "not done in time" in (home / "hooks" / "failures.jsonl").read_text(encoding="utf-8")


def test_a_hook_that_does_nothing_loads_nothing_heavy() -> None:
    """An agent uses tools all the time: passing one over takes a Python and little more."""
    script = "import sys; import engramdb.hooks.run; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    heavy = {"click", "numpy", "apsw", "engramdb.settings", "engramdb.values", "engramdb.engine"}
    assert not heavy & set(loaded.split())
