"""
Look whether a file is there, without ever looking outside of a folder that the user named.

Called by the step `drift`. A path is walked part by part from the root, and every symbolic link is followed
by hand, so that neither `..` nor a link leads out: such a path is refused, which is not the same as absent.
Only names are looked at; no file is opened.
"""

from __future__ import annotations

import os
import stat
from enum import Enum
from pathlib import Path, PurePosixPath

MOST_LINKS = 16
"""Links followed on one path, as a guard against circles."""
MOST_PARTS = 64


class Sight(Enum):
    """What a look at one path in one folder showed."""

    THERE = "there"
    ABSENT = "absent"
    UNKNOWN = "unknown"
    """It is not for this folder to say: elsewhere, refused, or unreadable."""


def look(root: Path, named: str) -> Sight:
    """Say whether a path, as a memory names it, is there in a folder."""
    parts = inside(root, named)
    if parts is None or not parts:
        return Sight.UNKNOWN
    try:
        found = _walk(Path(os.path.realpath(root)), parts)
    except OSError:
        return Sight.UNKNOWN
    if found is Sight.ABSENT and not _is_of_this_folder(root, named, parts):
        return Sight.UNKNOWN
    return found


def inside(root: Path, named: str) -> list[str] | None:
    """Return the parts of a path below a folder, or None where it lies elsewhere or leads out."""
    text = named.replace("\\", "/")
    if not text.strip() or "\0" in text or text.startswith("~") or text[1:3] == ":/":
        return None
    path = PurePosixPath(text)
    if path.is_absolute():
        for base in dict.fromkeys((PurePosixPath(root.as_posix()), PurePosixPath(os.path.realpath(root)))):
            if path.is_relative_to(base):
                path = path.relative_to(base)
                break
        else:
            return None
    return _settled(list(path.parts))


def _settled(parts: list[str]) -> list[str] | None:
    """Return the parts without `.` and `..`, or None where they climb above where they began."""
    kept: list[str] = []
    for part in parts:
        if part == "..":
            if not kept:
                return None
            kept.pop()
        elif part != ".":
            kept.append(part)
    return kept if len(kept) <= MOST_PARTS else None


def _walk(root: Path, parts: list[str]) -> Sight:
    """Follow the parts from a folder, links by hand and only as long as they stay below it."""
    waiting, reached, links = list(parts), list[str](), 0
    while waiting:
        part = waiting.pop(0)
        here = root.joinpath(*reached, part)
        try:
            mode = here.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return Sight.ABSENT
        if not stat.S_ISLNK(mode):
            reached.append(part)
            continue
        links += 1
        target = _target(root, reached, here.readlink())
        if target is None or links > MOST_LINKS:
            return Sight.UNKNOWN
        waiting, reached = [*target, *waiting], []
    return Sight.THERE


def _target(root: Path, reached: list[str], link: Path) -> list[str] | None:
    """Return where a link leads as parts below the root, or None where it leads out."""
    if not link.is_absolute():
        return _settled([*reached, *link.parts])
    return _settled(list(link.relative_to(root).parts)) if link.is_relative_to(root) else None


def _is_of_this_folder(root: Path, named: str, parts: list[str]) -> bool:
    """Say whether a path that is not there would have to be: its first folder is, or it was given whole."""
    if named.startswith("/"):
        return True
    if len(parts) == 1:
        return False  # a bare name may lie in any folder
    first = root / parts[0]
    return first.is_dir() and not first.is_symlink()
