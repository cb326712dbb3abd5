"""
Give a session each memory once: what already stands in its conversation costs tokens and says nothing new.

Used by `react` on the block of memories for a prompt. What was given is kept for each session as short
digests in a small file, under the store's key where it has one, never as words. A session that begins, or
whose conversation was compacted away, begins anew. Losing the file costs a repetition and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from engram.surfaces.hooks.notes import FOLDER, folder_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engram.settings import Settings

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
