"""
Which project a folder belongs to: for `--project auto`, by the name of its git repository.

Asked by `engram hook` with the folder of the event and by `engram mcp` with its own; looks at the file
system and loads nothing. The home folder and the root are nobody's project. Two folders of one name are one
project: the name is all that is known, so that it stays the same when a folder is moved.
"""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Final

AUTO: Final = "auto"
"""What is said in place of a name; a project can therefore not be called so."""
_MARK = ".git"
_MOST_CHARACTERS = 200
"""As many as a part of a scope may have; its own module is more than an idle hook may load."""


def chosen(project: str | None, folder: str) -> str | None:
    """Return the project that was named, or for `auto` that of the folder."""
    return project_of(folder) if project == AUTO else project


def working_folder() -> str:
    """Return where this process works; nothing where that folder is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def project_of(folder: str) -> str | None:
    """Return the name of a folder's project; None for the home folder, the root and what is no whole path."""
    place = Path(os.path.normpath(folder))
    if not place.is_absolute():
        return None
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - does not fail where there is no home
    within = _up_to(place, home)
    root = next((one for one in within if os.path.lexists(one / _MARK)), place)
    return _usable(root.name) if within else None


def _up_to(place: Path, home: Path) -> list[Path]:
    """Return the folder and those around it, below the home folder or the root; none for these two."""
    found: list[Path] = []
    for one in (place, *place.parents):
        if one in (home, home.resolve()) or one.parent == one:
            break
        found.append(one)
    return found


def _usable(name: str) -> str | None:
    """Return a folder's name as one that a scope takes, always the same for the same folder."""
    plain = "".join(one if one.isprintable() else "-" for one in unicodedata.normalize("NFC", name))
    return plain.strip()[:_MOST_CHARACTERS].strip() or None
