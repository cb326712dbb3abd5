"""
Take the objects out of a JSON file one by one, however large the file is.

Used by `portability.objects`. Only brackets and strings are looked at to find where an object ends; the
object itself is then decoded alone. So memory is bounded by the largest object and not by the file, and one
broken object costs that object and nothing behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 1 << 20
MOST_OBJECT_BYTES = 64_000_000
"""A single conversation is far smaller; a larger object is passed over and reported."""


def _once(name: bytes, many: bytes) -> bytes:
    """
    Return a pattern for any number of these that is never tried in another way.

    So a hostile file takes linear time. The possessive `*+` says the same and is wrong before Python 3.11.5.
    """
    return rb"(?=(?P<" + name + rb">(?:" + many + rb")*))(?P=" + name + rb")"


_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_PLAIN = rb'[^"{}\[\]]+|' + _STRING
_FLAT = rb"\{" + _once(b"inside", _PLAIN) + rb"\}|\[" + _once(b"listed", _PLAIN) + rb"\]"
_BRACKET = rb"(?P<bracket>[{}\[\]])"
_TO_BRACKET = re.compile(_once(b"before", _PLAIN) + _BRACKET, re.DOTALL)
_TO_DEEP_BRACKET = re.compile(_once(b"before", _PLAIN + rb"|" + _FLAT) + _BRACKET + rb"?", re.DOTALL)
"""Inside an object what holds no other object is passed over in one go, which takes half the time."""
_NAME_BEFORE = re.compile(rb"(" + _STRING + rb")\s*:\s*\Z", re.DOTALL)
_OPENING = b"{["


@dataclass(frozen=True, slots=True)
class Raw:
    """The bytes of one object and the name of the list that it stands in, empty for the outermost list."""

    content: bytes
    list_name: str
    start: int = 0
    """Where in the stream it begins."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """An object that is too large, or one that the file ends in the middle of."""

    is_too_large: bool


def raw_objects(stream: IO[bytes], *, most_bytes: int = MOST_OBJECT_BYTES) -> Iterator[Raw | Unfit]:
    """
    Yield the objects of the outermost list, or of the lists that the outermost object names.

    What is no object, such as a number between objects, is passed over. Behind a string of more than
    `most_bytes` nothing can be found.
    """
    return _Scan(stream, most_bytes).objects()


class _Scan:
    """A walk through the brackets of a stream, with as little of it in memory as the present object needs."""

    def __init__(self, stream: IO[bytes], most_bytes: int) -> None:
        self._stream = stream
        self._most_bytes = most_bytes
        self._buffer = b""
        self._base = 0
        """How many bytes were let go of."""
        self._place = 0
        """Behind the last bracket that was seen."""
        self._start: int | None = None
        """Where the present object begins, if one has begun."""
        self._is_dropping = False
        """Whether the present object is too large, so that its bytes are let go of."""
        self._depth = 0
        self._list_depth = 0
        self._list_name = ""

    def objects(self) -> Iterator[Raw | Unfit]:
        """Yield what is found, reading on as it is asked for."""
        while chunk := self._stream.read(max(CHUNK_BYTES, len(self._buffer))):
            self._buffer += chunk
            yield from self._found()
            if self._start is not None and self._place - self._start > self._most_bytes:
                self._is_dropping = True
            if len(self._buffer) - self._place > self._most_bytes:
                yield Unfit(is_too_large=True)  # one endless string: where it ends cannot be told
                return
            self._let_go()
        if self._depth:
            yield Unfit(is_too_large=False)

    def _let_go(self) -> None:
        """Keep the present object, or where it is dropped, what lies behind the last bracket."""
        keep = self._place if self._start is None or self._is_dropping else self._start
        self._buffer = self._buffer[keep:]
        self._base += keep
        self._place -= keep
        if self._start is not None:
            self._start = max(0, self._start - keep)

    def _found(self) -> Iterator[Raw | Unfit]:
        while match := self._next_bracket():
            bracket, before, at = match["bracket"], self._place, match.start("bracket")
            self._place = match.end()
            if bracket is None:
                return  # seen to the end, and still inside
            if bracket in _OPENING:
                self._open(bracket, before, at)
            else:
                yield from self._close()

    def _next_bracket(self) -> re.Match[bytes] | None:
        pattern = _TO_BRACKET if self._start is None else _TO_DEEP_BRACKET
        return pattern.match(self._buffer, self._place)

    def _open(self, bracket: bytes, before: int, at: int) -> None:
        self._depth += 1
        if bracket == b"[" and not self._list_depth and self._depth <= 2:
            self._list_depth = self._depth
            named = _NAME_BEFORE.search(self._buffer, before, at)
            self._list_name = named.group(1)[1:-1].decode("utf-8", "replace") if named else ""
        elif bracket == b"{" and self._list_depth and self._depth == self._list_depth + 1:
            self._start = at

    def _close(self) -> Iterator[Raw | Unfit]:
        self._depth = max(0, self._depth - 1)
        if self._start is not None and self._depth == self._list_depth:
            is_too_large = self._is_dropping or self._place - self._start > self._most_bytes
            content, start = self._buffer[self._start : self._place], self._base + self._start
            self._start, self._is_dropping = None, False
            yield Unfit(is_too_large=True) if is_too_large else Raw(content, self._list_name, start)
        elif self._depth < self._list_depth:
            self._list_depth = 0
