"""
Agent programs as far as hooks see them: the events that each sends while a person works with it.

Used by `sessions`. The shapes are those that the real programs sent (docs/lab/0031 and 0032); a log is
written where the program writes one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

Step: TypeAlias = Mapping[str, Any]
"""One of `prompt`, `tool` and `reply`, as the data has it."""
ToldEvent: TypeAlias = tuple[str, dict[str, Any]]
"""What the program calls the event, and what it sends."""


class ClaudeCode:
    """One session of Claude Code, with its log."""

    client = "claude-code"

    def __init__(self, session: str, folder: Path) -> None:
        self._log = folder / f"{session}.jsonl"
        self._about = {"session_id": session, "cwd": "/home/dev/code", "permission_mode": "default"}
        self._lines = 0

    def start(self) -> ToldEvent:
        """Return how a session begins."""
        return "SessionStart", self._told("SessionStart", source="startup")

    def prompt(self, text: str, at: datetime) -> ToldEvent:
        """Return a prompt: the event comes before the log has it."""
        told = "UserPromptSubmit", self._told("UserPromptSubmit", prompt=text)
        self._write("user", text, at)
        return told

    def step(self, step: Step, at: datetime) -> Iterator[ToldEvent]:
        """Yield what a step of a session makes the program send."""
        if "prompt" in step:
            yield self.prompt(step["prompt"], at)
        elif "reply" in step:
            self._write("assistant", [{"type": "text", "text": step["reply"]}], at)
            yield (
                "Stop",
                self._told("Stop", stop_hook_active=False, last_assistant_message=step["reply"]),
            )
        else:
            yield self._ran(step["tool"], at)

    def end(self) -> ToldEvent:
        """Return how a session ends."""
        return "SessionEnd", self._told("SessionEnd", reason="prompt_input_exit")

    def _ran(self, tool: Mapping[str, Any], at: datetime) -> ToldEvent:
        use = f"toolu_{self._lines:03}"
        asked = {"type": "tool_use", "id": use, "name": "Bash", "input": {"command": tool["command"]}}
        self._write("assistant", [asked], at)
        output = f"Exit code 1\n{tool['stdout']}" if tool["failed"] else tool["stdout"]
        result = {"type": "tool_result", "tool_use_id": use, "content": output, "is_error": tool["failed"]}
        self._write("user", [result], at)
        told = {"tool_name": "Bash", "tool_input": {"command": tool["command"]}, "tool_use_id": use}
        if tool["failed"]:
            name = "PostToolUseFailure"
            return name, self._told(name, **told, error=output, is_interrupt=False)
        response = {"stdout": tool["stdout"], "stderr": "", "interrupted": False, "isImage": False}
        return "PostToolUse", self._told("PostToolUse", **told, tool_response=response)

    def _told(self, name: str, **more: Any) -> dict[str, Any]:
        return {**self._about, "transcript_path": str(self._log), "hook_event_name": name, **more}

    def _write(self, role: str, content: object, at: datetime) -> None:
        self._lines += 1
        session = self._about["session_id"]
        line = {
            "type": role,
            "sessionId": session,
            "uuid": f"{session}-{self._lines:04}",
            "timestamp": at.isoformat(),
            "cwd": self._about["cwd"],
            "message": {"role": role, "content": content},
        }
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


class Codex:
    """One session of Codex: an output is a text, whether a command failed is not told, turns have ids."""

    client = "codex"

    def __init__(self, session: str, folder: Path) -> None:
        self._log = folder / f"rollout-2026-01-01T00-00-00-{session}.jsonl"
        self._session = session
        self._turn = self._lines = 0
        self._write("session_meta", {"id": session}, datetime(2026, 1, 1))  # noqa: DTZ001 - of the head only

    def start(self) -> ToldEvent:
        """Return how a session begins."""
        return "SessionStart", self._told("SessionStart", source="startup")

    def prompt(self, text: str, at: datetime) -> ToldEvent:
        """Return a prompt: the event comes before the log has it."""
        self._turn += 1
        told = "UserPromptSubmit", self._told("UserPromptSubmit", prompt=text)
        self._say("user", text, at)
        return told

    def step(self, step: Step, at: datetime) -> Iterator[ToldEvent]:
        """Yield what a step of a session makes the program send."""
        if "prompt" in step:
            yield self.prompt(step["prompt"], at)
        elif "reply" in step:
            self._say("assistant", step["reply"], at)
            yield (
                "Stop",
                self._told("Stop", stop_hook_active=False, last_assistant_message=step["reply"]),
            )
        else:
            tool = step["tool"]
            self._lines += 1
            yield (
                "PostToolUse",
                self._told(
                    "PostToolUse",
                    tool_name="Bash",
                    tool_use_id=f"call_{self._session}_{self._lines}",
                    tool_input={"command": tool["command"]},
                    tool_response=tool["stdout"],
                ),
            )

    def end(self) -> ToldEvent:
        """Return how a session ends."""
        return "SessionEnd", self._told("SessionEnd", reason="other")

    def _told(self, name: str, **more: Any) -> dict[str, Any]:
        about = {"session_id": self._session, "cwd": "/home/dev/code", "model": "a-model"}
        turn = {"turn_id": f"{self._session}-t{self._turn}"} if self._turn else {}
        return {**about, **turn, "transcript_path": str(self._log), "hook_event_name": name, **more}

    def _say(self, role: str, text: str, at: datetime) -> None:
        form = "output_text" if role == "assistant" else "input_text"
        kinds = ["user.text" if role == "user" else "unknown"]
        message = {
            "type": "message",
            "id": f"msg_{self._session}_{self._lines}",
            "role": role,
            "content": [{"type": form, "text": text}],
            "internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds},
        }
        self._write("response_item", message, at)

    def _write(self, kind: str, payload: object, at: datetime) -> None:
        self._lines += 1
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"timestamp": at.isoformat(), "type": kind, "payload": payload}) + "\n")


class Gemini:
    """One session of Gemini CLI: no log that is read, events known by their moment."""

    client = "gemini"

    def __init__(self, session: str, _folder: Path) -> None:
        self._session = session
        self._events = 0
        self._asked = ""

    def start(self) -> ToldEvent:
        """Return how a session begins."""
        return "SessionStart", self._told("SessionStart", source="startup")

    def prompt(self, text: str, _at: datetime) -> ToldEvent:
        """Return a prompt."""
        self._asked = text
        return "BeforeAgent", self._told("BeforeAgent", prompt=text)

    def step(self, step: Step, at: datetime) -> Iterator[ToldEvent]:
        """Yield what a step of a session makes the program send."""
        if "prompt" in step:
            yield self.prompt(step["prompt"], at)
        elif "reply" in step:
            said = {"prompt": self._asked, "prompt_response": step["reply"]}
            yield "AfterAgent", self._told("AfterAgent", **said)
        else:
            yield "AfterTool", self._told("AfterTool", **self._ran(step["tool"]))

    def end(self) -> ToldEvent:
        """Return how a session ends."""
        return "SessionEnd", self._told("SessionEnd", reason="exit")

    def _ran(self, tool: Mapping[str, Any]) -> dict[str, Any]:
        code = ["Exit Code: 1"] if tool["failed"] else []
        shown = [f"Output: {tool['stdout']}", *code, "Process Group PGID: 19780"]
        return {
            "tool_name": "run_shell_command",
            "tool_input": {"command": tool["command"], "description": "as asked"},
            "tool_response": {"llmContent": "\n".join(shown), "returnDisplay": tool["stdout"]},
        }

    def _told(self, name: str, **more: Any) -> dict[str, Any]:
        self._events += 1
        moment = f"2026-01-01T00:{self._events // 60:02}:{self._events % 60:02}.000Z"
        about = {"session_id": self._session, "transcript_path": "", "cwd": "/home/dev/code"}
        return {**about, "hook_event_name": name, "timestamp": moment, **more}


class OpenCode:
    """One session of opencode, as our plugin tells it."""

    client = "opencode"

    def __init__(self, session: str, _folder: Path) -> None:
        self._session = session
        self._events = 0

    def start(self) -> ToldEvent:
        """Return how a session begins: nothing is told of it, so this event has no name that is known."""
        return "session.created", {}

    def prompt(self, text: str, _at: datetime) -> ToldEvent:
        """Return a prompt."""
        return "UserPromptSubmit", self._told(prompt=text)

    def step(self, step: Step, at: datetime) -> Iterator[ToldEvent]:
        """Yield what a step of a session makes the plugin send."""
        if "prompt" in step:
            yield self.prompt(step["prompt"], at)
        elif "reply" in step:
            yield "Stop", self._told(last_assistant_message=step["reply"])
        else:
            tool = step["tool"]
            response = {"stdout": tool["stdout"], "content": tool["stdout"], "exit_code": int(tool["failed"])}
            used = {"tool_name": "bash", "tool_input": {"command": tool["command"]}}
            told = self._told(**used, tool_response=response)
            yield "PostToolUse", {**told, "tool_use_id": f"call_{told['turn_id']}"}

    def end(self) -> ToldEvent:
        """Return how a session ends: as it begins."""
        return "session.idle", {}

    def _told(self, **more: Any) -> dict[str, Any]:
        self._events += 1
        message = f"msg_{self._session}_{self._events:03}"
        return {"session_id": self._session, "cwd": "/home/dev/code", "turn_id": message, **more}


PROGRAM_DOUBLES = {one.client: one for one in (ClaudeCode, Codex, Gemini, OpenCode)}
