"""
Cut the bytes from a client into messages, and mend or refuse what the SDK would drop in silence.

Used by `stdio`; knows nothing of threads or files. A dropped request leaves its client waiting for good,
so every line that holds a request is answered: one beyond the limit, or one that is no JSON, by an error
that carries its id where one can be found. Half surrogate pairs, which a client makes when it cuts a
text inside an emoji, become the replacement character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

MOST_BYTES: Final = 4_000_000
"""Of one message: far more than the largest turn, and than what the SDK takes over HTTP."""
MOST_AT_ONCE: Final = 100
"""Messages in one list; nobody sends so many."""
_KEPT = 4_000
"""Bytes at either end of a line beyond the limit, in which its id is looked for."""
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_ID = re.compile(rb'"id"\s*:\s*(-?\d{1,15}|"(?:[^"\\]|\\.){0,200}")')


class TooLong(Struct, frozen=True):
    """A line beyond the limit, of which only the ends were kept."""

    start: bytes
    end: bytes


class Lines:
    """Bytes in as they come, lines out; never more than the limit is held."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._held = bytearray()
        self._start = b""

    def feed(self, piece: bytes) -> Iterator[bytes | TooLong]:
        """Yield the lines that end in this piece."""
        *ended, rest = piece.split(b"\n")
        for part in ended:
            self._held += part
            yield self._whole()
        self._held += rest
        self._spill()

    def rest(self) -> Iterator[bytes | TooLong]:
        """Yield the last line if it has no end."""
        if self._held:
            yield self._whole()

    def _whole(self) -> bytes | TooLong:
        self._spill()
        line, start = bytes(self._held), self._start
        self._held.clear()
        self._start = b""
        return TooLong(start, line) if start else line

    def _spill(self) -> None:
        """Let go of the middle of a line that is too long."""
        if self._start:
            del self._held[:-_KEPT]
        elif len(self._held) > self._most:
            self._start = bytes(self._held[:_KEPT])
            del self._held[:-_KEPT]


def mended(line: bytes) -> bytes:
    """Return a line of JSON without half surrogate pairs."""
    if b"\\ud" not in line and b"\\uD" not in line:
        return line
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], line)


def messages(line: bytes) -> list[bytes]:
    """
    Return the messages of a line: those of a list, which one version of the protocol has, each by itself.

    A list beyond the limit, or with anything in it that is no object, stays one line, and is refused as one.
    """
    if not line.lstrip().startswith(b"["):
        return [line]
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return [line]
    if not 0 < len(told) <= MOST_AT_ONCE or not all(isinstance(one, dict) for one in told):
        return [line]
    return [json.dumps(one).encode() for one in told]


def has_odd_id(line: bytes) -> bool:
    """Return whether a message has an id that no answer can carry; the SDK takes it for one without an id."""
    told = json.loads(line) if b'"id"' in line else {}
    return "id" in told and type(told["id"]) not in (int, str)


def request_id(*parts: bytes) -> int | str | None:
    """
    Return the id that a line seems to carry: the last one at its end, or else the first at its start.
    """
    for part in reversed(parts):
        found = _ID.findall(part)
        if found:
            value: int | str = json.loads(found[-1] if part is parts[-1] else found[0])
            return value
    return None
