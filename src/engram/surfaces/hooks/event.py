"""
An event as a program tells it: one JSON object on standard input.

Read by `run` before anything heavy is loaded; knows nothing of the engine. Fields that are unknown are
passed over, fields that are missing or odd count as absent, and only what is no object at all is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SESSION_START: Final = "SessionStart"
PROMPT: Final = "UserPromptSubmit"
TOOL_USED: Final = "PostToolUse"
COMPACTING: Final = "PreCompact"
STOPPED: Final = "Stop"
SESSION_END: Final = "SessionEnd"
EVENTS: Final = (SESSION_START, PROMPT, TOOL_USED, COMPACTING, STOPPED, SESSION_END)
"""The events that something is done for, by the names of Claude Code; `program` has those of others."""
_MOST_SESSION_CHARACTERS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened, in which session."""

    name: str
    session: str
    transcript: str = ""
    folder: str = ""
    prompt: str = ""
    reply: str = ""
    """The last words of the agent, where the program tells them itself."""
    moment: str = ""
    """When or in which turn it happened: what an event without a name of its own is known by."""
    source: str = ""
    """How a session began: startup, resume, clear or compact."""
    tool: str = ""
    tool_use: str = ""
    tool_input: Mapping[str, Any] = field(default_factory=dict)
    tool_response: Mapping[str, Any] = field(default_factory=dict)
    is_of_subagent: bool = False
    has_stopped_before: bool = False
    """Whether a hook of somebody has made the agent go on after it had stopped."""


class UnreadableEvent(ValueError):
    """Standard input held no event; the text says why and quotes nothing."""


def parse(raw: bytes, *, name: str) -> Event:
    """Return the event; `name` is what the command line calls it, in our words, and wins."""
    try:
        told = json.loads(raw.decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError) as exc:
        raise UnreadableEvent("the event is not JSON in UTF-8") from exc
    if not isinstance(told, dict):
        raise UnreadableEvent("the event is not a JSON object")
    session = _text(told, "session_id")[:_MOST_SESSION_CHARACTERS]
    if not session:
        raise UnreadableEvent("the event names no session")
    return Event(
        name=name,
        session=session,
        transcript=_text(told, "transcript_path"),
        folder=_text(told, "cwd"),
        prompt=_text(told, "prompt"),
        reply=_text(told, "last_assistant_message") or _text(told, "prompt_response"),
        moment=_text(told, "timestamp") or _text(told, "turn_id"),
        source=_text(told, "source"),
        tool=_text(told, "tool_name"),
        tool_use=_text(told, "tool_use_id"),
        tool_input=_object(told, "tool_input"),
        # Codex tells the output of a command as it is
        tool_response=_object(told, "tool_response") or {"stdout": _text(told, "tool_response")},
        is_of_subagent=bool(_text(told, "agent_id")),
        has_stopped_before=told.get("stop_hook_active") is True,
    )


def _text(told: Mapping[str, Any], name: str) -> str:
    """Return a text that can be stored: half a surrogate pair cannot."""
    value = told.get(name)
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _object(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = told.get(name)
    return value if isinstance(value, dict) else {}
