"""The hooks of Codex: events and logs as Codex 0.166 told and wrote them in real runs, with our own words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Settings
from engramdb.hooks import filters, respond
from engramdb.hooks.events import CODEX, parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.hooks.events import HookEvent

COMMON = {
    "session_id": "cx-1",
    "cwd": "/w/harvest",
    "model": "a-model",
    "permission_mode": "bypassPermissions",
}


@pytest.fixture
def memory(home: Path) -> Iterator[Engram]:
    """A memory in the person's home, as hooks open it."""
    with Engram.open(settings=Settings(home=home, embedder="static"), background=False) as opened:
        yield opened


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where Codex keeps the log of the session."""
    return tmp_path / "rollout-2026-11-15T18-22-18-cx-1.jsonl"


def told(name: str, **more: object) -> HookEvent:
    """Return an event as Codex tells it."""
    return parse(json.dumps({**COMMON, "hook_event_name": name, **more}).encode(), name=name)


def keep(memory: Engram, home: Path, event: HookEvent) -> list[str]:
    """Let an event be kept, and return the words that are new."""
    visit = respond.HookVisit(engram=memory, settings=Settings(home=home), event=event, program=CODEX)
    return [turn.content for turn in respond.keep(visit)]


def said(role: str, words: str, number: int, kind: str = "user.text") -> dict[str, Any]:
    """Return a message as the log has it."""
    form = "output_text" if role == "assistant" else "input_text"
    about = {"turn_id": "t", "content_item_kinds": [kind if role == "user" else "unknown"]}
    return {
        "timestamp": f"2026-11-15T18:22:{number:02}.000Z",
        "ordinal": number,
        "type": "response_item",
        "payload": {
            "type": "message",
            "id": f"msg_{number}",
            "role": role,
            "content": [{"type": form, "text": words}],
            "internal_chat_message_metadata_passthrough": about,
        },
    }


def write(log: Path, *lines: dict[str, Any]) -> None:
    """Write the log anew: its head, what the program puts in, and these lines."""
    head = {"timestamp": "2026-11-15T18:22:00.000Z", "type": "session_meta", "payload": {"id": "cx-1"}}
    rules = said("user", "# House rules", 1, kind="agents_md.instructions")
    log.write_text("".join(json.dumps(one) + "\n" for one in (head, rules, *lines)), encoding="utf-8")


def test_a_turn_is_kept_once_by_hooks_and_import_together(memory: Engram, home: Path, log: Path) -> None:
    """The event tells a prompt before the log does, and an import of the log later adds nothing."""
    path = str(log)
    write(log)
    first = keep(
        memory, home, told("UserPromptSubmit", turn_id="t1", prompt="I moved to Lisbon", transcript_path=path)
    )
    write(log, said("user", "I moved to Lisbon", 2), said("assistant", "Noted.", 3))
    stop = told("Stop", turn_id="t1", last_assistant_message="Noted.", transcript_path=path)

    second, again = keep(memory, home, stop), keep(memory, home, stop)
    imported = memory.import_from(log)

    assert (first, second, again) == (["I moved to Lisbon"], ["Noted."], [])
    assert (imported.turns, imported.already) == (0, 2)
    assert [turn.content for turn in memory.turns(session="codex:cx-1")] == ["I moved to Lisbon", "Noted."]


def test_prompts_of_one_session_are_told_apart_by_their_turns(memory: Engram, home: Path, log: Path) -> None:
    """Lines of this log have no names that a prompt could follow, and a session may even have no log."""
    for turn in ("t1", "t2"):
        keep(
            memory,
            home,
            told("UserPromptSubmit", turn_id=turn, prompt=f"Plan {turn}", transcript_path=None),
        )

    assert [turn.content for turn in memory.turns(session="codex:cx-1")] == ["Plan t1", "Plan t2"]


def test_a_yes_to_two_questions_is_two_turns_of_codex(memory: Engram, home: Path, log: Path) -> None:
    """The same words in another turn are said anew, also when the log tells them again."""
    path, lines = str(log), list[dict[str, Any]]()
    for number, reply in enumerate(("Deployed.", "Tagged."), start=1):
        write(log, *lines)
        turn = {"turn_id": f"t{number}", "transcript_path": path}
        keep(memory, home, told("UserPromptSubmit", prompt="yes", **turn))
        lines += [said("user", "yes", 10 * number), said("assistant", reply, 10 * number + 1)]
        write(log, *lines)
        keep(memory, home, told("Stop", last_assistant_message=reply, **turn))

    kept = [turn.content for turn in memory.turns(session="codex:cx-1")]

    assert kept == ["yes", "Deployed.", "yes", "Tagged."]


def test_what_a_prompt_was_not_told_of_is_caught_up_from_the_log(
    memory: Engram, home: Path, log: Path
) -> None:
    """Such as words that were typed while the agent was at work."""
    write(log, said("user", "Water at noon", 2), said("user", "And at dusk", 3), said("assistant", "Yes.", 4))

    kept = keep(memory, home, told("Stop", turn_id="t1", transcript_path=str(log)))

    assert kept == ["Water at noon", "And at dusk", "Yes."]


def test_the_output_of_a_command_is_told_as_plain_text() -> None:
    """Where other programs tell an object with two streams."""
    event = told(
        "PostToolUse",
        turn_id="t1",
        tool_name="Bash",
        tool_use_id="c1",
        tool_input={"command": "git commit -m 'Add the pump'"},
        tool_response="[main 96ad47b] Add the pump\n",
    )

    run = filters.command_run(event, CODEX)

    assert run is not None
    assert run.told == "Ran `git commit -m 'Add the pump'`: [main 96ad47b] Add the pump"


def test_a_helper_of_the_agent_is_not_heard() -> None:
    """Its events name it."""
    event = told("Stop", turn_id="t1", agent_id="01a1", agent_type="explorer")

    assert event.is_of_subagent
