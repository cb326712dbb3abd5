"""
The folder of a notebook: find its notes, and write, keep and remove files in it and nowhere else.

Used by the engine's sync. A file is replaced as a whole or not at all, and only while it still is what was
read of it, so what an editor saves in the same moment is not lost. Links are neither followed nor written
through: whatever a link points to is not part of the notebook.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engram.errors import InvalidContent, StorageError
from engram.portability.notebook.names import (
    BOXES,
    ENTITIES,
    FACTS,
    PROFILE,
    SUFFIX,
    copy_path,
    is_copy,
)
from engram.portability.notebook.note import MOST_BYTES, file_mark, read_note
from engram.portability.notebook.state import STATE_FILE, is_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.portability.notebook.note import Note

MOST_NOTES = 200_000
_NOTHING = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
"""What systems put into every folder: one with nothing else counts as empty."""
_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One file below `facts`; without a note, `why` says what is wrong with it."""

    path: str
    content: bytes = b""
    note: Note | None = None
    why: str = ""

    @property
    def mark(self) -> str:
        """What its bytes are known by."""
        return file_mark(self.content)


class Folder:
    """One notebook on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    # --- looking --------------------------------------------------------------------------------------------

    def is_notebook(self) -> bool:
        """Say whether a sync has been here before."""
        return self.read(STATE_FILE) is not None

    def is_free(self) -> bool:
        """Say whether there is nothing in it that could be somebody's."""
        with _translated():
            return not self.root.exists() or all(one.name in _NOTHING for one in self.root.iterdir())

    def notes(self) -> list[Found]:
        """Return the notes, in the order of their paths, without copies of earlier conflicts."""
        return [self._found(path) for path in self._paths(FACTS) if not is_copy(path)]

    def copies(self) -> tuple[str, ...]:
        """Return the copies that keep what syncs would have lost."""
        every = [path for section in (FACTS, BOXES, ENTITIES) for path in self._paths(section)]
        beside = [one.name for one in self.root.glob(f"*{SUFFIX}")] if self.root.is_dir() else []
        return tuple(sorted(path for path in (*every, *beside) if is_copy(path)))

    def signature(self) -> str:
        """Return what the notes and pages are known by without reading them: names, sizes and times."""
        seen = sorted(
            told for section in (FACTS, BOXES, ENTITIES) for told in _looked_at(self.root / section)
        )
        with contextlib.suppress(OSError):
            seen.append(_told(PROFILE, self._at(PROFILE).lstat()))
        return hashlib.blake2b("\n".join(seen).encode("utf-8", "replace"), digest_size=16).hexdigest()

    def read(self, path: str) -> bytes | None:
        """Return what a plain file holds; None where there is none, or something else."""
        try:
            opened = os.open(self._at(path), _READING)
        except OSError:
            return None
        with os.fdopen(opened, "rb") as stream:
            is_file = stat.S_ISREG(os.fstat(opened).st_mode)
            return stream.read(MOST_BYTES + 1) if is_file and self._is_ours(path) else None

    def is_taken(self, path: str) -> bool:
        """Say whether something stands at a path, a link that leads nowhere too."""
        return os.path.lexists(self._at(path))

    # --- changing -------------------------------------------------------------------------------------------

    def put(self, path: str, content: bytes, *, instead_of: str | None) -> bool:
        """Write a file whole; says False, and writes nothing, where it is not what it was taken for."""
        with _translated():
            self._make_way(path)
            target = self._at(path)
            handle, name = tempfile.mkstemp(prefix=".engram-", suffix=".tmp", dir=target.parent)
            temporary = Path(name)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(content)
                if instead_of is not None and target.is_file():
                    temporary.chmod(stat.S_IMODE(target.stat().st_mode))
                if self._mark(path) != instead_of:  # as late as can be
                    return False
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)
        return True

    def drop(self, path: str, *, instead_of: str) -> bool:
        """Remove a file, and the folder that it was the last of; says False where it has changed."""
        with _translated():
            if self._mark(path) != instead_of:
                return not self.is_taken(path)
            target = self._at(path)
            target.unlink()
            with contextlib.suppress(OSError):
                for folder in target.parents[: max(0, path.count("/") - 1)]:  # never the section itself
                    folder.rmdir()
        return True

    def keep(self, path: str, content: bytes) -> str:
        """Keep what a file said beside it, and return under which name."""
        name = copy_path(path, file_mark(content))
        if self._mark(name) != file_mark(content):
            self.put(name, content, instead_of=self._mark(name))
        return name

    def set_state(self, content: bytes) -> None:
        """Write the notebook's state, unless it is there already."""
        if self.read(STATE_FILE) != content:
            self.put(STATE_FILE, content, instead_of=self._mark(STATE_FILE))

    # --- the pieces -----------------------------------------------------------------------------------------

    def _at(self, path: str) -> Path:
        return self.root.joinpath(*path.split("/"))

    def _mark(self, path: str) -> str | None:
        """Return what stands at a path is known by; what is no plain file is known by nothing of ours."""
        content = self.read(path)
        if content is None:
            return "something else" if self.is_taken(path) else None
        return file_mark(content)

    def _found(self, path: str) -> Found:
        content = self.read(path)
        if content is None:
            return Found(path=path, why="it cannot be opened")
        try:
            return Found(path=path, content=content, note=read_note(content))
        except InvalidContent as exc:
            return Found(path=path, content=content, why=exc.message)

    def _paths(self, section: str) -> list[str]:
        """Return the notes below a part of the notebook; hidden ones and links are passed over."""
        start = self.root / section
        if not start.is_dir() or start.is_symlink():
            return []
        found: list[str] = []
        for place, folders, files in os.walk(start, followlinks=False):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            inside = Path(place).relative_to(self.root).as_posix()
            paths = [f"{inside}/{name}" for name in sorted(files) if name.lower().endswith(SUFFIX)]
            found += [path for path in paths if is_inside(path) and not self._at(path).is_symlink()]
            if len(found) > MOST_NOTES:
                raise InvalidContent(f"the notebook has more than {MOST_NOTES:,} files")
        return found

    def _is_ours(self, path: str) -> bool:
        """Say whether no link leads to a file on its way from the folder."""
        steps = path.split("/")[:-1]
        return not any(self.root.joinpath(*steps[:end]).is_symlink() for end in range(1, len(steps) + 1))

    def _make_way(self, path: str) -> None:
        """Make the folders that a file stands in, and see that none of them leads elsewhere."""
        self.root.mkdir(parents=True, exist_ok=True)
        place = self.root
        for step in path.split("/")[:-1]:
            place /= step
            place.mkdir(exist_ok=True)
            if place.is_symlink():
                raise InvalidContent("a folder of the notebook is a link", hint="Put a plain folder there.")


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


@contextmanager
def _translated() -> Iterator[None]:
    """Say in our own words what the file system refuses, without a path: names hold words of memories."""
    try:
        yield
    except OSError as exc:
        raise StorageError(
            f"the folder of the notebook cannot be used: {exc.strerror or type(exc).__name__}",
            hint="Check its permissions and the room on its disk; the next sync goes on from here.",
        ) from exc
