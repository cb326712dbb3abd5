"""
The folder of a notebook: find its notes, and write, keep and remove files in it and nowhere else.

A file is replaced as a whole or not at all, and only while it still is what was read of it, so what an editor
saves in the same moment is not lost. Links are neither followed nor written through: whatever a link points
to is not part of the notebook. A part that cannot be listed is an error and not an empty part, since the
memory of a missing note may be forgotten.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from engramdb.errors import InvalidContent, StorageError
from engramdb.notebook.file_names import BOXES, ENTITIES, FACTS, PROFILE, SUFFIX, copy_path, is_copy
from engramdb.notebook.note import MAX_NOTE_BYTES, FoundFile, file_mark, read_note
from engramdb.notebook.state import STATE_FILE, is_inside
from engramdb.text.normalize import lazy

SECTIONS = (FACTS, BOXES, ENTITIES)
MAX_NOTES = 200_000
TEMPORARY, UNFINISHED = ".engram-", ".tmp"
"""How a file is called while it is being written."""
_TOP_BYTES = 4096
"""Read of a note to find its id, which stands first where we wrote it."""
_ID = lazy(r"\A(?:\ufeff)?---\s*\n(?:(?!---).*\n)*?id:\s*[\"']?([0-9a-fA-F-]{36})\b")

MAX_OWN_BYTES = 256_000_000
"""The state and the pages may be so large: half a kilobyte for each memory, of 200,000 at most."""
_NOTHING = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
"""What systems put into every folder: one with nothing else counts as empty."""
_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def notes_below(root: Path, section: str) -> list[str]:
    """Return the notes below a part of the notebook, in order, as paths with slashes."""
    found: list[str] = []
    for inside, names in _walk(root, root / section):
        paths = [f"{inside}/{name}" for name in names if name.lower().endswith(SUFFIX)]
        found += [path for path in paths if is_inside(path) and not (root / path).is_symlink()]
        if len(found) > MAX_NOTES:
            raise InvalidContent(f"the notebook has more than {MAX_NOTES:,} files")
    return found


def ids_outside(root: Path) -> dict[str, str]:
    """Return the ids of notes that lie in the folder, but not below `facts`, and where."""
    found: dict[str, str] = {}
    for inside, names in _walk(root, root):
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
    parts = [one for section in SECTIONS for one in _walk(root, root / section)]
    top = [one.name for one in root.iterdir()] if root.is_dir() else []
    for inside, names in ((".", top), *parts):
        for name in names:
            if name.startswith(TEMPORARY) and name.endswith(UNFINISHED):
                yield root / inside / name


def signature_of(root: Path) -> str:
    """Return what the notes and pages are known by without reading them: names, sizes and times."""
    seen = sorted(told for section in SECTIONS for told in _stat_lines(root / section))
    with suppress(OSError):  # there may be none
        seen.append(_stat_line(PROFILE, (root / PROFILE).lstat()))
    return hashlib.blake2b("\n".join(seen).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _walk(root: Path, start: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder from a start on, seen from the root, with the names of its files."""
    if not start.is_dir() or (start != root and start.is_symlink()):
        return
    for place, folders, files in os.walk(start, onerror=_raise_unless_gone, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield Path(place).relative_to(root).as_posix(), sorted(files)


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # a folder that is gone in this moment is gone
        raise error


def _top_of(path: Path) -> str:
    """Return how a plain file begins; nothing for a link, or for what cannot be opened."""
    try:
        opened = os.open(path, _READING)
        with os.fdopen(opened, "rb") as stream:
            return stream.read(_TOP_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return ""


def _stat_lines(folder: Path) -> Iterator[str]:
    """Yield a line for each note below a folder, without opening any; thousands take some milliseconds."""
    try:
        with os.scandir(folder) as inside:
            for one in inside:
                if one.name.startswith("."):
                    continue
                if one.is_dir(follow_symlinks=False):
                    yield from _stat_lines(Path(one.path))
                elif one.name.lower().endswith(SUFFIX):
                    yield _stat_line(one.path, one.stat(follow_symlinks=False))
    except OSError:  # gone in this moment: the next look sees it as it is then
        return


def _stat_line(path: str, about: os.stat_result) -> str:
    return f"{path}\0{about.st_mtime_ns}\0{about.st_size}"


class Folder:
    """One notebook on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    # --- looking --------------------------------------------------------------------------------------------

    def is_free(self) -> bool:
        """Return whether there is nothing in it that could be somebody's."""
        with translate_errors():
            return not self.root.exists() or all(one.name in _NOTHING for one in self.root.iterdir())

    def notes(self) -> list[FoundFile]:
        """Return the notes, in the order of their paths, without copies of earlier conflicts."""
        with translate_errors():
            return [self._found(path) for path in notes_below(self.root, FACTS) if not is_copy(path)]

    def outside(self) -> dict[str, str]:
        """Return the ids of notes that somebody has moved out of `facts`, and where they are."""
        with translate_errors():
            return ids_outside(self.root)

    def copies(self) -> tuple[str, ...]:
        """Return the copies that keep what syncs would have lost."""
        with translate_errors():
            every = [path for section in SECTIONS for path in notes_below(self.root, section)]
            beside = [one.name for one in self.root.glob(f"*{SUFFIX}")] if self.root.is_dir() else []
        return tuple(sorted(path for path in (*every, *beside) if is_copy(path)))

    def signature(self) -> str:
        """Return what the notes and pages are known by without reading them."""
        return signature_of(self.root)

    def read(self, path: str, *, max_bytes: int = MAX_OWN_BYTES) -> bytes | None:
        """Return what a plain file holds, up to a limit; None where there is none, or something else."""
        try:
            opened = os.open(self._at(path), _READING)
        except OSError:
            return None
        with os.fdopen(opened, "rb") as stream:
            about = os.fstat(opened)
            is_file = stat.S_ISREG(about.st_mode) and self._is_ours(path)
            return stream.read(min(max_bytes, about.st_size + 1)) if is_file else None

    def is_taken(self, path: str) -> bool:
        """Return whether something stands at a path, a link that leads nowhere too."""
        return os.path.lexists(self._at(path))

    # --- changing -------------------------------------------------------------------------------------------

    def put(self, path: str, content: bytes, *, instead_of: str | None) -> bool:
        """Write a file whole; says False, and writes nothing, where it is not what it was taken for."""
        with translate_errors():
            self._make_way(path)
            target = self._at(path)
            handle, name = tempfile.mkstemp(prefix=TEMPORARY, suffix=UNFINISHED, dir=target.parent)
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
        with translate_errors():
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

    def clear_away(self) -> None:
        """Remove what a killed sync left half written: it holds words, and nobody would look at it."""
        with translate_errors():
            for path in left_behind(self.root):
                path.unlink(missing_ok=True)

    # --- the pieces -----------------------------------------------------------------------------------------

    def _at(self, path: str) -> Path:
        return self.root.joinpath(*path.split("/"))

    def _mark(self, path: str) -> str | None:
        """Return what stands at a path is known by; what is no plain file is known by nothing of ours."""
        content = self.read(path)
        if content is None:
            return "something else" if self.is_taken(path) else None
        return file_mark(content)

    def _found(self, path: str) -> FoundFile:
        content = self.read(path, max_bytes=MAX_NOTE_BYTES + 1)
        if content is None:
            return FoundFile(path=path, why="it cannot be opened")
        try:
            return FoundFile(path=path, content=content, note=read_note(content))
        except InvalidContent as exc:
            return FoundFile(path=path, content=content, why=exc.message)

    def _is_ours(self, path: str) -> bool:
        """Return whether no link leads to a file on its way from the folder."""
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


@contextmanager
def translate_errors() -> Iterator[None]:
    """Say in our own words what the file system refuses, without a path: names hold words of memories."""
    try:
        yield
    except OSError as exc:
        raise StorageError(
            f"the folder of the notebook cannot be used: {exc.strerror or type(exc).__name__}",
            hint="Check its permissions and the room on its disk; the next sync goes on from here.",
        ) from exc
