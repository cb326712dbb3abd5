"""Guards against hearing ourselves, memories given once, notes of failed hooks."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engramdb.errors import StorageError

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.settings import Settings


# Guards against hearing ourselves: hooks inside hooks, memories that come back as news, prompts nobody typed.

MARK: Final = "IN_ENGRAM_HOOK"
"""Set for all that a hook starts; also by whoever wants a run of an agent to leave no trace here."""
BLOCK: Final = "memories"
_GIVEN = re.compile(
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
_PUT_IN = re.compile(r"<[a-z]+(?:-[a-z]+)+>|\[Request interrupted|Caveat: The messages below")
"""How prompts begin that the program wrote in the person's name, such as <task-notification>."""


def is_inside() -> bool:
    """Say whether this hook was started, however far up, by another one."""
    return bool(os.environ.get(MARK))


def mark_children() -> None:
    """Let no hook of what this process starts do anything."""
    os.environ[MARK] = "1"


def without_memories(text: str) -> str:
    """Return a text without the blocks that came from memory or from the program: they are no news."""
    plain = _without_asides(text)
    return _GIVEN.sub(" ", plain).strip() if f"<{BLOCK}>" in plain else plain.strip()


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
    """Say whether somebody wrote the prompt: it is no command, and not the program's own."""
    start = prompt.lstrip()
    return bool(start) and not _COMMAND.match(start) and not _PUT_IN.match(start)


# Keep for later what a hook could not do: a file of a few lines, for when the store itself is what fails.
#
# Written by `run` when time is up or the store cannot be opened; taken into the store by the next hook that
# can open it and by `engram status`, which then shows the part `hook` with its age. Holds moments, codes and
# reasons, never a word of a conversation.

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


# Give a session each memory once: what already stands in its conversation costs tokens and says nothing new.
#
# Used by `react` on the block of memories for a prompt. What was given is kept for each session as short
# digests in a small file, under the store's key where it has one, never as words. A session that begins, or
# whose conversation was compacted away, begins anew. Losing the file costs a repetition and nothing else.

MOST_LINES = 2000
"""Of so many lines it is known that they were given; a session that got more gets some again."""
KEPT_DAYS = 7.0
_BULLET, _TITLE, _REMARK = "- ", "# ", "- note:"
_DIGEST_BYTES = 6


class Given:
    """What one session was given so far."""

    def __init__(self, settings: Settings, session: str) -> None:
        self._secret = bytes.fromhex(settings.key)
        self._home = settings.home
        self._path = settings.home / FOLDER / f"given-{self._digest(session)}.json"

    @property
    def is_at_beginning(self) -> bool:
        """Whether the session has had no prompt since it began."""
        return not self._path.exists()

    def begin_anew(self) -> None:
        """Forget what the session was given, and the files of sessions that are long over."""
        with suppress(OSError):
            self._path.unlink()
        for path in self._path.parent.glob("given-*.json"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > KEPT_DAYS * 86_400:
                    path.unlink()

    def only_new(self, blocks: Sequence[str]) -> str:
        """Return the blocks without the lines that the session has, and without those that are then empty."""
        known = self._known()
        is_known = self._known_or_seen(set(known))
        left = [list(_left(block.split("\n"), is_known)) for block in blocks]
        full = [lines for lines in left if any(map(_is_record, lines))]
        fresh = [self._digest(line) for lines in full for line in lines if _is_record(line)]
        if fresh or self.is_at_beginning:
            self._keep([*known, *fresh])
        return "\n\n".join("\n".join(lines) for lines in full)

    def _known_or_seen(self, had: set[str]) -> Callable[[str], bool]:
        """Return what says whether a line was given before, also in a block that is given along with it."""

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

    def _keep(self, digests: Sequence[str]) -> None:
        latest = list(dict.fromkeys(digests))[-MOST_LINES:]
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
