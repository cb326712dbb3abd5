"""
Plan changes to configuration files, show them, and carry them out whole or not at all.

Removing our part gives back the file of before, to the byte, where nobody else has changed it since: the copy
beside it, with our part put in, is then the same as what is there. Otherwise only our part is taken out.
"""

from __future__ import annotations

import difflib
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from engramdb.connect.parts import CannotEdit, ConfigPart

BACKUP = ".before-engram"
MAX_BYTES = 20_000_000
_CONTEXT_LINES = 2
_MAX_LINE_CHARACTERS = 200
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class FileAction(StrEnum):
    """What would happen to a file."""

    NOTHING = "nothing"
    MAKE = "make"
    CHANGE = "change"
    DELETE = "delete"
    REFUSE = "refuse"


class FileChange(Struct, frozen=True, kw_only=True):
    """One file: what it holds, what it would hold, or why it is left alone."""

    path: Path
    action: FileAction
    before: bytes | None = None
    after: bytes | None = None
    is_copied: bool = False
    """Whether the file as it is now is copied beside it first."""
    reason: str = ""
    snippet: str = ""

    @property
    def diff(self) -> str:
        """The difference, as `diff -u` shows it; very long lines are cut."""
        old, new = (_lines(one) for one in (self.before, self.after))
        names = (str(self.path), str(self.path))
        rows = difflib.unified_diff(old, new, *names, n=_CONTEXT_LINES, lineterm="")
        return "\n".join(
            row if len(row) <= _MAX_LINE_CHARACTERS else row[: _MAX_LINE_CHARACTERS - 1] + "…" for row in rows
        )


def to_connect(path: Path, part: ConfigPart) -> FileChange:
    """
    Return the change that puts our part into a file; the file of before is copied beside it.

    Where our part is in it already, that copy was made when it came, or there was no file then: a copy of one
    with our part in it would bring that back when it is removed.
    """
    change = _planned(path, part, part.put)
    if change.action is not FileAction.CHANGE:
        return change
    return replace(change, is_copied=not part.is_in(_text_of(change.before) or ""))


def to_remove(path: Path, part: ConfigPart) -> FileChange:
    """Return the change that takes our part out of a file."""

    def without(text: str) -> str | None:
        if not part.is_in(text):
            return text
        original = _text_of(read_file(backup_of(path)))
        if original is None:
            return None if _is_only_ours(text, part) else part.take_out(text, None)
        bare = part.take_out(text, original)
        is_untouched = not part.is_in(original) and _put_back(original, text, part) == text
        return original if is_untouched else bare

    return _planned(path, part, without)


def backup_of(path: Path) -> Path:
    """Return where the copy of a file lies that we have changed."""
    return path.with_name(path.name + BACKUP)


def read_file(path: Path) -> bytes | None:
    """Return what a plain file holds, or None where there is none."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise CannotEdit("it is not a plain file")
        if path.stat().st_size > MAX_BYTES:
            raise CannotEdit("it is too large to be a configuration")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise CannotEdit(f"it cannot be read: {exc.strerror}") from exc


def _planned(path: Path, part: ConfigPart, edit: Callable[[str], str | None]) -> FileChange:
    before: bytes | None = None
    try:
        before = read_file(path)
        text = _text_of(before) or ""
        edited = edit(text)
        if before is not None and edited != text:
            _check_unlocked(path)
    except CannotEdit as exc:
        return FileChange(
            path=path, action=FileAction.REFUSE, before=before, reason=str(exc), snippet=part.snippet()
        )
    if edited is None:
        return FileChange(path=path, action=FileAction.DELETE, before=before)
    if edited == text:
        return FileChange(path=path, action=FileAction.NOTHING, before=before, after=before)
    action = FileAction.MAKE if before is None else FileAction.CHANGE
    return FileChange(path=path, action=action, before=before, after=edited.encode())


def _check_unlocked(path: Path) -> None:
    """Raise where nobody may write a file: we could replace it, and its manager would put it back."""
    if not path.stat().st_mode & _WRITABLE:
        raise CannotEdit("it is read-only")


def _put_back(original: str, text: str, part: ConfigPart) -> str:
    """Return the file of before with the entry of ours that the present one has."""
    try:
        return part.like_in(text).put(original)
    except CannotEdit:
        return ""


def _is_only_ours(text: str, part: ConfigPart) -> bool:
    """Return whether a file is exactly what we would make where there was none."""
    return _put_back("", text, part) == text


def _text_of(raw: bytes | None) -> str | None:
    if raw is None:
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise CannotEdit("it is not UTF-8") from exc


def _lines(raw: bytes | None) -> list[str]:
    return [] if raw is None else raw.decode("utf-8", "replace").splitlines()


_NEW_FILE = 0o600


def carry_out(change: FileChange) -> None:
    """Make a change; raises `CannotEdit` where that is no longer safe or not possible."""
    if change.action in (FileAction.NOTHING, FileAction.REFUSE):
        return
    if read_file(change.path) != change.before:
        raise CannotEdit("it has changed in the meantime; try again")
    try:
        _carry_out(change)
    except FileExistsError as exc:
        raise CannotEdit("what should be its folder is a file, or a link that leads nowhere") from exc
    except OSError as exc:
        raise CannotEdit(f"it cannot be written: {exc.strerror}") from exc


def drop_copy(change: FileChange) -> None:
    """Delete the copy beside a file: nothing of ours is in it any more."""
    with suppress(OSError):
        backup_of(change.path).unlink(missing_ok=True)


def _carry_out(change: FileChange) -> None:
    target = Path(os.path.realpath(change.path))
    if change.after is None:
        target.unlink()
        return
    change.path.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(change.path.stat().st_mode) if change.before is not None else _NEW_FILE
    if change.is_copied and change.before is not None:
        _replace(backup_of(change.path), change.before, mode)
    _replace(target, change.after, mode)


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Put a file in the place of another in one step."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside = Path(name)
        beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
