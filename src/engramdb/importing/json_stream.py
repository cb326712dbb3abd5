"""
The objects of a JSON or JSONL file, one at a time, however large the file is.

JSONL goes line by line. In JSON only brackets and strings are looked at to find where an object ends; the
object itself is then decoded alone. So memory is bounded by the largest object and not by the file, one
broken object costs that object and nothing behind it, and an object can be found again by its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import IO, Any

import msgspec
from msgspec import Struct

from engramdb.exporting.export import MARK
from engramdb.importing.source import (
    TOO_LARGE,
    UNREADABLE,
    UNREADABLE_FILE,
    BrokenRecord,
    Record,
    SourceFile,
    SourceMessage,
)

CHUNK_BYTES = 1 << 20
MAX_OBJECT_BYTES = 64_000_000
"""A single conversation is far smaller; a larger object is passed over and reported."""
MAX_DEPTH = 100_000
"""No export nests deeper than about 30; a tower of brackets is left after this many."""


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


class RawObject(Struct, frozen=True):
    """The bytes of one object and the name of the list that it stands in, empty for the outermost list."""

    content: bytes
    list_name: str
    start: int = 0
    """Where in the stream it begins."""


class UnfitObject(Struct, frozen=True):
    """An object that is too large, or one that the file ends in the middle of."""

    is_too_large: bool


def raw_objects(stream: IO[bytes], *, max_bytes: int = MAX_OBJECT_BYTES) -> Iterator[RawObject | UnfitObject]:
    """
    Yield the objects of the outermost list, or of the lists that the outermost object names.

    What is no object, such as a number between objects, is passed over. Behind a string of more than
    `max_bytes` nothing can be found.
    """
    return _Scan(stream, max_bytes).objects()


class _Scan:
    """A walk through the brackets of a stream, with as little of it in memory as the present object needs."""

    def __init__(self, stream: IO[bytes], max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
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

    def objects(self) -> Iterator[RawObject | UnfitObject]:
        """Yield what is found, reading on as it is asked for."""
        while chunk := self._stream.read(max(CHUNK_BYTES, len(self._buffer))):
            self._buffer += chunk
            yield from self._found()
            if self._start is not None and self._place - self._start > self._max_bytes:
                self._is_dropping = True
            if self._depth > MAX_DEPTH or len(self._buffer) - self._place > self._max_bytes:
                yield UnfitObject(
                    is_too_large=True
                )  # a tower, or an endless string: where it ends cannot be told
                return
            self._let_go()
        if self._depth:
            yield UnfitObject(is_too_large=False)

    def _let_go(self) -> None:
        """Keep the present object, or where it is dropped, what lies behind the last bracket."""
        keep = self._place if self._start is None or self._is_dropping else self._start
        self._buffer = self._buffer[keep:]
        self._base += keep
        self._place -= keep
        if self._start is not None:
            self._start = max(0, self._start - keep)

    def _found(self) -> Iterator[RawObject | UnfitObject]:
        while self._depth <= MAX_DEPTH and (match := self._next_bracket()):
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

    def _close(self) -> Iterator[RawObject | UnfitObject]:
        self._depth = max(0, self._depth - 1)
        if self._start is not None and self._depth == self._list_depth:
            is_too_large = self._is_dropping or self._place - self._start > self._max_bytes
            content, start = self._buffer[self._start : self._place], self._base + self._start
            self._start, self._is_dropping = None, False
            yield (
                UnfitObject(is_too_large=True) if is_too_large else RawObject(content, self._list_name, start)
            )
        elif self._depth < self._list_depth:
            self._list_depth = 0


MAX_LINE_BYTES = 32_000_000
"""A line of a session log may hold a picture; a longer one is passed over and reported."""
_BLANKS = b" \t\r\n\xef\xbb\xbf"
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_SAMPLE_BYTES = 65_536
_DECODER = msgspec.json.Decoder()


class JsonObject(Struct, frozen=True):
    """One JSON object and where it stands."""

    place: str
    value: dict[str, Any]
    list_name: str = ""
    start: int = 0
    size: int = 0
    """Where in the file it stands."""


class _Spot(Struct, frozen=True):
    """Where an object stands and which moment it is about, to find it again in the order of time."""

    moment: datetime
    place: str
    list_name: str
    start: int
    size: int


def objects(file: SourceFile) -> Iterator[JsonObject | BrokenRecord]:
    """Yield the objects of a file in their order; what cannot be read is named by its place."""
    try:
        is_lines = _is_lines(file)
        with file.open() as stream:
            yield from _lines(file.name, stream) if is_lines else _elements(file.name, stream)
    except UNREADABLE_FILE:
        yield BrokenRecord(place=file.name)


def messages_in(file: SourceFile, message: Callable[[JsonObject], SourceMessage | None]) -> Iterator[Record]:
    """Yield what each object of a log says, where somebody said it, and what could not be read."""
    for one in objects(file):
        if isinstance(one, BrokenRecord):
            yield one
        elif (said := message(one)) is not None:
            yield said


def conversations(
    file: SourceFile,
    *,
    moment: Callable[[Mapping[str, Any]], datetime | None],
    suits: Callable[[Mapping[str, Any]], bool],
    messages: Callable[[JsonObject], Iterable[Record]],
) -> Iterator[Record]:
    """Yield the messages of a file's conversations, oldest first; what is none is broken."""
    for one in objects_by_time(file, moment):
        if isinstance(one, BrokenRecord):
            yield one
        elif suits(one.value):
            yield from messages(one)
        else:
            yield BrokenRecord(place=one.place)


def objects_by_time(
    file: SourceFile, moment: Callable[[Mapping[str, Any]], datetime | None]
) -> Iterator[JsonObject | BrokenRecord]:
    """
    Yield the objects of a file, oldest first: what is heard later replaces what was heard before.

    Exports often begin with the latest. The file is read twice, so that only places are in memory; an object
    that tells no moment stays behind the one before it.
    """
    spots: list[_Spot] = []
    for one in objects(file):
        if isinstance(one, BrokenRecord):
            yield one
        else:
            told = moment(one.value) or (spots[-1].moment if spots else _EARLIEST)
            spots.append(_Spot(told, one.place, one.list_name, one.start, one.size))
    spots.sort(key=lambda spot: spot.moment)
    try:
        with file.open_anywhere() as stream:
            for spot in spots:
                stream.seek(spot.start)
                value = _decoded(stream.read(spot.size).strip(_BLANKS))
                yield (
                    BrokenRecord(place=spot.place)
                    if value is None
                    else JsonObject(spot.place, value, spot.list_name)
                )
    except UNREADABLE_FILE:
        yield BrokenRecord(place=file.name)


def first_objects(file: SourceFile, *, limit: int) -> Sequence[JsonObject]:
    """Return the first objects of a file that can be read, few of them, to see what it is."""
    found = (one for one in islice(objects(file), 4 * limit) if isinstance(one, JsonObject))
    return list(islice(found, limit))


def _is_lines(file: SourceFile) -> bool:
    """
    Return whether each line is an object: by the name, or else by the first line and what follows it.

    A single line may be a whole document, such as {"results": [...]}, unless it is marked as one of our own.
    """
    if file.suffix in (".jsonl", ".ndjson"):
        return True
    with file.open() as stream:
        sample = stream.read(_SAMPLE_BYTES).lstrip(_BLANKS)
    line, is_cut, rest = sample.partition(b"\n")
    first = _decoded(line) if is_cut else None
    following = rest.lstrip(_BLANKS)
    return first is not None and (following.startswith(b"{") or (not following and MARK in first))


def _lines(file: str, stream: IO[bytes]) -> Iterator[JsonObject | BrokenRecord]:
    number = end = 0
    while line := stream.readline(MAX_LINE_BYTES):
        number, start, end = number + 1, end, end + len(line)
        place = f"{file}: line {number}"
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            end += _skip_line(stream)
            yield BrokenRecord(place=place, code=TOO_LARGE)
        elif stripped := line.strip(_BLANKS):
            value = _decoded(stripped)
            yield (
                BrokenRecord(place=place) if value is None else JsonObject(place, value, "", start, len(line))
            )


def _skip_line(stream: IO[bytes]) -> int:
    """Read to the end of a line and return how many bytes that were."""
    skipped = 0
    while more := stream.readline(MAX_LINE_BYTES):
        skipped += len(more)
        if more.endswith(b"\n"):
            break
    return skipped


def _elements(file: str, stream: IO[bytes]) -> Iterator[JsonObject | BrokenRecord]:
    for number, raw in enumerate(raw_objects(stream), start=1):
        place = f"{file}: record {number}"
        if not isinstance(raw, RawObject):
            yield BrokenRecord(place=place, code=TOO_LARGE if raw.is_too_large else UNREADABLE)
            continue
        value = _decoded(raw.content)
        size = len(raw.content)
        yield (
            BrokenRecord(place=place)
            if value is None
            else JsonObject(place, value, raw.list_name, raw.start, size)
        )


def _decoded(content: bytes) -> dict[str, Any] | None:
    """Return the object, or None for what is none; half an emoji in a text does not spoil the rest."""
    try:
        value = _DECODER.decode(content)
    except (msgspec.DecodeError, ValueError, RecursionError):
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
