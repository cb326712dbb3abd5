"""The step `drift`: check claims about files against folders the user opened."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import islice
from pathlib import Path, PurePosixPath

from engramdb.dream.gaps import ask_question
from engramdb.dream.step import Dreaming, Proposal, Restatus, Skipped
from engramdb.lifecycle.questions import is_quotable, missing_files_question
from engramdb.text.traits import without_paths
from engramdb.values import Memory, Status
from engramdb.values.reading import Force

# Check whether a file exists, without ever looking outside a folder that the user named.
#
# A path is walked part by part from the root, and every symbolic link is followed by hand, so that neither
# `..` nor a link leads out: such a path is refused, which is not the same as absent. Only names are looked
# at; no file is opened.

MAX_SYMLINKS = 16
"""Links followed on one path, as a guard against circles."""
MAX_PATH_PARTS = 64
MAX_ENTRIES = 50_000
"""Names that are looked at when a file is searched for; in a larger folder it counts as nowhere else."""
PASSED_OVER = frozenset({".git", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache"})


class PathCheck(Enum):
    """What a look at one path in one folder showed."""

    THERE = "there"
    ABSENT = "absent"
    UNKNOWN = "unknown"
    """It is not for this folder to say: elsewhere, refused, or unreadable."""


def check_path(root: Path, named: str) -> PathCheck:
    """Return whether a path, as a memory names it, is there in a folder."""
    parts = parts_inside(root, named)
    if parts is None or not parts:
        return PathCheck.UNKNOWN
    try:
        found = _follow_parts(Path(os.path.realpath(root)), parts)
    except OSError:
        return PathCheck.UNKNOWN
    if found is not PathCheck.ABSENT:
        return found
    is_sure = names_a_file(named) and _must_be_in_folder(root, named, parts)
    return PathCheck.ABSENT if is_sure and not _is_spelt_otherwise(root, parts) else PathCheck.UNKNOWN


def names_a_file(named: str) -> bool:
    """Return whether a text is a path beyond doubt: "test/staging" may be two words."""
    last = named.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    return named.endswith(("/", "\\")) or named.startswith(("/", "./")) or "." in last


def _is_spelt_otherwise(root: Path, parts: Sequence[str]) -> bool:
    """Return whether the path is there but for its capitals, which some disks and most people ignore."""
    here = Path(os.path.realpath(root))
    for part in parts:
        try:
            with os.scandir(here) as entries:
                names = [entry.name for entry in islice(entries, MAX_ENTRIES) if not entry.is_symlink()]
        except OSError:
            return False
        alike = next((name for name in names if name.casefold() == part.casefold()), None)
        if alike is None:
            return False
        here = here / alike
    return True


def is_elsewhere(root: Path, named: str) -> bool:
    """Return whether a file of the same name lies somewhere else in a folder: it may have been moved."""
    name = PurePosixPath(named.replace("\\", "/")).name
    seen = 0
    for _, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(set(folders) - PASSED_OVER)
        seen += len(files) + len(folders)
        if name in files or name in folders:
            return True
        if seen > MAX_ENTRIES:
            return False
    return False


def parts_inside(root: Path, named: str) -> list[str] | None:
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
    return _normalize_parts(list(path.parts))


def _normalize_parts(parts: list[str]) -> list[str] | None:
    """Return the parts without `.` and `..`, or None where they climb above where they began."""
    parts_left: list[str] = []
    for part in parts:
        if part == "..":
            if not parts_left:
                return None
            parts_left.pop()
        elif part != ".":
            parts_left.append(part)
    return parts_left if len(parts_left) <= MAX_PATH_PARTS else None


def _follow_parts(root: Path, parts: list[str]) -> PathCheck:
    """Follow the parts from a folder, links by hand and only as long as they stay below it."""
    waiting, reached, links = list(parts), list[str](), 0
    while waiting:
        part = waiting.pop(0)
        here = root.joinpath(*reached, part)
        try:
            mode = here.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return PathCheck.ABSENT
        if not stat.S_ISLNK(mode):
            reached.append(part)
            continue
        links += 1
        target = _resolve_link(root, reached, here.readlink())
        if target is None or links > MAX_SYMLINKS:
            return PathCheck.UNKNOWN
        waiting, reached = [*target, *waiting], []
    return PathCheck.THERE


def _resolve_link(root: Path, reached: list[str], link: Path) -> list[str] | None:
    """Return where a link leads as parts below the root, or None where it leads out."""
    if not link.is_absolute():
        return _normalize_parts([*reached, *link.parts])
    return _normalize_parts(list(link.relative_to(root).parts)) if link.is_relative_to(root) else None


def _must_be_in_folder(root: Path, named: str, parts: list[str]) -> bool:
    """
    Return whether a missing path should exist here: its first folder does, or the path was absolute.
    """
    if named.startswith("/"):
        return True
    if len(parts) == 1:
        return False  # a bare name may lie in any folder
    first = root / parts[0]
    return first.is_dir() and not first.is_symlink()


# Check what is claimed about files against the folders that the user opened for it.
#
# A step of the dream, for memories about code that name files: whole paths, never words that a file name
# happens to hold. A claim whose files are all gone is invalidated, with a reason that names them; where only
# some are gone, one may have been moved, or the memory is pinned, a question is asked that quotes the memory
# and names the files. What lies outside of the folders is neither looked at nor doubted, and what describes
# a removal is no claim.

PAGE_ROWS = 200
PRIORITY = 0.6
GONE_REASON = "drift: the files that it names are no longer there"

_CODE_NAME = re.compile(r"`[^`]*`|\b\w*(?:_|[a-z0-9](?=[A-Z]))\w*|[\w.]+\(\)|\w+(?:[.:/\\]+\w+)+")
"""Names of code: words inside them, as in `remove_user`, are no words of the statement."""
_SPEAKS_OF_ABSENCE = re.compile(
    r"\b(?:delet|remov|renam|moved?\b|mov(?:ing|es)\b|no longer|not? exist|doesn't exist|missing|used to"
    r"|obsolete|gone\b|dropped|replaced|will (?:be|add|create)|to be (?:added|created)|should (?:be|create)"
    r"|plan(?:s|ned)? to|ignored?\b|generated|temporary|todo:|gitignore)",
    re.IGNORECASE,
)
"""Words by which a file need not be there for the statement to hold."""


class DriftStep:
    """The step `drift`."""

    name = "drift"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield the end of every claim about files that are gone, and a question where it is not so clear."""
        roots = _open_roots(dreaming)
        after = 0
        while not dreaming.is_stopped():
            with dreaming.store.read() as tx:
                keys = tx.replays.naming_files(after_key=after, limit=PAGE_ROWS, scope=dreaming.scope)
                memories = tx.memories.by_keys(keys)
            if not keys:
                return
            after = keys[-1]
            for key in keys:
                own = [root for project, root in roots if project in (None, memories[key].scope.project)]
                yield from _propose_for_memory(dreaming, memories[key], own)


def _open_roots(dreaming: Dreaming) -> list[tuple[str | None, Path]]:
    """Return the folders, each with the project whose memories it is about, or None for everybody's."""
    if not dreaming.roots:
        raise Skipped("no folders may be looked at: name them in `dream_roots`")
    found = [(project, root) for project, root in dreaming.roots if root.is_absolute() and root.is_dir()]
    if len(found) < len(dreaming.roots):  # what lies in one that is not mounted is not gone
        raise Skipped("not all of the folders in `dream_roots` are there")
    return found


def _propose_for_memory(dreaming: Dreaming, memory: Memory, roots: Sequence[Path]) -> Iterator[Proposal]:
    if _speaks_of_absence(memory.content) or memory.force is not Force.ASSERTED:
        return
    sights = {path: _check_in_folders(roots, path) for path in memory.traits.paths}
    gone = [path for path, sight in sights.items() if sight is PathCheck.ABSENT]
    if not gone:
        return
    may_be_moved = any(is_elsewhere(root, path) for path in gone for root in roots)
    if len(gone) == len(sights) and not memory.pinned and not may_be_moved:
        reason = f"{GONE_REASON}: {', '.join(gone)}" if is_quotable(memory) else GONE_REASON
        yield Restatus(memory=memory, status=Status.INVALIDATED, reason=reason)
        return
    gap = missing_files_question(memory, priority=PRIORITY, now=dreaming.now)
    with dreaming.store.read() as tx:
        is_news = tx.gaps.is_news(gap)
    if is_news:
        yield ask_question(gap)


def _speaks_of_absence(content: str) -> bool:
    """Return whether a statement says, in its own words and not in a name, that a file need not be there."""
    return _SPEAKS_OF_ABSENCE.search(_CODE_NAME.sub(" ", without_paths(content))) is not None


def _check_in_folders(roots: Sequence[Path], path: str) -> PathCheck:
    """Return what the folders together say: there in one is there, and absent only where one must know."""
    seen = {check_path(root, path) for root in roots}
    for sight in (PathCheck.THERE, PathCheck.ABSENT):
        if sight in seen:
            return sight
    return PathCheck.UNKNOWN
