"""
The programs whose hooks we are: what each calls its events, and what it expects of an entry.

Asked by `run` at every event and by `connect` when it writes entries; loads nothing. All tell an event as one
JSON object with the same names for session, folder and prompt, so that the rest of the hooks know one
vocabulary. As the programs themselves behaved when they were run, not as documented: docs/lab/0031.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engram.surfaces.hooks import event as events

if TYPE_CHECKING:
    from collections.abc import Mapping

HOOK_SECONDS: Final = 10
"""When a program ends a hook by force; our own limit comes long before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that calls hooks."""

    name: str
    """As `engram connect` calls it; the sessions of the program begin with it."""
    events: Mapping[str, str]
    """Its events that something is done for, each with the name that we know it by."""
    shell_tool: str
    """What it calls the tool that runs a command."""
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
    end_timeout: int | None = None
    """What it allows a hook at the end of a session, where that is less."""


CLAUDE_CODE: Final = Program(
    name="claude-code",
    events={name: name for name in events.EVENTS},
    shell_tool="Bash",
    timeout=HOOK_SECONDS,
    has_readable_log=True,
)
CODEX: Final = Program(
    name="codex",
    events={name: name for name in events.EVENTS},
    shell_tool="Bash",
    timeout=HOOK_SECONDS,
    has_readable_log=True,
    end_timeout=3,
)
GEMINI: Final = Program(
    name="gemini",
    # PreCompress is left out: it is told before every single call of the model, whether anything is
    # compressed or not.
    events={
        "SessionStart": events.SESSION_START,
        "BeforeAgent": events.PROMPT,
        "AfterTool": events.TOOL_USED,
        "AfterAgent": events.STOPPED,
        "SessionEnd": events.SESSION_END,
    },
    shell_tool="run_shell_command",
    timeout=HOOK_SECONDS * 1000,
    is_named=True,
    begins_with_prompt=True,
)
PROGRAMS: Final[dict[str, Program]] = {one.name: one for one in (CLAUDE_CODE, CODEX, GEMINI)}
