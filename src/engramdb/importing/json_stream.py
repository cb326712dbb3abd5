"""Read large JSON piece by piece."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any

import msgspec
from msgspec import Struct

from engramdb.errors import ContentTooLarge, InvalidContent
from engramdb.exporting.export import MARK
from engramdb.importing.record import TOO_LARGE, UNREADABLE, Broken, Message, Record

# Take the objects out of a JSON file one by one, however large the file is.
#
# Used by `portability.objects`. Only brackets and strings are looked at to find where an object ends; the
# object itself is then decoded alone. So memory is bounded by the largest object and not by the file, and one
# broken object costs that object and nothing behind it.

CHUNK_BYTES = 1 << 20
MOST_OBJECT_BYTES = 64_000_000
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


class Raw(Struct, frozen=True):
    """The bytes of one object and the name of the list that it stands in, empty for the outermost list."""

    content: bytes
    list_name: str
    start: int = 0
    """Where in the stream it begins."""


class Unfit(Struct, frozen=True):
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
            if self._depth > MAX_DEPTH or len(self._buffer) - self._place > self._most_bytes:
                yield Unfit(is_too_large=True)  # a tower, or an endless string: where it ends cannot be told
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

    def _close(self) -> Iterator[Raw | Unfit]:
        self._depth = max(0, self._depth - 1)
        if self._start is not None and self._depth == self._list_depth:
            is_too_large = self._is_dropping or self._place - self._start > self._most_bytes
            content, start = self._buffer[self._start : self._place], self._base + self._start
            self._start, self._is_dropping = None, False
            yield Unfit(is_too_large=True) if is_too_large else Raw(content, self._list_name, start)
        elif self._depth < self._list_depth:
            self._list_depth = 0


# The files of a source: one file, a folder of them, or the entries of a zip archive, in a fixed order.
#
# Used by `portability.read`. Nothing is unpacked to a place that has a name. Links inside a folder or an
# archive are not followed, names that point outside are not read, and an archive that would swell beyond
# reason is refused before a byte of it is unpacked.

MOST_FILE_BYTES = 4_000_000_000
"""A larger file is an accident: the largest exports that people report are below one gigabyte."""
MOST_WHOLE_BYTES = 64_000_000
"""What must be read as a whole (a text, a note, a PDF) may be this large."""
MOST_SWELLING = 200
"""How many times its size an archive may unpack to; chat exports reach about 10, bombs 1,000."""
MOST_FILES = 200_000
UNREADABLE_FILE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
"""What reading a file or an entry may raise: an encrypted entry is a RuntimeError."""


class Piece(Struct, frozen=True):
    """One file of a source: its name as it is reported, its size and how to open it."""

    name: str
    size: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    is_packed: bool = False
    """Whether going back in it means to unpack it anew."""

    @property
    def suffix(self) -> str:
        """The end of its name, in lower case: `.json`."""
        return PurePosixPath(self.name).suffix.lower()

    @contextmanager
    def open_anywhere(self) -> Iterator[IO[bytes]]:
        """Open it for reading here and there; what is packed goes to a file that nobody else can see."""
        with self.open() as stream:
            if not self.is_packed:
                yield stream
                return
            with tempfile.SpooledTemporaryFile(max_size=MOST_WHOLE_BYTES) as unpacked:
                shutil.copyfileobj(stream, unpacked, 1 << 20)
                yield unpacked

    def whole(self) -> bytes:
        """Return all of it; raises where that is too large."""
        with self.open() as stream:
            content = stream.read(MOST_WHOLE_BYTES + 1)
        if len(content) > MOST_WHOLE_BYTES:
            raise ContentTooLarge(f"{self.name} is larger than {MOST_WHOLE_BYTES:,} bytes", hint="Split it.")
        return content

    def text(self) -> str:
        """Return all of it as text; raises where it is too large or not text."""
        content = self.whole()
        is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
        try:
            text = content.decode("utf-16" if is_wide else "utf-8-sig")
        except UnicodeDecodeError as exc:
            raise InvalidContent(f"{self.name} is not UTF-8", hint="Convert it first.") from exc
        if "\0" in text:
            raise InvalidContent(f"{self.name} is not text")
        return text


@contextmanager
def pieces(path: Path) -> Iterator[Iterator[Piece | Broken]]:
    """Yield the files of a source, in the order of their names; raises where there is no source."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as exc:
        raise InvalidContent("there is nothing to import at that path", hint="Check the path.") from exc
    if stat.S_ISDIR(mode):
        yield _in_folder(path)
    elif not stat.S_ISREG(mode):
        raise InvalidContent("the path is neither a file nor a folder")
    elif path.suffix.lower() == ".zip" or _is_zip(path):
        with _opened(path) as archive:
            yield _in_archive(archive, size=path.stat().st_size)
    else:
        yield iter([_file(path, path.name)])


def _file(path: Path, name: str) -> Piece | Broken:
    size = path.stat().st_size
    if size > MOST_FILE_BYTES:
        return Broken(place=name, code=TOO_LARGE)
    return Piece(name, size, lambda: path.open("rb"))


def _in_folder(folder: Path) -> Iterator[Piece | Broken]:
    """Yield the plain files below a folder; hidden ones and links are passed over."""
    count = 0
    for place, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(place) / name
            if name.startswith(".") or not stat.S_ISREG(path.lstat().st_mode):
                continue
            count += 1
            if count > MOST_FILES:
                yield Broken(place=f"file {count}", code=TOO_LARGE)
                return
            yield _file(path, _printable(path.relative_to(folder).as_posix()))


def _printable(name: str) -> str:
    """Return a name that can be stored and shown, whatever bytes the file system holds."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"PK\x03\x04"
    except OSError as exc:
        raise InvalidContent(f"the file cannot be read: {exc.strerror}") from exc


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except UNREADABLE_FILE as exc:
        raise InvalidContent("the archive cannot be read; it may be cut off") from exc


def _in_archive(archive: zipfile.ZipFile, *, size: int) -> Iterator[Piece | Broken]:
    entries = sorted(archive.infolist(), key=lambda entry: entry.filename)
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_FILES or total > max(size, 100_000) * MOST_SWELLING:
        raise ContentTooLarge(
            f"the archive of {size:,} bytes would unpack to {len(entries):,} files of {total:,} bytes",
            hint="If you trust it, unpack it and import the folder.",
        )
    for entry in entries:
        if not entry.is_dir():
            yield _entry(archive, entry)


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Piece | Broken:
    name = PurePosixPath(entry.filename.replace("\\", "/"))
    is_link = stat.S_ISLNK(entry.external_attr >> 16)
    is_outside = name.is_absolute() or ".." in name.parts or ":" in name.parts[0]
    if is_link or is_outside or entry.flag_bits & 1:  # the bit of an encrypted entry
        return Broken(place=_printable(name.name), code=UNREADABLE)
    if entry.file_size > MOST_FILE_BYTES:
        return Broken(place=_printable(str(name)), code=TOO_LARGE)
    return Piece(_printable(str(name)), entry.file_size, lambda: archive.open(entry), is_packed=True)


# The objects of a JSON or JSONL file, each decoded alone and named by its place.
#
# Used by every importer that reads JSON, and to tell the kinds of files apart. JSONL goes line by line, JSON
# through `json_stream`; either way one object is in memory at a time.

MOST_LINE_BYTES = 32_000_000
"""A line of a session log may hold a picture; a longer one is passed over and reported."""
_BLANKS = b" \t\r\n\xef\xbb\xbf"
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_SAMPLE_BYTES = 65_536
_DECODER = msgspec.json.Decoder()


class Object(Struct, frozen=True):
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
