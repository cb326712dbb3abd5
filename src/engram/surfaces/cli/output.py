"""
Write results to stdout and talk to stderr.

Used by every command. JSON is the engine's own values, one document in UTF-8, whatever the terminal speaks.
Colour appears on a terminal only and never carries meaning alone. Text from memories cannot steer the
terminal: what is not printable is shown as a replacement mark.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import TypeVar

    Value = TypeVar("Value")

SHORT_ID = 8
"""Characters at the end of an id that the engine accepts in place of the whole."""
_STEERS_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARK = "\ufffd"


def out(line: str = "") -> None:
    """Write one line of a result."""
    typer.echo(line, color=_colour())


def talk(line: str) -> None:
    """Write one line that is not part of the result."""
    typer.echo(line, err=True, color=_colour())


def present(value: Value, show: Callable[[Value], None], *, as_json: bool) -> None:
    """Write a value as JSON, or as `show` would for a person."""
    if as_json:
        write_json(value)
    else:
        show(value)


def write_json(value: object) -> None:
    """Write one JSON document."""
    import msgspec  # noqa: PLC0415 - not needed for --help

    typer.echo(msgspec.json.encode(value))


def visible(text: str) -> str:
    """Return text that cannot move the cursor, change colours or reverse the direction of reading."""
    return "".join(
        _MARK
        if character in _STEERS_DIRECTION
        or (unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t")
        else character
        for character in text
    )


def one_line(text: str) -> str:
    """Return the text with every run of white space as one blank."""
    return " ".join(visible(text).split())


def indented(first: str, text: str, *, indent: str) -> str:
    """Return the text behind a first word; on a terminal, its further lines are wrapped under it."""
    if not sys.stdout.isatty():
        return first + text
    width = max(40, shutil.get_terminal_size().columns)
    rows = textwrap.wrap(text, max(20, width - len(indent))) or [""]
    return "\n".join([first + rows[0], *(indent + row for row in rows[1:])])


def short(memory_id: str) -> str:
    """Return the end of an id, by which the memory can be named."""
    return memory_id[-SHORT_ID:]


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{number} {one if number == 1 else many}"


def minute(moment: datetime) -> str:
    """Return a moment to the minute, in UTC as it is stored."""
    return f"{moment:%Y-%m-%d %H:%M}Z"


def bold(text: str) -> str:
    """Return text that stands out."""
    return typer.style(text, bold=True)


def dim(text: str) -> str:
    """Return text that stands back."""
    return typer.style(text, dim=True)


def warning(text: str) -> str:
    """Return text that should be noticed."""
    return typer.style(text, fg="yellow")


def _colour() -> bool | None:
    """Return False where the user wants none (no-color.org), None to let the terminal decide."""
    return False if os.environ.get("NO_COLOR") else None
