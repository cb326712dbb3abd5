"""
What of an event is worth keeping.

Nothing that came from memory, no hook inside a hook, no prompt that nobody typed; of tools, what was
committed, shipped or installed. Loaded before anything heavy: imports nothing of the engine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from engramdb.hooks.events import PROGRAMS

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


MAX_OUTCOME_CHARACTERS = 240
SHELLS = frozenset(program.shell_tool for program in PROGRAMS.values())
_TRAILING_LINES = 6
"""Gemini CLI puts exit code, signal and process ids behind the output, a line each, when they matter."""
_TRAILER = re.compile(r"\AOutput: |^Process Group PGID: \d+$", re.MULTILINE)
"""What it shows the person with --debug is what the model gets."""
_BEGINS = r"(?:^\s*|[;&|]\s*|\bsudo\s+|\b[A-Z_]+=\S*\s+)"
_NOTABLE = re.compile(
    _BEGINS
    + r"(?:git\s+(?:-C\s+\S+\s+)?(?:commit|merge|rebase|revert|tag|push)\b"
    + r"|(?:npm|cargo|poetry|flit|uv)\s+publish\b|twine\s+upload\b|gh\s+(?:release|pr)\s+(?:create|merge)\b"
    + r"|docker\s+push\b|kubectl\s+(?:apply|rollout)\b|terraform\s+(?:apply|destroy)\b"
    + r"|helm\s+(?:install|upgrade)\b"
    + r"|(?:fly|flyctl|vercel|netlify)\s+deploy\b"
    + r"|(?:pip3?|uv\s+pip|npm|pnpm|yarn|brew|apt|apt-get|gem)\s+(?:-\S+\s+)*install\s+(?!-r\b)[\w@\"'./-]"
    + r"|(?:uv|npm|pnpm|yarn|cargo|poetry)\s+add\s+\S"
    + r"|alembic\s+(?:upgrade|downgrade)\b|(?:make|just|task)\s+(?:deploy|release|publish|migrate)\b)",
    re.MULTILINE,
)
_IN_ADDRESS = re.compile(r"://[^@/\s'\"]+@")
_ASSIGNED = re.compile(
    r"(?i)((?:(?:token|secret|passw(?:or)?d|api[_-]?key|auth\w*)\s*[=:]\s*|--password[= ])"
    r"(?:(?:bearer|basic|token)\s+)?)[^\s'\"]+"
)


def tool_outcome(tool: str, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """Return the outcome of a tool call in one line, or None where it is not worth keeping."""
    command = arguments.get("command")
    if tool not in SHELLS or not isinstance(command, str) or not _NOTABLE.search(command[:4000]):
        return None
    if _has_failed(answer):
        return None
    ended = "was interrupted" if answer.get("interrupted") is True else _last_line(answer)
    told = f"Ran `{_plain(command, MAX_OUTCOME_CHARACTERS // 2)}`"
    return f"{told}: {ended}"[:MAX_OUTCOME_CHARACTERS] if ended else told


def _has_failed(answer: Mapping[str, Any]) -> bool:
    """Return whether the model was shown an exit code: 0 is not shown."""
    shown = answer.get("llmContent")
    lines = shown[-4000:].splitlines()[-_TRAILING_LINES:] if isinstance(shown, str) else []
    return any(line.startswith("Exit Code: ") for line in lines)


def _last_line(answer: Mapping[str, Any]) -> str:
    for stream in ("stdout", "stderr", "returnDisplay"):
        text = answer.get(stream)
        lines = _TRAILER.sub("", text[-4000:]).strip().splitlines() if isinstance(text, str) else []
        if lines:
            return _plain(lines[0] if len(lines) == 1 else lines[-1], MAX_OUTCOME_CHARACTERS // 2)
    return ""


def _plain(text: str, max_characters: int) -> str:
    """Return a text on one line, without passwords, cut to a number of characters."""
    line = " ".join(text.split())
    safe = _ASSIGNED.sub(r"\1…", _IN_ADDRESS.sub("://…@", line))
    whole = safe.encode("utf-8", "replace").decode("utf-8")
    return whole if len(whole) <= max_characters else whole[: max_characters - 1] + "…"
