"""
Change one line of the settings file and leave the rest as the user wrote it.

Called by `models use`. The new text is parsed before it is written, and differs from the old in the one
setting or is not written at all; the file is replaced in one step.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from pathlib import Path

from engram.errors import InvalidSettings

_SETTING = re.compile(r"""\s*(["']?)embedder\1\s*=""")
_TABLE = re.compile(r"\s*\[")


def set_embedder(file: Path, name: str) -> None:
    """Write `embedder = "name"` into the file, made if need be."""
    try:
        before = file.read_bytes().decode() if file.exists() else ""
        after = with_embedder(before, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, after)
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidSettings(f"{file} cannot be changed: {exc}", hint="Check its permissions.") from exc


def with_embedder(text: str, name: str) -> str:
    """Return the text of a settings file with this embedder in it."""
    line = f"embedder = {json.dumps(name)}"  # a JSON string without control characters is a TOML string
    lines = text.splitlines(keepends=True)
    end_of_top = next((place for place, one in enumerate(lines) if _TABLE.match(one)), len(lines))
    place = next((place for place in range(end_of_top) if _SETTING.match(lines[place])), None)
    if place is not None:
        ending = lines[place][len(lines[place].rstrip("\r\n")) :]
        lines[place] = line + ending
    else:
        if end_of_top and not lines[end_of_top - 1].endswith("\n"):
            lines[end_of_top - 1] += "\n"
        lines.insert(end_of_top, line + "\n")
    return _checked(text, "".join(lines), name)


def _checked(before: str, after: str, name: str) -> str:
    """Return the new text if it says what the old one said and the new name, and nothing else."""
    try:
        is_right = tomllib.loads(after) == {**tomllib.loads(before), "embedder": name}
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise InvalidSettings(
            "the settings file is not written in a way that can be edited here",
            hint=f"Write this line into it, above the first table: embedder = {json.dumps(name)}",
        )
    return after


def _replace(file: Path, text: str) -> None:
    """Write beside the file, then rename: a reader sees the old text or the new one."""
    number, name = tempfile.mkstemp(prefix=".engram-", dir=file.parent)
    beside = Path(name)
    try:
        with os.fdopen(number, "wb") as target:
            target.write(text.encode())
        if file.exists():
            beside.chmod(file.stat().st_mode & 0o777)
        beside.replace(file.resolve())
    finally:
        beside.unlink(missing_ok=True)
