"""
Keep for later what a hook could not do: a file of a few lines, for when the store itself is what fails.

Written by `run` when time is up or the store cannot be opened; taken into the store by the next hook that
can open it and by `engram status`, which then shows the part `hook` with its age. Holds moments, codes and
reasons, never a word of a conversation.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from engram.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path

    from engram.engine.engram import Engram

PART: Final = "hook"
"""What `status` calls the hooks."""
FOLDER: Final = "hooks"
_FILE = "failures.jsonl"
_MOST_BYTES = 65_536
"""With more, further failures are not counted: hundreds tell as much as thousands."""


def folder_in(home: Path) -> Path:
    """Return the folder of the hooks, made if need be, for its owner only."""
    folder = home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def failed(home: Path, reason: str, *, at: datetime | None = None) -> None:
    """Note a failure; where not even that can be written, the agent still goes on."""
    line = json.dumps({"at": (at or datetime.now(UTC)).isoformat(), "why": reason}) + "\n"
    with suppress(OSError):
        path = folder_in(home) / _FILE
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            if os.fstat(file).st_size < _MOST_BYTES:
                os.write(file, line.encode())
        finally:
            os.close(file)


def deliver(engram: Engram, home: Path) -> None:
    """Take what was noted into the store."""
    path = home / FOLDER / _FILE
    taken = path.with_suffix(f".{os.getpid()}")
    try:
        path.rename(taken)  # so that two processes do not count the same twice
        lines = taken.read_bytes().splitlines()
    except OSError:
        return
    noted = [one for one in map(_noted, lines) if one is not None]
    try:
        if noted:
            at, why = max(noted)
            engram.note_failures(PART, count=len(noted), last=at, why=why)
    except StorageError:  # a store that can only be read is no reason to fail, nor to forget them
        with suppress(OSError):
            taken.rename(path)
    else:
        with suppress(OSError):
            taken.unlink()


def _noted(line: bytes) -> tuple[datetime, str] | None:
    """Return a line of the file, or None for one that was cut off or changed by hand."""
    try:
        told = json.loads(line)
        moment = datetime.fromisoformat(told["at"])
        return moment.astimezone(UTC), str(told["why"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
