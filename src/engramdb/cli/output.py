"""
Write results to stdout and talk to stderr.

JSON is the engine's own values, one document in UTF-8, whatever the terminal speaks. Color appears on a
terminal only and never carries meaning alone. Text from memories cannot steer the terminal: what is not
printable is shown as a replacement mark. The first word of a line is what a script or a second command needs.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from engramdb.text.dates import readable
from engramdb.text.identity import FORGOTTEN_WORDS
from engramdb.text.marks import belief_mark
from engramdb.text.normalize import counted
from engramdb.values import Check, DoctorReport, Memory, Voice

if TYPE_CHECKING:
    from rich.progress import Progress


Value = TypeVar("Value")

SHORT_ID = 8
"""Characters at the end of an id that the engine accepts in place of the whole."""
_STEERS_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARK = "\ufffd"
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
LEAST_ROOM = 20
"""Columns that a text needs to be readable."""


def out(line: str = "") -> None:
    """Write one line of a result."""
    click.echo(line, color=_color())


def talk(line: str) -> None:
    """Write one line that is not part of the result."""
    click.echo(line, err=True, color=_color())


MASKED_HINT = "A secret is masked. Ask for it by name with `engram recall`, or use --reveal with get or list."


def tell_masked(shown: Iterable[str]) -> None:
    """Say how to see what is masked, where something is."""
    if any("[confidential]" in one for one in shown):
        talk(MASKED_HINT)


def present(value: Value, show: Callable[[Value], None], *, as_json: bool) -> None:
    """Write a value as JSON, or as `show` would for a person."""
    if as_json:
        write_json(value)
    else:
        show(value)


def write_json(value: object) -> None:
    """Write one JSON document."""
    click.echo(msgspec.json.encode(value))


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
    import shutil  # noqa: PLC0415 - loads every kind of compression, and most output goes to no terminal

    width = max(40, shutil.get_terminal_size().columns)
    begun = len(_COLOR.sub("", first))
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
    return click.style(text, bold=True)


def dim(text: str) -> str:
    """Return text that stands back."""
    return click.style(text, dim=True)


def warning(text: str) -> str:
    """Return text that should be noticed."""
    return click.style(text, fg="yellow")


def _color() -> bool | None:
    """Return False where the user wants none (no-color.org), None to let the terminal decide."""
    return False if os.environ.get("NO_COLOR") else None


GAP = "  "


def show_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Collection[int] = (),
    indent: str = "",
) -> None:
    """Show rows of cells; `numbers` are the places of the columns that are set to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    if any(header):
        out(indent + dim(_line(header, widths, numbers).rstrip()))
    for row in rows:
        *first, last = row
        before = indent + (_line(first, widths, numbers) + GAP if first else "")
        is_number = len(row) - 1 in numbers
        out(
            indented(before, last.rjust(widths[-1]) if is_number else last, indent=" " * len(before)).rstrip()
        )


def _line(cells: Sequence[str], widths: Sequence[int], numbers: Collection[int]) -> str:
    return GAP.join(
        cell.rjust(width) if place in numbers else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=False))
    )


@contextmanager
def counting(label: str, *, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many more are done."""
    if not sys.stderr.isatty():
        yield lambda _more: None
        return
    bar = _bar()
    task = bar.add_task(label, total=total)

    def report(more: int) -> None:
        bar.start()
        bar.advance(task, more)

    try:
        yield report
    finally:
        bar.stop()


@contextmanager
def steps(*, quietly: bool = False) -> Iterator[Callable[[str, float], None]]:
    """
    Yield a function that is told each step and the share of the work that lies behind it.

    `quietly` leaves the lines out where there is no terminal to draw a bar on.
    """
    if not sys.stderr.isatty():
        yield lambda step, _share: None if quietly else talk(step)
        return
    bar = _bar()
    task = bar.add_task("", total=1.0)

    def report(step: str, share: float) -> None:
        bar.start()
        bar.update(task, description=step, completed=share)

    try:
        yield report
    finally:
        bar.stop()


def _bar() -> Progress:
    from rich.console import Console  # noqa: PLC0415 - heavy, and most commands show no bar
    from rich.progress import Progress  # noqa: PLC0415

    return Progress(console=Console(stderr=True), transient=True)


_UNDER_ID = " " * 10
_WIDEST_CATEGORY = 12
"""A longer one stands out of its column, so that it does not push all the others aside."""


def spoken(memory: Memory) -> str:
    """Return the words of a memory on one line, after who said them and how far to believe them."""
    speaker, mark = memory.provenance.speaker, belief_mark(memory)
    before = " ".join(part for part in (speaker, f"({mark})" if mark else "") if part)
    return one_line(f"{before}{':' if speaker else ''} {readable(memory)}" if before else readable(memory))


def show_line(memory: Memory, *, width: int = 0) -> None:
    """Show a memory as one line of a list, whose categories are so wide."""
    first = f"{short(memory.id)}  {dim(minute(memory.when))}  {memory.category:<{width}}  "
    out(indented(first, spoken(memory), indent=_UNDER_ID))


def show_lines(memories: Sequence[Memory]) -> None:
    """Show memories one below the other."""
    widths = [len(memory.category) for memory in memories]
    width = max((one for one in widths if one <= _WIDEST_CATEGORY), default=0)
    for memory in memories:
        show_line(memory, width=width)


def show_memory(memory: Memory) -> None:
    """Show everything about one memory that a person may want to know."""
    out(visible(readable(memory)))
    out()
    show_rows(
        {
            "id": memory.id,
            "status": memory.status + (", pinned" if memory.pinned else ""),
            "scope": str(memory.scope),
            "category": memory.category,
            "layer": memory.layer + (", by hand" if memory.layer_held else ""),
            "type": memory.type,
            "kind": memory.kind,
            **_meant(memory),
            "when": minute(memory.when),
            "stored": minute(memory.created_at),
            "forget after": minute(memory.forget_after) if memory.forget_after else None,
            "security": str(memory.security),
            "flags": ", ".join(memory.flags) or None,
            "confidence": f"{memory.confidence:.2f} ({memory.confidence_tier})",
            "importance": f"{memory.importance:.2f}",
            "said by": memory.provenance.speaker,
            "session": memory.provenance.session,
            "source": memory.provenance.source,
            "repeated": times(memory.reinforcements) if memory.reinforcements else None,
            "also said": _other_words(memory),
            "confirmed": minute(memory.confirmed_at) if memory.confirmed_at else None,
            "recalled": recalls(memory),
            "feedback": feedbacks(memory),
            "version": str(memory.version),
            "replaces": memory.supersedes,
            "replaced by": memory.superseded_by,
            **_traits(memory),
        }
    )


def _other_words(memory: Memory) -> str | None:
    """Return in how many other wordings it was said."""
    count = len(memory.provenance.wordings)
    said = counted(count, "other wording", "other wordings")
    return f"in {said}: engram evidence {short(memory.id)}" if count else None


def _meant(memory: Memory) -> dict[str, str | None]:
    """Return what stands beside the words: how they were meant, and what they answer and lean on."""
    voice = memory.provenance.voice
    meant = (memory.force, memory.lasting, None if voice is Voice.OWN else f"{voice}, not the speaker's own")
    answered = None if memory.answers == FORGOTTEN_WORDS else memory.answers
    leaned_on = "; ".join(words for words in memory.refers_to if words != FORGOTTEN_WORDS)
    return {
        "meant": ", ".join(word for word in meant if word),
        "states": memory.statement,
        "answers": one_line(answered) if answered else None,
        "leans on": one_line(leaned_on) or None,
    }


def _verdict(check: Check) -> str:
    if check.repaired:
        return "repaired"
    if not check.ok:
        return "WRONG"
    return "waits" if check.waits else "ok"


def show_doctor(report: DoctorReport) -> None:
    """Show every check, the good ones too, and below them what was done, once."""
    for check in report.checks:
        verdict = f"{_verdict(check):<8}"
        mark = verdict if check.ok else warning(verdict)  # widened first: colour has a length, too
        out(f"{mark}  {check.name}: {one_line(check.found)}")
    for deed in dict.fromkeys(check.did for check in report.checks if check.did):
        out(f"{'done':<8}  {deed}")


def recalls(memory: Memory) -> str | None:
    """Return how often and when last a memory was recalled, if ever."""
    log = memory.access
    return None if log.last_at is None else f"{times(log.count)}, last {minute(log.last_at)}"


def feedbacks(memory: Memory) -> str | None:
    """Return how often a memory was said to help and not to, if ever."""
    told = (("helped", memory.helped), ("did not help", memory.unhelpful))
    return ", ".join(f"{what} {times(number)}" for what, number in told if number) or None


def times(number: int) -> str:
    """Return a number of times in words."""
    return "once" if number == 1 else f"{number} times"


def _traits(memory: Memory) -> dict[str, str | None]:
    """Return what was inferred from the content, which filters can ask for."""
    found = memory.traits
    listed = {name: ", ".join(getattr(found, name)) for name in ("people", "technologies", "paths", "topics")}
    return {
        **{name: one_line(value) if value else None for name, value in listed.items()},
        "language": found.language,
        "sentiment": found.sentiment,
    }


def show_rows(named: dict[str, str | None]) -> None:
    """Show names and values, leaving out what has no value."""
    for name, value in named.items():
        if value is not None:
            out(f"{dim(f'{name:<14}')}  {visible(value)}")


def show_value(value: object) -> None:
    """Show the answer of a verb that has no rendering of its own, field by field."""
    plain: Any = msgspec.to_builtins(value)
    if isinstance(plain, Mapping):
        show_rows({str(name): None if held is None else _plain(held) for name, held in plain.items()})
    elif isinstance(plain, list):
        for one in plain:
            out(one_line(_plain(one)))
    else:
        out("nothing" if plain is None else visible(_plain(plain)))


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
