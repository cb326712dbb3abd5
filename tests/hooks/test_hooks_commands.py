"""What the hooks make of commands and helpers: lessons at once, and procedures and stories in a dream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Settings
from engramdb.capture.actions import COMMAND, TASK, TOOL
from engramdb.hooks import filters, respond
from engramdb.hooks.events import CLAUDE_CODE, CODEX, PROGRAMS, parse
from engramdb.hooks.run import is_wanted
from engramdb.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb import Memory


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock()


@pytest.fixture
def memory(home: Path, clock: ManualClock) -> Iterator[Engram]:
    """A memory in the person's home, as hooks open it."""
    settings = Settings(home=home, embedder="static")
    with Engram.open(settings=settings, clock=clock, background=False) as opened:
        yield opened


class Terminal:
    """An agent at work: sends the events that Claude Code sends for its commands."""

    def __init__(self, memory: Engram, home: Path, clock: ManualClock) -> None:
        self._memory, self._home, self._clock = memory, home, clock
        self._used = 0
        self.session = "s1"

    def send(self, event: str, **told: object) -> None:
        """Let an event be kept and learned from."""
        self._clock.advance(minutes=1)
        raw = json.dumps({"session_id": self.session, "cwd": "/w/shop", "hook_event_name": event, **told})
        read = parse(raw.encode(), name=CLAUDE_CODE.events[event])
        if not is_wanted(read, CLAUDE_CODE):
            return
        visit = respond.HookVisit(engram=self._memory, settings=Settings(home=self._home), event=read)
        respond.afterwards(visit, respond.keep(visit))

    def ran(self, command: str, output: str = "", *, failed: bool = False, tool: str = "Bash") -> None:
        """Tell of a command."""
        self._used += 1
        about: dict[str, Any] = {"tool_name": tool, "tool_input": {"command": command}}
        about["tool_use_id"] = f"{self.session}-{self._used}"
        if failed:
            self.send("PostToolUseFailure", **about, error=f"Exit code 1\n{output}", is_interrupt=False)
        else:
            self.send("PostToolUse", **about, tool_response={"stdout": output, "stderr": ""})

    def helped(self, task: str, said: str) -> None:
        """Tell that a helper is back."""
        self._used += 1
        self.send(
            "PostToolUse",
            tool_name="Agent",
            tool_use_id=f"{self.session}-{self._used}",
            tool_input={"description": task, "prompt": "…"},
            tool_response={"content": [{"type": "text", "text": said}]},
        )


@pytest.fixture
def terminal(memory: Engram, home: Path, clock: ManualClock) -> Terminal:
    """An agent in a session."""
    return Terminal(memory, home, clock)


def made_by(memory: Engram, extractor: str) -> list[Memory]:
    """Return what an extractor has stated, oldest first."""
    return [one for one in reversed(memory.list(limit=100)) if (one.extractor or "").startswith(extractor)]


def test_a_command_that_failed_and_then_worked_is_a_lesson(memory: Engram, terminal: Terminal) -> None:
    """In the words of the shell, by the assistant, with both runs as evidence; told twice it is one."""
    terminal.ran("pip install httpx", "error: externally managed", failed=True)
    terminal.ran("ls", "app.py")
    terminal.ran("uv pip install httpx", "Installed 1 package")

    (lesson,) = made_by(memory, COMMAND)
    assert lesson.content == (
        "`uv pip install httpx` worked after `pip install httpx` failed: error: externally managed"
    )
    assert (lesson.provenance.source, lesson.layer, lesson.type) == ("assistant", "procedural", "procedure")
    assert len(lesson.provenance.turns) == 2


def test_a_command_of_another_session_resolves_nothing(memory: Engram, terminal: Terminal) -> None:
    """What failed there failed for reasons of its own."""
    terminal.ran("pip install httpx", "error: no", failed=True)
    terminal.session = "s2"
    terminal.ran("uv pip install httpx", "Installed 1 package")

    assert made_by(memory, COMMAND) == []


def test_looking_around_leaves_nothing(memory: Engram, terminal: Terminal) -> None:
    """Neither a turn nor a memory, and no engine is opened for it."""
    terminal.ran("git status && rg -n TODO | head", "x")
    terminal.ran("cat missing", "No such file", failed=True)
    terminal.ran("vim", tool="Edit")

    assert (memory.turns(), memory.list()) == ([], [])


def test_the_line_of_a_command_holds_no_secret(memory: Engram, terminal: Terminal) -> None:
    """Neither by its name nor by its form."""
    terminal.ran("git tag v2 && echo ghp_16C7e42F292c6912E7710c838347Ae178B4a", "")
    terminal.ran("TOKEN=abc123 npm publish", "ok")
    terminal.ran("git push https://maya:hunter2@host/x", "main -> main")

    assert [turn.content for turn in memory.turns()] == [
        "Ran `git tag v2 && echo …`",
        "Ran `TOKEN=… npm publish`: ok",
        "Ran `git push https://…@host/x`: main -> main",
    ]
    assert not any("hunter2" in one.content or "abc123" in one.content for one in memory.list())


def test_what_recurs_in_sessions_becomes_a_procedure(
    memory: Engram, terminal: Terminal, clock: ManualClock
) -> None:
    """Nobody called a library: three sessions of commands, and a dream."""
    for number in range(3):
        terminal.session = f"s{number}"
        terminal.ran("git pull", "Already up to date")
        terminal.ran(f"just t part{number}", "ok. 8 passed")
        terminal.ran("grep -n x y", "1")
        terminal.ran(f"git commit -qam 'part {number}'", f"[main {number}] part")
        terminal.ran("gh pr create --fill", f"https://github.example/pull/{number}")
        clock.advance(days=2)

    memory.dream(steps=["procedures"])

    (procedure,) = made_by(memory, "dream.procedures")
    assert procedure.content == (
        "Procedure for “`gh pr create`”: 1. `git pull`; 2. `just t`; 3. `git commit`; 4. `gh pr create`"
    )
    assert procedure.successes == 3


def test_a_deployment_that_failed_first_is_told_with_its_lesson(
    memory: Engram, terminal: Terminal, clock: ManualClock
) -> None:
    """A week after the session its work is a story, and the failure before the success is learned from."""
    terminal.ran("make deploy", "Error: the image is not signed", failed=True)
    terminal.ran("make deploy SIGN=1", "deployed 4 pods")
    terminal.helped("Check the dashboards", "All green after the rollout, latency at 80 ms.")
    clock.advance(days=8)

    memory.dream(steps=["crystals"])

    (story,), (lesson,) = made_by(memory, "dream.crystals"), made_by(memory, "dream.lessons")
    assert "2 tasks, 2 succeeded" in story.content
    assert "All green after the rollout" in story.content
    assert "the image is not signed" in lesson.content
    assert "`make deploy SIGN=1`" in lesson.content


def test_records_of_runs_are_put_before_no_prompt(memory: Engram, terminal: Terminal, home: Path) -> None:
    """They are there to be counted and told; what they taught is given."""
    terminal.ran("pytest tests/harbor", "E   no such fixture: harbor", failed=True)
    terminal.ran("uv run pytest tests/harbor", "3 passed")
    terminal.ran("git commit -qam 'harbor tests'", "[main 1] harbor tests")
    asked = {"session_id": "s9", "prompt": "run pytest on the harbor tests and git commit"}
    event = parse(json.dumps(asked).encode(), name="UserPromptSubmit")

    block = respond.answer(respond.HookVisit(engram=memory, settings=Settings(home=home), event=event))

    assert {TASK, TOOL} < {one.extractor for one in memory.list()}
    assert [line for line in block.splitlines() if line.startswith("- ")] == [
        line for line in block.splitlines() if "`uv run pytest tests/harbor` worked after" in line
    ]
    assert "worked" in block


def test_codex_tells_no_exit_code_and_a_failure_is_known_by_its_output() -> None:
    """Its output is a plain text."""
    told = {"session_id": "c", "tool_name": "Bash", "tool_input": {"command": "cargo build"}}
    event = parse(
        json.dumps({**told, "tool_response": "error[E0308]: mismatched types"}).encode(), name="PostToolUse"
    )

    assert [getattr(filters.command_run(event, one), "is_failed", None) for one in (CODEX, CLAUDE_CODE)] == [
        True,
        False,
    ]


def test_every_program_that_has_hooks_is_asked_for_its_shell() -> None:
    """And Claude Code for its helpers; of other tools no process is started."""
    matchers = {name: PROGRAMS[name].matcher for name in ("claude-code", "codex", "gemini")}

    assert matchers == {
        "claude-code": "Bash|Task|Agent",
        "codex": "Bash",
        "gemini": "run_shell_command",
    }
