"""What hooks write into the home folder: failures, and what each session was given."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engramdb.errors import StorageError

if TYPE_CHECKING:  # loaded only by a hook that has something to do
    from engramdb.engine.engram import Engram
    from engramdb.settings import Settings


# Failures are written to a file, for when the store itself is what fails. The next hook that can open the
# store, and `engram status`, move them there; `status` then shows the part `hook` with its age. The file
# holds moments, codes and reasons, never a word of a conversation.

PART: Final = "hook"
"""What `status` calls the hooks."""
FOLDER: Final = "hooks"
_FAILURES = "failures.jsonl"
_MAX_BYTES = 65_536
"""With more, further failures are not counted: hundreds tell as much as thousands."""


def folder_in(home: Path) -> Path:
    """Return the folder of the hooks, made if need be, for its owner only."""
    folder = home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def note_failure(home: Path, reason: str, *, at: datetime | None = None) -> None:
    """Write a failure down; where not even that is possible, the agent still goes on."""
    line = json.dumps({"at": (at or datetime.now(UTC)).isoformat(), "why": reason}) + "\n"
    with suppress(OSError):
        path = folder_in(home) / _FAILURES
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            if os.fstat(file).st_size < _MAX_BYTES:
                os.write(file, line.encode())
        finally:
            os.close(file)


def deliver_failures(engram: Engram, home: Path) -> None:
    """Move the failures that were written down into the store."""
    path = home / FOLDER / _FAILURES
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


MAX_LINES = 2000
"""How many lines of a session are remembered as delivered; a session that got more gets some again."""
STATE_DAYS = 7.0
_BULLET, _TITLE, _REMARK = "- ", "# ", "- note:"
_DIGEST_BYTES = 6


class DeliveredLines:
    """
    The lines of memory that a session has in its conversation: repeating them costs tokens and says nothing.

    Stored for each session as short digests in a small file, under the store's key where it has one, never as
    words. A session that begins, or whose conversation was compacted, starts over. Losing the file costs a
    repetition and nothing else.
    """

    def __init__(self, settings: Settings, session: str) -> None:
        self._secret = bytes.fromhex(settings.key)
        self._home = settings.home
        self._path = settings.home / FOLDER / f"given-{self._digest(session)}.json"

    @property
    def is_empty(self) -> bool:
        """Whether the session has had no prompt since it began."""
        return not self._path.exists()

    def reset(self) -> None:
        """Forget what the session was given, and delete the files of sessions that are long over."""
        with suppress(OSError):
            self._path.unlink()
        for path in self._path.parent.glob("given-*.json"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > STATE_DAYS * 86_400:
                    path.unlink()

    def has_memory(self, memory_id: str) -> bool:
        """Return whether the session was given a memory, in whatever words."""
        return self._digest(memory_id) in self._known()

    def filter_new(self, blocks: Sequence[str], *, memories: Sequence[str] = ()) -> str:
        """
        Return the blocks without the lines that the session has, and without those that are then empty.

        `memories` are the ids of those in them, by which they are known in other words.
        """
        known = self._known()
        is_known = self._known_or_seen(set(known))
        left = [list(_left(block.split("\n"), is_known)) for block in blocks]
        full = [lines for lines in left if any(map(_is_record, lines))]
        fresh = [self._digest(line) for lines in full for line in lines if _is_record(line)]
        if fresh or self.is_empty:
            self._save([*known, *fresh, *map(self._digest, memories)])
        return "\n\n".join("\n".join(lines) for lines in full)

    def _known_or_seen(self, had: set[str]) -> Callable[[str], bool]:
        """Return a test for lines delivered before, also in a block that is delivered along with it."""

        def is_known(line: str) -> bool:
            digest = self._digest(line)
            is_had = digest in had
            had.add(digest)
            return is_had

        return is_known

    def _known(self) -> list[str]:
        try:
            told = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return []
        return [one for one in told if isinstance(one, str)] if isinstance(told, list) else []

    def _save(self, digests: Sequence[str]) -> None:
        latest = list(dict.fromkeys(digests))[-MAX_LINES:]
        beside = self._path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            folder_in(self._home)
            beside.write_text(json.dumps(latest), encoding="ascii")
            beside.replace(self._path)

    def _digest(self, text: str) -> str:
        told = text.encode("utf-8", "replace")
        return hashlib.blake2b(told, digest_size=_DIGEST_BYTES, key=self._secret).hexdigest()


def _is_record(line: str) -> bool:
    return line.startswith(_BULLET)


def _left(lines: Sequence[str], is_known: Callable[[str], bool]) -> Iterator[str]:
    """
    Yield the lines that are not known, and no title or day that nothing stands under.

    How well the memories fit is left out too: nobody asked, so there is no answer to judge.
    """
    waiting: list[str] = []
    for line in lines:
        if _is_record(line):
            if not line.startswith(_REMARK) and not is_known(line):
                yield from waiting
                yield line
                waiting = []
        elif line.startswith(_TITLE):
            waiting = [line]
        elif line.endswith(":") and not line.startswith("<"):
            waiting = [*(one for one in waiting if one.startswith(_TITLE)), line]
        else:
            waiting = []
            yield line
