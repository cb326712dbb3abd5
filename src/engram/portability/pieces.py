"""
The files of a source: one file, a folder of them, or the entries of a zip archive, in a fixed order.

Used by `portability.read`. Nothing is unpacked to a place that has a name. Links inside a folder or an
archive are not followed, names that point outside are not read, and an archive that would swell beyond
reason is refused before a byte of it is unpacked.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from engram.errors import ContentTooLarge, InvalidContent
from engram.portability.record import TOO_LARGE, UNREADABLE, Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

MOST_FILE_BYTES = 4_000_000_000
"""A larger file is an accident: the largest exports that people report are below one gigabyte."""
MOST_WHOLE_BYTES = 64_000_000
"""What must be read as a whole (a text, a note, a PDF) may be this large."""
MOST_SWELLING = 200
"""How many times its size an archive may unpack to; chat exports reach about 10, bombs 1,000."""
MOST_FILES = 200_000
UNREADABLE_FILE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
"""What reading a file or an entry may raise: an encrypted entry is a RuntimeError."""


@dataclass(frozen=True, slots=True)
class Piece:
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
