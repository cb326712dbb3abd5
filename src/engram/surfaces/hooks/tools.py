"""
Which outcomes of tools are worth a line: what was committed, shipped or installed.

Asked by `run` before anything heavy is loaded, because an agent uses tools all the time and nearly none of it
matters tomorrow. Knows nothing of the engine. A line names the command and how it ended, never its output
beyond one short line, and no password out of an address. What failed is not told of: Claude Code has another
event for it, which we do not hear, and Gemini CLI says so in what it shows its model.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from engram.surfaces.hooks.program import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_CHARACTERS = 240
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


def outcome(tool: str, given: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """Return what a use of a tool came to, in a line, or None where it is nothing to keep."""
    command = given.get("command")
    if tool not in SHELLS or not isinstance(command, str) or not _NOTABLE.search(command[:4000]):
        return None
    if _has_failed(answer):
        return None
    ended = "was interrupted" if answer.get("interrupted") is True else _last_line(answer)
    told = f"Ran `{_plain(command, MOST_CHARACTERS // 2)}`"
    return f"{told}: {ended}"[:MOST_CHARACTERS] if ended else told


def _has_failed(answer: Mapping[str, Any]) -> bool:
    """Say whether the model was shown an exit code: one that is 0 is not shown."""
    shown = answer.get("llmContent")
    lines = shown[-4000:].splitlines()[-_TRAILING_LINES:] if isinstance(shown, str) else []
    return any(line.startswith("Exit Code: ") for line in lines)


def _last_line(answer: Mapping[str, Any]) -> str:
    for stream in ("stdout", "stderr", "returnDisplay"):
        text = answer.get(stream)
        lines = _TRAILER.sub("", text[-4000:]).strip().splitlines() if isinstance(text, str) else []
        if lines:
            return _plain(lines[0] if len(lines) == 1 else lines[-1], MOST_CHARACTERS // 2)
    return ""


def _plain(text: str, most: int) -> str:
    """Return a text on one line, without passwords, not longer than so many characters."""
    line = " ".join(text.split())
    safe = _ASSIGNED.sub(r"\1…", _IN_ADDRESS.sub("://…@", line))
    whole = safe.encode("utf-8", "replace").decode("utf-8")
    return whole if len(whole) <= most else whole[: most - 1] + "…"
