"""
Carry out a planned change, whole or not at all.

Called by `engram connect` when the person has agreed. A file that has changed since it was planned is left
alone. The new text is written beside the file and takes its place in one step; a link is followed, so that
whoever keeps configuration elsewhere finds it there. Permissions stay as they are.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engram.surfaces.connect.part import CannotEdit
from engram.surfaces.connect.plan import Doing, backup_of, read_file

if TYPE_CHECKING:
    from engram.surfaces.connect.plan import Change

_NEW_FILE = 0o600


def carry_out(change: Change) -> None:
    """Make a change; raises `CannotEdit` where that is no longer safe or not possible."""
    if change.doing in (Doing.NOTHING, Doing.REFUSE):
        return
    if read_file(change.path) != change.before:
        raise CannotEdit("it has changed in the meantime; try again")
    try:
        _carry_out(change)
    except FileExistsError as exc:
        raise CannotEdit("what should be its folder is a file, or a link that leads nowhere") from exc
    except OSError as exc:
        raise CannotEdit(f"it cannot be written: {exc.strerror}") from exc


def drop_copy(change: Change) -> None:
    """Delete the copy that was kept beside a file: nothing of ours is in it any more."""
    with suppress(OSError):
        backup_of(change.path).unlink(missing_ok=True)


def _carry_out(change: Change) -> None:
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
