"""
The hooks of Gemini CLI, with events in the shapes that the program itself sent: docs/lab/0031.

It tells a prompt and a reply in the event, a command's outcome as its model sees it, and names no event; what
it is given when a session begins does not always arrive.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Settings
from engramdb.hooks import filters, respond
from engramdb.hooks.events import GEMINI, parse

from .test_hooks_process import ended, read, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION = "gemini:g1"
SHOWN = "<hook_context>&lt;memories&gt;\n- user: I use Helix\n&lt;/memories&gt;</hook_context>\n\n"


@pytest.fixture
def memory(home: Path) -> Iterator[Engram]:
    """A memory in the person's home, as hooks open it."""
    with Engram.open(settings=Settings(home=home, embedder="static"), background=False) as opened:
        yield opened


def told(name: str, second: int, **more: object) -> dict[str, Any]:
    """Return an event as Gemini CLI 0.61 tells it."""
    return {
        "session_id": "g1",
        "transcript_path": "/home/maya/.gemini/tmp/shop/chats/session-2026-11-15T18-20-g1.jsonl",
        "cwd": "/w/shop",
        "hook_event_name": name,
        "timestamp": f"2026-11-15T18:20:{second:02}.198Z",
        **more,
    }


def ran(command: str, *shown: str, output: str) -> dict[str, Any]:
    """Return the fields that tell of a command: what the model was shown, and what the person was."""
    lines = [f"Output: {output}", *shown, "Process Group PGID: 19780"]
    return {
        "tool_name": "run_shell_command",
        "tool_input": {"command": command, "description": "as asked"},
        "tool_response": {
            "llmContent": "\n".join(["<untrusted_context>", *lines, "</untrusted_context>"]),
            "returnDisplay": output,
        },
    }


def visit(memory: Engram, home: Path, name: str, second: int = 0, **more: object) -> respond.HookVisit:
    """Return an event of Gemini CLI at this memory."""
    raw = json.dumps(told(name, second, **more)).encode()
    event = parse(raw, name=GEMINI.events[name])
    return respond.HookVisit(engram=memory, settings=Settings(home=home), event=event, program=GEMINI)


def test_a_session_is_kept_as_it_was_told(memory: Engram, home: Path) -> None:
    """Known by its moment: an event that is told twice adds nothing, the same words said later do."""
    happened = [
        ("BeforeAgent", {"prompt": "Use Helix, and commit"}),
        ("AfterTool", ran("git commit -m boats", output="[main 1a2b] boats")),
        ("AfterAgent", {"prompt": "Use Helix, and commit", "prompt_response": "It is done."}),
        ("BeforeAgent", {"prompt": "Use Helix, and commit"}),
        ("AfterTool", ran("git commit -m boats", output="[main 1a2b] boats")),
    ]

    for _ in range(2):
        for second, (name, more) in enumerate(happened):
            respond.keep(visit(memory, home, name, second, **more))

    said, did = ("user", "Use Helix, and commit"), ("tool", "Ran `git commit -m boats`: [main 1a2b] boats")
    turns = [(str(turn.role), turn.content) for turn in memory.turns(session=SESSION)]
    assert turns == [said, did, ("assistant", "It is done."), said, did]


def test_what_stands_comes_with_the_first_prompt(memory: Engram, home: Path) -> None:
    """Once, until the session is cleared; a resumed one has it in its conversation."""
    memory.remember("Always answer in French", category="principle", importance=1.0, pinned=True)
    given = {}

    for source in ("startup", "resume", "clear"):
        begun = respond.answer(visit(memory, home, "SessionStart", source=source))
        first = respond.answer(visit(memory, home, "BeforeAgent", prompt="hello there"))
        second = respond.answer(visit(memory, home, "BeforeAgent", prompt="hello again"))
        given[source] = [begun.count("French"), first.count("French"), second.count("French")]

    assert given == {"startup": [0, 1, 0], "resume": [0, 0, 0], "clear": [0, 1, 0]}


def test_a_resumed_session_that_was_given_nothing_yet_gets_what_stands(memory: Engram, home: Path) -> None:
    """Such as one from before the program was connected."""
    memory.remember("Always answer in French", category="principle", importance=1.0, pinned=True)

    respond.answer(visit(memory, home, "SessionStart", source="resume"))

    assert "French" in respond.answer(visit(memory, home, "BeforeAgent", prompt="hello there"))


def test_what_a_prompt_was_given_is_not_heard_as_said(memory: Engram, home: Path) -> None:
    """Run for a single prompt, the program tells it with the context of the session's beginning before it."""
    respond.keep(visit(memory, home, "BeforeAgent", prompt=f"{SHOWN}Which editor?"))

    assert [turn.content for turn in memory.turns(session=SESSION)] == ["Which editor?"]
    assert filters.without_memories("what is a hook_context?") == "what is a hook_context?"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (ran("git push", output="main -> main"), "Ran `git push`: main -> main"),
        (ran("git push", output="(empty)") | {"tool_name": "read_file"}, None),
        (
            ran("git commit", "Exit Code: 1", output="nothing to commit"),
            "`git commit` failed: nothing to commit",
        ),
        (
            ran("git commit -m 'Exit Code: 1'", output="Exit Code: 1 is named\n[main 1a2b] x"),
            "Ran `git commit -m 'Exit Code: 1'`: [main 1a2b] x",
        ),
        (ran("ls", output="boat.txt"), None),
    ],
)
def test_a_command_that_failed_is_told_as_such(fields: dict[str, Any], told: str | None) -> None:
    """The exit code stands behind the output, and only when it is not 0."""
    event = parse(json.dumps({"session_id": "g1", **fields}).encode(), name="PostToolUse")

    run = filters.command_run(event, GEMINI)

    assert (None if run is None else run.told) == told


def test_what_is_shown_for_debugging_is_not_the_outcome() -> None:
    """With --debug the person is shown what the model is: numbers of processes behind the output."""
    shown = {
        "tool_name": "run_shell_command",
        "tool_input": {"command": "git tag v1"},
        "tool_response": {"returnDisplay": "Output: [main 1a2b] boats\nProcess Group PGID: 19780"},
    }
    event = parse(json.dumps({"session_id": "g1", **shown}).encode(), name="PostToolUse")

    run = filters.command_run(event, GEMINI)

    assert run is not None
    assert run.told == "Ran `git tag v1`: [main 1a2b] boats"


def test_a_compression_that_may_never_happen_starts_no_process() -> None:
    """The program tells of one before every single call of its model."""
    assert "PreCompress" not in GEMINI.events


def test_the_program_is_answered_in_its_own_words(home: Path) -> None:
    """The event is called as the program calls it, and an unknown program is let pass."""
    with Engram.open(settings=Settings(home=home, embedder="static"), background=False) as engram:
        engram.remember("I use the Helix editor", category="preference")
    asked = told("BeforeAgent", 1, prompt="which editor do I use, Helix?")

    answer = ended(start("BeforeAgent", asked, "--client", "gemini"))
    unknown = ended(start("BeforeAgent", asked, "--client", "newer-than-we-are"))
    unnamed = ended(start("BeforeAgent", asked))

    output = json.loads(answer)["hookSpecificOutput"]
    assert output["hookEventName"] == "BeforeAgent"
    assert "Helix" in output["additionalContext"]
    assert (unknown, unnamed) == (b"", b"")
    assert read(home, lambda engram: [turn.session for turn in engram.turns()]) == [SESSION]
