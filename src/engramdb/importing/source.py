"""
The files of a source, and the records that importers make of them.

A source is one file, a folder or a zip archive; its files come in a fixed order. Nothing is unpacked to a
place that has a name, links are not followed, names that point outside are not read, and an archive that
would swell beyond reason is refused before a byte of it is unpacked. A record says where it stands
("notes/tea.md: line 12"), which is all that a report shows of it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO, TypeAlias

from msgspec import Struct

from engramdb.errors import ContentTooLarge, InvalidContent
from engramdb.values import GLOBAL, EdgeType, Kind, Layer, MemoryType, Moment, Role, Scope, SecurityTier
from engramdb.values.memory import Voice
from engramdb.values.reading import Force, Lasting

UNREADABLE = InvalidContent.code
TOO_LARGE = ContentTooLarge.code


class SourceLink(Struct, frozen=True, kw_only=True):
    """That a statement has to do with another one, which is known by the source's own name for it."""

    to: str
    type: EdgeType
    weight: float


class SourceStatement(Struct, frozen=True, kw_only=True):
    """A statement that some other memory, note or table holds."""

    content: str
    place: str
    key: str = ""
    """The source's own name for it; without one, its words are its name."""
    category: str | None = None
    speaker: str | None = None
    session: str | None = None
    occurred_at: datetime | None = None
    said_at: datetime | None = None
    """When it was said, where the source knows that to be another moment."""
    valid_from: datetime | None = None
    """From when on it held there, where that is another moment."""
    valid_to: datetime | None = None
    """Until when it holds there, where it does not hold for good."""
    moments: tuple[Moment, ...] = ()
    """The times that it names, where the source has read them."""
    confidence: float | None = None
    importance: float | None = None
    user: str | None = None
    agent: str | None = None
    layer: Layer | None = None
    type: MemoryType | None = None
    kind: Kind | None = None
    voice: Voice = Voice.OWN
    """Whose words they are: of a file that is only quoted, not the speaker's own."""
    force: Force | None = None
    lasting: Lasting | None = None
    pinned: bool = False
    forget_after: datetime | None = None
    scope: Scope = GLOBAL
    """Where it was known; each part counts where the import leaves it open."""
    flags: tuple[str, ...] = ()
    """Warnings that it had there, which stay."""
    security: SecurityTier = SecurityTier.CLEARTEXT
    """How well it was protected there; it never gets less here."""
    links: tuple[SourceLink, ...] = ()
    """What it has to do with, of the same source."""


class SourceMessage(Struct, frozen=True, kw_only=True):
    """One message of a conversation, as it was said."""

    content: str
    place: str
    role: Role = Role.USER
    key: str = ""
    speaker: str | None = None
    session: str | None = None
    occurred_at: datetime | None = None
    user: str | None = None
    agent: str | None = None


class BrokenRecord(Struct, frozen=True, kw_only=True):
    """A record or a file that could not be read, by its place and the code of the reason."""

    place: str
    code: str = UNREADABLE


class SkippedFile(Struct, frozen=True, kw_only=True):
    """A file that is of no kind that can be imported."""

    place: str


Record: TypeAlias = SourceStatement | SourceMessage | BrokenRecord


MAX_FILE_BYTES = 4_000_000_000
"""A larger file is an accident: the largest exports that people report are below one gigabyte."""
MAX_WHOLE_BYTES = 64_000_000
"""What must be read as a whole (a text, a note, a PDF) may be this large."""
MAX_EXPANSION = 200
"""How many times its size an archive may unpack to; chat exports reach about 10, bombs 1,000."""
MAX_FILES = 200_000
_ZIP = b"PK\x03\x04"
UNREADABLE_FILE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
"""What reading a file or an entry may raise: an encrypted entry is a RuntimeError."""


class SourceFile(Struct, frozen=True):
    """One file of a source: its name as it is reported, its size and how to open it."""

    name: str
    size: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    is_packed: bool = False
    """Whether going back in it means to unpack it again."""

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
            with tempfile.SpooledTemporaryFile(max_size=MAX_WHOLE_BYTES) as unpacked:
                shutil.copyfileobj(stream, unpacked, 1 << 20)
                yield unpacked

    def whole(self) -> bytes:
        """Return all of it; raises where that is too large."""
        with self.open() as stream:
            content = stream.read(MAX_WHOLE_BYTES + 1)
        if len(content) > MAX_WHOLE_BYTES:
            raise ContentTooLarge(f"{self.name} is larger than {MAX_WHOLE_BYTES:,} bytes", hint="Split it.")
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
def source_files(path: Path | SourceFile) -> Iterator[Iterator[SourceFile | BrokenRecord]]:
    """Yield the files of a source, in the order of their names; raises where there is no source."""
    if isinstance(path, SourceFile):
        with _inside(path) as found:
            yield found
        return
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


@contextmanager
def _inside(file: SourceFile) -> Iterator[Iterator[SourceFile | BrokenRecord]]:
    """Yield a file that has no path, or what is packed in it."""
    with file.open() as stream:
        is_archive = stream.read(len(_ZIP)) == _ZIP
        if not is_archive:
            yield iter([file])
            return
        try:
            archive = zipfile.ZipFile(stream)
        except UNREADABLE_FILE as exc:
            raise InvalidContent("the archive cannot be read; it may be cut off") from exc
        with archive:
            yield _in_archive(archive, size=file.size)


@contextmanager
def nameless_copy(stream: IO[bytes], name: str) -> Iterator[SourceFile]:
    """Yield what a pipe holds as a file that has no name, so that nothing is left of it if we are killed."""
    with tempfile.TemporaryFile(prefix="engram-") as file:
        shutil.copyfileobj(stream, file, 1 << 20)
        size = file.tell()

        @contextmanager
        def again() -> Iterator[IO[bytes]]:
            file.seek(0)
            yield file

        yield SourceFile(name, size, again)


def _file(path: Path, name: str) -> SourceFile | BrokenRecord:
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        return BrokenRecord(place=name, code=TOO_LARGE)
    return SourceFile(name, size, lambda: path.open("rb"))


def _in_folder(folder: Path) -> Iterator[SourceFile | BrokenRecord]:
    """Yield the plain files below a folder; hidden ones and links are passed over."""
    count = 0
    for place, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(place) / name
            if name.startswith(".") or not stat.S_ISREG(path.lstat().st_mode):
                continue
            count += 1
            if count > MAX_FILES:
                yield BrokenRecord(place=f"file {count}", code=TOO_LARGE)
                return
            yield _file(path, _printable(path.relative_to(folder).as_posix()))


def _printable(name: str) -> str:
    """Return a name that can be stored and shown, whatever bytes the file system holds."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(_ZIP)) == _ZIP
    except OSError as exc:
        raise InvalidContent(f"the file cannot be read: {exc.strerror}") from exc


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except UNREADABLE_FILE as exc:
        raise InvalidContent("the archive cannot be read; it may be cut off") from exc


def _in_archive(archive: zipfile.ZipFile, *, size: int) -> Iterator[SourceFile | BrokenRecord]:
    entries = sorted(archive.infolist(), key=lambda entry: entry.filename)
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_FILES or total > max(size, 100_000) * MAX_EXPANSION:
        raise ContentTooLarge(
            f"the archive of {size:,} bytes would unpack to {len(entries):,} files of {total:,} bytes",
            hint="If you trust it, unpack it and import the folder.",
        )
    for entry in entries:
        if not entry.is_dir():
            yield _entry(archive, entry)


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> SourceFile | BrokenRecord:
    name = PurePosixPath(entry.filename.replace("\\", "/"))
    is_link = stat.S_ISLNK(entry.external_attr >> 16)
    is_outside = name.is_absolute() or ".." in name.parts or ":" in name.parts[0]
    if is_link or is_outside or entry.flag_bits & 1:  # the bit of an encrypted entry
        return BrokenRecord(place=_printable(name.name), code=UNREADABLE)
    if entry.file_size > MAX_FILE_BYTES:
        return BrokenRecord(place=_printable(str(name)), code=TOO_LARGE)
    return SourceFile(_printable(str(name)), entry.file_size, lambda: archive.open(entry), is_packed=True)
