"""
What the last sync left: one small file in the folder, by which the next one tells who has changed what.

Read and written by the engine's sync. Holds ids, paths, labels and marks of words, never the words. Lost or
broken, nothing is lost with it: the folder must then be adopted again, and what differs is a conflict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

import msgspec

from engram.errors import EngramError, InvalidContent
from engram.values import Scope

STATE_FILE = ".engram-notebook.json"
FORMAT = 1
_BROKEN = "Move the file away and sync with adopt: what differs is then shown as a conflict."


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory's file as the last sync left it."""

    path: str
    file: str
    """The mark of its bytes."""
    words: str
    """The mark of its body."""
    version: int
    labels: dict[str, str]
    """What a person may change in front matter."""
    named: str
    """The memory that the file got its name from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A file that was looked at and not taken: the mark of its bytes, and why."""

    file: str
    why: str
    memory_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything that a sync wants to know of the one before."""

    format: int = FORMAT
    scope: Scope = Scope()
    memories: dict[str, Entry] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    """Generated pages, and the marks of their bytes."""
    passed: dict[str, Passed] = field(default_factory=dict)
    """Files that need not be tried again while they stay as they are."""


_DECODER = msgspec.json.Decoder(State)


def read_state(content: bytes) -> State:
    """Return the state; raises `InvalidContent` for what is none, or of a later version."""
    try:
        state = _DECODER.decode(content)
    except (msgspec.DecodeError, ValueError, EngramError) as exc:
        raise InvalidContent(f"{STATE_FILE} cannot be read", hint=_BROKEN) from exc
    if state.format != FORMAT:
        raise InvalidContent(f"{STATE_FILE} has format {state.format}", hint="Use a newer version of Engram.")
    paths = [*(one.path for one in state.memories.values()), *state.pages, *state.passed]
    if not all(map(is_inside, paths)):
        raise InvalidContent(f"{STATE_FILE} names a file outside the folder", hint=_BROKEN)
    return state


def write_state(state: State) -> bytes:
    """Return the state as a file, the same for the same state."""
    return msgspec.json.format(msgspec.json.encode(state, order="sorted"), indent=1) + b"\n"


def is_inside(path: str) -> bool:
    """Say whether a relative path stays in its folder and names a note."""
    parts = PurePosixPath(path).parts
    is_plain = bool(parts) and not path.startswith("/") and "\\" not in path and ":" not in parts[0]
    return is_plain and path.lower().endswith(".md") and not any(part.startswith(".") for part in parts)
