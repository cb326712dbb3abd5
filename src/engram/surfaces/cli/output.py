"""
Write results to stdout and talk to stderr.

Used by every command. JSON is the engine's own values, one document in UTF-8, whatever the terminal speaks.
Colour appears on a terminal only and never carries meaning alone. Text from memories cannot steer the
terminal: what is not printable is shown as a replacement mark.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import time
import unicodedata
from datetime import timedelta
from typing import TYPE_CHECKING

import typer

from engram.text.counted import counted as counted  # noqa: PLC0414 - commands take it from here

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import TypeVar

    Value = TypeVar("Value")

SHORT_ID = 8
"""Characters at the end of an id that the engine accepts in place of the whole."""
_STEERS_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARK = "\ufffd"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LEAST_ROOM = 20
"""Columns that a text needs to be readable."""


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
    """Return the text behind a first word; on a terminal it is wrapped, further lines under the indent."""
    if not sys.stdout.isatty():
        return first + text
    width = max(40, shutil.get_terminal_size().columns)
    begun = len(_COLOUR.sub("", first))
    if begun + LEAST_ROOM > width:  # too narrow for both: the text begins on a line of its own
        return "\n".join([first.rstrip(), *(indent + row for row in _rows(text, width - len(indent)))])
    rows = textwrap.wrap(text, width, initial_indent=" " * begun, subsequent_indent=indent)
    return "\n".join([first + rows[0][begun:], *rows[1:]]) if rows else first


def _rows(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(LEAST_ROOM, width)) or [""]


def short(memory_id: str) -> str:
    """Return the end of an id, by which the memory can be named."""
    return memory_id[-SHORT_ID:]


def minute(moment: datetime) -> str:
    """Return a moment to the minute by the reader's clock, with its distance from UTC, as options take it."""
    if not time.timezone and not time.daylight:
        return f"{moment.replace(tzinfo=None).isoformat(sep=' ', timespec='minutes')}Z"
    # A day without an hour is stored as midnight in UTC: elsewhere that would be another day.
    is_day = (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
    try:
        shown = moment if is_day else moment.astimezone()
    except (OverflowError, ValueError):
        shown = moment  # at the edge of the calendar, where a zone leads out of it
    if (shown.utcoffset() or timedelta()) % timedelta(minutes=1):
        shown = moment  # before there were zones, when the sun told the time to the second
    return shown.isoformat(sep=" ", timespec="minutes")


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
