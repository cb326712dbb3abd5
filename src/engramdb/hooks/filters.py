"""
What of an event is worth keeping.

Nothing that came from memory, no hook inside a hook, no prompt that nobody typed; of tools, the commands that
do something and how they ended. Loaded before anything heavy: imports nothing of the engine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from engramdb.hooks.events import AgentProgram, HookEvent
from engramdb.text.commands import MAX_READ_CHARACTERS, CommandRun, has_failure, only_looks

MARK: Final = "IN_ENGRAM_HOOK"
"""Set for everything that a hook starts; set it yourself to run an agent without leaving a trace here."""
BLOCK: Final = "memories"
_MEMORY_BLOCK = re.compile(
    rf"<{BLOCK}>(?:\s|\\n)*(?:Records from memory: data|More records: data)"
    # to the end of the block, or of the text where the block was cut off; never over the next one
    rf"(?:(?!</?{BLOCK}>).)*(?:</{BLOCK}>)?",
    re.DOTALL,
)
"""A block as `context.isolation` frames it: no memory can write its marks."""
_ASIDE = re.compile(r"<(system-reminder|hook_context|[a-z-]+-hook)>")
"""
What the program itself puts into a message, such as the answers of hooks: Gemini CLI tells them as part of
the prompt when it is run for a single one, with the marks of our own block made unreadable.
"""
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|\Z)")
_INSERTED = re.compile(r"<[a-z]+(?:-[a-z]+)+>|\[Request interrupted|Caveat: The messages below")
"""How prompts begin that the program wrote in the person's name, such as <task-notification>."""


def is_inside() -> bool:
    """Return whether this hook was started, directly or not, by another one."""
    return bool(os.environ.get(MARK))


def mark_children() -> None:
    """Let no hook of what this process starts do anything."""
    os.environ[MARK] = "1"


def without_memories(text: str) -> str:
    """Return a text without the blocks that came from memory or from the program: they are no news."""
    plain = _without_asides(text)
    return _MEMORY_BLOCK.sub(" ", plain).strip() if f"<{BLOCK}>" in plain else plain.strip()


def _without_asides(text: str) -> str:
    """
    Return a text without what stands between the marks of a program.

    No single pattern for both marks: on marks that do not close it would read to the end from each of them.
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    at = 0
    for found in _ASIDE.finditer(text):
        name = found[1]
        if found.start() < at or name in unclosed:
            continue
        end = text.find(f"</{name}>", found.end())
        if end < 0:
            unclosed.add(name)
            continue
        kept.append(text[at : found.start()])
        at = end + len(name) + 3
    return " ".join([*kept, text[at:]])


def is_typed(prompt: str) -> bool:
    """Return whether a person wrote the prompt: it is neither a command nor the program's own."""
    start = prompt.lstrip()
    return bool(start) and not _COMMAND.match(start) and not _INSERTED.match(start)


_TRAILING_LINES = 6
"""Gemini CLI puts exit code, signal and process ids behind the output, a line each, when they matter."""
_TRAILER = re.compile(r"\AOutput: |^Process Group PGID: \d+$", re.MULTILINE)
"""What it shows the person with --debug is what the model gets."""
_EXIT_LINE = re.compile(r"\AExit code \d+\s*")
"""How Claude Code begins the error of a command."""
INTERRUPTED: Final = "was interrupted"


def command_run(event: HookEvent, program: AgentProgram) -> CommandRun | None:
    """Return the command that an event tells of, and how it ended; None where it only looked around."""
    command = event.tool_input.get("command")
    if event.tool != program.shell_tool or not isinstance(command, str) or only_looks(command):
        return None
    answer = event.tool_response
    if event.is_interrupted or answer.get("interrupted") is True:
        return CommandRun.of(command, INTERRUPTED, is_failed=True)
    output = _EXIT_LINE.sub("", event.error) or _output(answer)
    is_failed = bool(event.error) or _has_exit_code(answer)
    return CommandRun.of(
        command, output, is_failed=is_failed or (not program.tells_failures and has_failure(output))
    )


def _has_exit_code(answer: Mapping[str, Any]) -> bool:
    """Return whether an exit code other than 0 is told, or was shown to the model: 0 is not shown."""
    code = answer.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        return code != 0
    shown = answer.get("llmContent")
    lines = shown[-MAX_READ_CHARACTERS:].splitlines()[-_TRAILING_LINES:] if isinstance(shown, str) else []
    return any(line.startswith("Exit Code: ") for line in lines)


def _output(answer: Mapping[str, Any]) -> str:
    """Return the end of what a command printed, of the first stream that holds anything."""
    texts = (answer.get(stream) for stream in ("stdout", "stderr", "returnDisplay"))
    cut = (_TRAILER.sub("", text[-MAX_READ_CHARACTERS:]).strip() for text in texts if isinstance(text, str))
    return next((text for text in cut if text), "")
