"""What was said lately in a session, and which tool outcomes matter."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import msgspec

from engramdb.hooks.events import CODEX, PROGRAMS
from engramdb.hooks.project import project_of
from engramdb.importing import claude_code, codex
from engramdb.importing.json_stream import Object
from engramdb.values import Role

if TYPE_CHECKING:
    from engramdb.importing.record import Message


# Which outcomes of tools are worth a line: what was committed, shipped or installed.

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


# What was said lately in a session, read from the end of its log.
#
# Called by `react` with the path that the event names; reads a plain file and never more than its last
# stretch, for a log may have gigabytes and a line of it a picture. Which lines somebody said is decided by
# the
# importer of the same logs. Of the agent's words between two prompts the last are its reply; what it murmurs
# between tools is not kept.

MOST_BYTES = 1_000_000
"""How much of the end is read; about the last hundred messages of a busy session."""
PLACE = "hook"
"""Where a turn that a hook brought comes from: the path of the log stays with the program that wrote it."""
_SUFFIX = ".jsonl"
_DECODER = msgspec.json.Decoder()


def tail(path: str, *, most_bytes: int = MOST_BYTES) -> list[dict[str, Any]]:
    """Return the last objects of a log; none where it is no plain file or cannot be read."""
    try:
        raw = _end_of(path, most_bytes)
    except (OSError, ValueError):  # a path with a NUL in it is a ValueError
        return []
    return [value for value in map(_object, raw.split(b"\n")) if value is not None]


def said(lines: Sequence[dict[str, Any]], *, session: str) -> list[Message]:
    """Return what the person and the agent said, oldest first: prompts, and the reply to each."""
    told = [_told(value, session) for value in lines]
    spoken = [one for one in told if one is not None and one.session in (None, session)]
    return [
        one
        for one, after in zip_longest(spoken, spoken[1:])
        if one.role is not Role.ASSISTANT or after is None or after.role is not Role.ASSISTANT
    ]


def of_project(lines: Sequence[dict[str, Any]], folder: str) -> list[dict[str, Any]]:
    """Return the lines without those of another project: an agent may walk from one into the next."""
    folders = [told if isinstance(told := value.get("cwd"), str) else folder for value in lines]
    projects = {one: project_of(one) for one in {folder, *folders}}
    here = projects[folder]
    return [value for value, place in zip(lines, folders, strict=True) if projects[place] == here]


def last_key(lines: Sequence[dict[str, Any]]) -> str:
    """Return the name of the last line that has one: what comes next is known as what follows it."""
    names = (value.get("uuid") for value in reversed(lines))
    return next((name for name in names if isinstance(name, str)), "")


def _told(line: dict[str, Any], session: str) -> Message | None:
    """Return what a line says; of Codex only what has an id, for by its place it is not known again."""
    program, _, name = session.partition(":")
    if program != CODEX.name:
        return claude_code.message(Object(PLACE, line))
    body = line.get("payload")
    has_id = isinstance(body, dict) and bool(body.get("id"))
    return codex.message(Object(PLACE, line), session=name) if has_id else None


def _end_of(path: str, most_bytes: int) -> bytes:
    """Return the whole lines at the end of a plain file; a link, a folder or a pipe is none."""
    if not path.endswith(_SUFFIX):
        return b""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            return b""
        start = max(0, about.st_size - most_bytes)
        file.seek(start)
        raw = file.read(most_bytes)
    return raw.partition(b"\n")[2] if start else raw


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    return value if isinstance(value, dict) else None
