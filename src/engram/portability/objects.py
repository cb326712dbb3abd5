"""
The objects of a JSON or JSONL file, each decoded alone and named by its place.

Used by every importer that reads JSON, and to tell the kinds of files apart. JSONL goes line by line, JSON
through `json_stream`; either way one object is in memory at a time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import msgspec

from engram.portability.export import MARK
from engram.portability.json_stream import Raw, raw_objects
from engram.portability.pieces import UNREADABLE_FILE
from engram.portability.record import TOO_LARGE, UNREADABLE, Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from engram.portability.pieces import Piece
    from engram.portability.record import Message, Record

MOST_LINE_BYTES = 32_000_000
"""A line of a session log may hold a picture; a longer one is passed over and reported."""
_BLANKS = b" \t\r\n\xef\xbb\xbf"
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_SAMPLE_BYTES = 65_536
_DECODER = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True)
class Object:
    """One JSON object and where it stands."""

    place: str
    value: dict[str, Any]
    list_name: str = ""
    start: int = 0
    size: int = 0
    """Where in the file it stands."""


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where an object stands and which moment it is about, to find it again in the order of time."""

    moment: datetime
    place: str
    list_name: str
    start: int
    size: int


def objects(piece: Piece) -> Iterator[Object | Broken]:
    """Yield the objects of a file in their order; what cannot be read is named by its place."""
    try:
        is_lines = _is_lines(piece)
        with piece.open() as stream:
            yield from _lines(piece.name, stream) if is_lines else _elements(piece.name, stream)
    except UNREADABLE_FILE:
        yield Broken(place=piece.name)


def said_in(piece: Piece, message: Callable[[Object], Message | None]) -> Iterator[Record]:
    """Yield what each object of a log says, where somebody said it, and what could not be read."""
    for one in objects(piece):
        if isinstance(one, Broken):
            yield one
        elif (said := message(one)) is not None:
            yield said


def conversations(
    piece: Piece,
    *,
    moment: Callable[[Mapping[str, Any]], datetime | None],
    suits: Callable[[Mapping[str, Any]], bool],
    messages: Callable[[Object], Iterable[Record]],
) -> Iterator[Record]:
    """Yield the messages of a file's conversations, oldest first; what is none is broken."""
    for one in objects_by_time(piece, moment):
        if isinstance(one, Broken):
            yield one
        elif suits(one.value):
            yield from messages(one)
        else:
            yield Broken(place=one.place)


def objects_by_time(
    piece: Piece, moment: Callable[[Mapping[str, Any]], datetime | None]
) -> Iterator[Object | Broken]:
    """
    Yield the objects of a file, oldest first: what is heard later replaces what was heard before.

    Exports often begin with the latest. The file is read twice, so that only places are in memory; an object
    that tells no moment stays behind the one before it.
    """
    spots: list[_Spot] = []
    for one in objects(piece):
        if isinstance(one, Broken):
            yield one
        else:
            told = moment(one.value) or (spots[-1].moment if spots else _EARLIEST)
            spots.append(_Spot(told, one.place, one.list_name, one.start, one.size))
    spots.sort(key=lambda spot: spot.moment)
    try:
        with piece.open_anywhere() as stream:
            for spot in spots:
                stream.seek(spot.start)
                value = _decoded(stream.read(spot.size).strip(_BLANKS))
                yield Broken(place=spot.place) if value is None else Object(spot.place, value, spot.list_name)
    except UNREADABLE_FILE:
        yield Broken(place=piece.name)


def first_objects(piece: Piece, *, limit: int) -> Sequence[Object]:
    """Return the first objects of a file that can be read, few of them, to see what it is."""
    found = (one for one in islice(objects(piece), 4 * limit) if isinstance(one, Object))
    return list(islice(found, limit))


def _is_lines(piece: Piece) -> bool:
    """
    Say whether each line is an object: by the name, or else by the first line and what follows it.

    A single line may be a whole document, such as {"results": [...]}, unless it is marked as one of our own.
    """
    if piece.suffix in (".jsonl", ".ndjson"):
        return True
    with piece.open() as stream:
        sample = stream.read(_SAMPLE_BYTES).lstrip(_BLANKS)
    line, is_cut, rest = sample.partition(b"\n")
    first = _decoded(line) if is_cut else None
    following = rest.lstrip(_BLANKS)
    return first is not None and (following.startswith(b"{") or (not following and MARK in first))


def _lines(file: str, stream: IO[bytes]) -> Iterator[Object | Broken]:
    number = end = 0
    while line := stream.readline(MOST_LINE_BYTES):
        number, start, end = number + 1, end, end + len(line)
        place = f"{file}: line {number}"
        if len(line) == MOST_LINE_BYTES and not line.endswith(b"\n"):
            end += _skip_line(stream)
            yield Broken(place=place, code=TOO_LARGE)
        elif stripped := line.strip(_BLANKS):
            value = _decoded(stripped)
            yield Broken(place=place) if value is None else Object(place, value, "", start, len(line))


def _skip_line(stream: IO[bytes]) -> int:
    """Read to the end of a line and return how many bytes that were."""
    skipped = 0
    while more := stream.readline(MOST_LINE_BYTES):
        skipped += len(more)
        if more.endswith(b"\n"):
            break
    return skipped


def _elements(file: str, stream: IO[bytes]) -> Iterator[Object | Broken]:
    for number, raw in enumerate(raw_objects(stream), start=1):
        place = f"{file}: record {number}"
        if not isinstance(raw, Raw):
            yield Broken(place=place, code=TOO_LARGE if raw.is_too_large else UNREADABLE)
            continue
        value = _decoded(raw.content)
        size = len(raw.content)
        yield Broken(place=place) if value is None else Object(place, value, raw.list_name, raw.start, size)


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
