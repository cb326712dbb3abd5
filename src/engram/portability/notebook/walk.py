"""
Look through the folder of a notebook: which notes are there, which were carried off, what a kill left.

Used by `folder`. Reads names, and of notes outside `facts` the first lines; changes nothing. Hidden folders
and links are passed over. A part that cannot be listed is an error and not an empty part: what seems to be
missing may be forgotten.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engram.errors import InvalidContent
from engram.portability.notebook.names import BOXES, ENTITIES, FACTS, PROFILE, SUFFIX, is_copy
from engram.portability.notebook.state import is_inside
from engram.text.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTIONS = (FACTS, BOXES, ENTITIES)
MOST_NOTES = 200_000
TEMPORARY, UNFINISHED = ".engram-", ".tmp"
"""How a file is called while it is being written."""
_TOP_BYTES = 4096
"""So much of a note is read to find its id, which stands first where we wrote it."""
_ID = lazy(r"\A(?:\ufeff)?---\s*\n(?:(?!---).*\n)*?id:\s*[\"']?([0-9a-fA-F-]{36})\b")


def notes_below(root: Path, section: str) -> list[str]:
    """Return the notes below a part of the notebook, in order, as paths with slashes."""
    found: list[str] = []
    for inside, names in _walked(root, root / section):
        paths = [f"{inside}/{name}" for name in names if name.lower().endswith(SUFFIX)]
        found += [path for path in paths if is_inside(path) and not (root / path).is_symlink()]
        if len(found) > MOST_NOTES:
            raise InvalidContent(f"the notebook has more than {MOST_NOTES:,} files")
    return found


def ids_outside(root: Path) -> dict[str, str]:
    """Return the ids of notes that lie in the folder, but not below `facts`, and where."""
    found: dict[str, str] = {}
    for inside, names in _walked(root, root):
        if inside.split("/")[0] == FACTS:
            continue
        for name in names:
            path = name if inside == "." else f"{inside}/{name}"
            if is_inside(path) and not is_copy(path):
                told = _ID.match(_top_of(root / path))
                if told:
                    found.setdefault(told[1].lower(), path)
    return found


def left_behind(root: Path) -> Iterator[Path]:
    """Yield the files that a sync was writing when it was killed."""
    parts = [one for section in SECTIONS for one in _walked(root, root / section)]
    top = [one.name for one in root.iterdir()] if root.is_dir() else []
    for inside, names in ((".", top), *parts):
        for name in names:
            if name.startswith(TEMPORARY) and name.endswith(UNFINISHED):
                yield root / inside / name


def signature_of(root: Path) -> str:
    """Return what the notes and pages are known by without reading them: names, sizes and times."""
    seen = sorted(told for section in SECTIONS for told in _looked_at(root / section))
    with suppress(OSError):  # there may be none
        seen.append(_told(PROFILE, (root / PROFILE).lstat()))
    return hashlib.blake2b("\n".join(seen).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _walked(root: Path, start: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder from a start on, seen from the root, with the names of its files."""
    if not start.is_dir() or (start != root and start.is_symlink()):
        return
    for place, folders, files in os.walk(start, onerror=_raised, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield Path(place).relative_to(root).as_posix(), sorted(files)


def _raised(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # a folder that is gone in this moment is gone
        raise error


def _top_of(path: Path) -> str:
    """Return how a plain file begins; nothing for a link, or for what cannot be opened."""
    try:
        opened = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(opened, "rb") as stream:
            return stream.read(_TOP_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return ""


def _looked_at(folder: Path) -> Iterator[str]:
    """Yield a line for each note below a folder, without opening any; thousands take some milliseconds."""
    try:
        with os.scandir(folder) as inside:
            for one in inside:
                if one.name.startswith("."):
                    continue
                if one.is_dir(follow_symlinks=False):
                    yield from _looked_at(Path(one.path))
                elif one.name.lower().endswith(SUFFIX):
                    yield _told(one.path, one.stat(follow_symlinks=False))
    except OSError:  # gone in this moment: the next look sees it as it is then
        return


def _told(path: str, about: os.stat_result) -> str:
    return f"{path}\0{about.st_mtime_ns}\0{about.st_size}"
