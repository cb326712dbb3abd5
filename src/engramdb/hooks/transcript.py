"""
What was said lately in a session, read from the end of its log.

A plain file, and never more than its last stretch: a log may have gigabytes, and one line of it a picture.
The importer of the same logs decides which lines somebody said. Of the agent's words between two prompts the
last are its reply; what it says between tools is not kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from engramdb.hooks.events import CODEX
from engramdb.hooks.project import project_of
from engramdb.importing.chat_exports import words_of_blocks
from engramdb.importing.json_stream import JsonObject
from engramdb.importing.session_logs import claude_code_message, codex_message
from engramdb.importing.source import SourceMessage
from engramdb.text import fields
from engramdb.values import Role

MAX_BYTES = 1_000_000
"""How much of the end is read; about the last hundred messages of a busy session."""
PLACE = "hook"
"""Where a turn that a hook brought comes from: the path of the log stays with the program that wrote it."""
_SUFFIX = ".jsonl"
_DECODER = msgspec.json.Decoder()


def tail(path: str, *, max_bytes: int = MAX_BYTES) -> list[dict[str, Any]]:
    """Return the last objects of a log; none where it is no plain file or cannot be read."""
    try:
        raw = _end_of(path, max_bytes)
    except (OSError, ValueError):  # a path with a NUL in it is a ValueError
        return []
    return [value for value in map(_object, raw.split(b"\n")) if value is not None]


def said(lines: Sequence[dict[str, Any]], *, session: str) -> list[SourceMessage]:
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


def compaction(lines: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Return the name and the words of the latest summary that took the place of older messages, or none."""
    for value in reversed(lines):
        if value.get("isCompactSummary") is True:
            held = fields.mapping(value.get("message")).get("content")
            return str(value.get("uuid") or ""), words_of_blocks(held) or ""
        if value.get("type") == "compacted":
            told = fields.text(fields.mapping(value.get("payload")).get("message"))
            return str(value.get("timestamp") or ""), told or ""
    return "", ""


def last_key(lines: Sequence[dict[str, Any]]) -> str:
    """Return the name of the last line that has one: what comes next is known as what follows it."""
    names = (value.get("uuid") for value in reversed(lines))
    return next((name for name in names if isinstance(name, str)), "")


def _told(line: dict[str, Any], session: str) -> SourceMessage | None:
    """Return what a line says; of Codex only what has an id, for by its place it is not known again."""
    program, _, name = session.partition(":")
    if program != CODEX.name:
        return claude_code_message(JsonObject(PLACE, line))
    body = line.get("payload")
    has_id = isinstance(body, dict) and bool(body.get("id"))
    return codex_message(JsonObject(PLACE, line), session=name) if has_id else None


def _end_of(path: str, max_bytes: int) -> bytes:
    """Return the whole lines at the end of a plain file; a link, a folder or a pipe is none."""
    if not path.endswith(_SUFFIX):
        return b""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            return b""
        start = max(0, about.st_size - max_bytes)
        file.seek(start)
        raw = file.read(max_bytes)
    return raw.partition(b"\n")[2] if start else raw


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    return value if isinstance(value, dict) else None
