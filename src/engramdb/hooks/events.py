"""
Events of agent programs: one JSON object on standard input; and the programs that send them.

Read before anything heavy is loaded: imports nothing of the engine. Unknown fields are passed over, missing
or odd ones count as absent, and only what is no object at all is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from engramdb.hooks.project import chosen

SESSION_START: Final = "SessionStart"
PROMPT: Final = "UserPromptSubmit"
TOOL_USED: Final = "PostToolUse"
TOOL_FAILED: Final = "PostToolUseFailure"
"""How Claude Code calls a tool use that failed; nothing else is different."""
COMPACTING: Final = "PreCompact"
STOPPED: Final = "Stop"
SESSION_END: Final = "SessionEnd"
EVENTS: Final = (SESSION_START, PROMPT, TOOL_USED, COMPACTING, STOPPED, SESSION_END)
"""The events that something is done for, by the names of Claude Code; `program` has those of others."""
_MAX_SESSION_CHARACTERS = 128


class HookEvent(Struct, frozen=True, kw_only=True):
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
    summary: str = ""
    """What took the place of older messages, where the program tells it."""
    source: str = ""
    """How a session began: startup, resume, clear or compact."""
    tool: str = ""
    tool_use: str = ""
    tool_input: Mapping[str, Any] = field(default_factory=dict)
    tool_response: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    """What a tool that failed said, where the program tells of that by an event of its own."""
    is_interrupted: bool = False
    """Whether the person stopped the tool."""
    is_of_subagent: bool = False
    has_stopped_before: bool = False
    """Whether a hook of somebody has made the agent go on after it had stopped."""


class UnreadableEvent(ValueError):
    """Standard input held no event; the text says why and quotes nothing."""


def parse(raw: bytes, *, name: str) -> HookEvent:
    """Return the event; `name` is what the command line calls it, in our words, and wins."""
    try:
        told = json.loads(raw.decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError) as exc:
        raise UnreadableEvent("the event is not JSON in UTF-8") from exc
    if not isinstance(told, dict):
        raise UnreadableEvent("the event is not a JSON object")
    session = _text(told, "session_id")[:_MAX_SESSION_CHARACTERS]
    if not session:
        raise UnreadableEvent("the event names no session")
    return HookEvent(
        name=name,
        session=session,
        transcript=_text(told, "transcript_path"),
        folder=_text(told, "cwd"),
        prompt=_text(told, "prompt"),
        reply=_text(told, "last_assistant_message") or _text(told, "prompt_response"),
        moment=_text(told, "timestamp") or _text(told, "turn_id"),
        summary=_text(told, "summary"),
        source=_text(told, "source"),
        tool=_text(told, "tool_name"),
        tool_use=_text(told, "tool_use_id"),
        tool_input=_object(told, "tool_input"),
        # Codex tells the output of a command as it is
        tool_response=_object(told, "tool_response") or {"stdout": _text(told, "tool_response")},
        error=_text(told, "error"),
        is_interrupted=told.get("is_interrupt") is True,
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


# The programs whose hooks we are: what each calls its events, and what it expects of an entry.

HOOK_SECONDS: Final = 10
"""When a program ends a hook by force; our own limit comes long before."""


class AgentProgram(Struct, frozen=True, kw_only=True):
    """A program that calls hooks."""

    name: str
    """As `engram connect` calls it; the sessions of the program begin with it."""
    events: Mapping[str, str]
    """Its events that something is done for, each with the name that we know it by."""
    shell_tool: str
    """What it calls the tool that runs a command."""
    task_tools: tuple[str, ...] = ()
    """What it calls the tools that give a task to a helper."""
    timeout: int
    """`HOOK_SECONDS` in the unit of its settings."""
    is_named: bool = False
    """Whether its hooks have names, by which a person can switch them off."""
    begins_with_prompt: bool = False
    """
    Whether what stands is given with the first prompt: what Gemini CLI is given when a session begins is lost
    after /clear and in a resumed session, and comes back to us inside the prompt when it is run for one.
    """
    has_readable_log: bool = False
    """Whether an importer reads its session logs."""
    names_messages: bool = False
    """Whether an event names the message as an export of the session does."""
    tells_failures: bool = True
    """Whether it tells that a command failed; otherwise its output has to."""
    end_timeout: int | None = None
    """What it allows a hook at the end of a session, where that is less."""

    @property
    def matcher(self) -> str:
        """The tools that something is done for, as its settings name them; others start no process."""
        return "|".join((self.shell_tool, *self.task_tools))


CLAUDE_CODE: Final = AgentProgram(
    name="claude-code",
    events={**{name: name for name in EVENTS}, TOOL_FAILED: TOOL_USED},
    shell_tool="Bash",
    task_tools=("Task", "Agent"),
    timeout=HOOK_SECONDS,
    has_readable_log=True,
)
CODEX: Final = AgentProgram(
    name="codex",
    events={name: name for name in EVENTS},
    shell_tool="Bash",
    timeout=HOOK_SECONDS,
    has_readable_log=True,
    tells_failures=False,
    end_timeout=3,
)
GEMINI: Final = AgentProgram(
    name="gemini",
    # PreCompress is left out: it is told before every single call of the model, whether anything is
    # compressed or not.
    events={
        "SessionStart": SESSION_START,
        "BeforeAgent": PROMPT,
        "AfterTool": TOOL_USED,
        "AfterAgent": STOPPED,
        "SessionEnd": SESSION_END,
    },
    shell_tool="run_shell_command",
    timeout=HOOK_SECONDS * 1000,
    is_named=True,
    begins_with_prompt=True,
)
OPENCODE: Final = AgentProgram(
    name="opencode",
    # It has plugins in place of hooks; ours calls these events by the names of Claude Code.
    events={name: name for name in (SESSION_START, PROMPT, TOOL_USED, STOPPED)},
    shell_tool="bash",
    task_tools=("task",),
    timeout=HOOK_SECONDS,
    begins_with_prompt=True,
    names_messages=True,
)
PROGRAMS: Final[dict[str, AgentProgram]] = {one.name: one for one in (CLAUDE_CODE, CODEX, GEMINI, OPENCODE)}


# What the command line tells a hook: which event, which store, whose memories.

OPTIONS: Final = ("store", "home", "client", "project", "squad", "agent", "channel", "user")
SCOPE: Final = OPTIONS[3:]


class HookCall(Struct, frozen=True, kw_only=True):
    """One call of `engram hook`."""

    event: str = ""
    store: str | None = None
    home: str | None = None
    client: str = CLAUDE_CODE.name
    """The program that calls, as `engram connect` names it."""
    project: str | None = None
    squad: str | None = None
    agent: str | None = None
    channel: str | None = None
    user: str | None = None

    def scope_in(self, folder: str) -> dict[str, str | None]:
        """Return the parts of the scope by name, for an agent that works in this folder."""
        named = {name: getattr(self, name) for name in SCOPE}
        return {**named, "project": chosen(self.project, folder)}


def parse_arguments(words: Sequence[str]) -> HookCall:
    """Return the call that these words make: `EVENT --store PATH --user NAME`."""
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in OPTIONS:
            options[name] = value if has_value else next(rest, "")
        elif not word.startswith("-"):
            options.setdefault("event", word)
    return HookCall(**{name: value for name, value in options.items() if value})
