"""Options that commands share."""

from __future__ import annotations

import importlib.util
import re
import sys
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engramdb.cli.commands import OptionGroup, engine
from engramdb.errors import InvalidContent, MissingExtra
from engramdb.text.normalize import is_text
from engramdb.values import Filters, Kind, Layer, MemoryType, Scope, Status
from engramdb.values.query import SENTIMENTS

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.settings import Settings


# Read moments as people type them: ISO 8601, or a duration from now.

_DURATION = re.compile(r"(\d{1,6})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def moment(text: str) -> datetime:
    """Return the moment that an ISO 8601 text names."""
    try:
        found = datetime.fromisoformat(text)
        if _is_day(text):
            return found.replace(tzinfo=UTC)
        return _by_own_clock(found) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise typer.BadParameter(f"{text!r} is not a time such as 2026-05-08 or 2026-05-08T14:30Z") from exc


def _by_own_clock(found: datetime) -> datetime:
    """
    Return the moment at which the reader's clock shows this; the first of two in autumn.

    An hour that spring leaves out follows the one before it. `astimezone` would put it earlier than that, so
    that 02:30 came before 01:45.
    """
    whole = found.replace(microsecond=0).timestamp()
    return datetime.fromtimestamp(whole, UTC) + timedelta(microseconds=found.microsecond)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def moment_or_duration(text: str) -> datetime:
    """Return the moment named, or the one that lies a duration such as 30d, 12h or 8w ahead."""
    duration = _DURATION.fullmatch(text)
    if duration is None:
        return moment(text)
    number, unit = duration.groups()
    try:
        return datetime.now(UTC) + timedelta(**{_UNITS[unit]: int(number)})
    except OverflowError as exc:
        raise typer.BadParameter(f"{text!r} lies beyond the year 9999") from exc


# The option that names a picture, and whether one can be drawn.

ENDINGS = (".png", ".svg")


def picture_file(text: str) -> Path:
    """Return the file of a picture, whose ending says how it is drawn."""
    path = Path(text).expanduser()
    if path.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"{text!r} does not end in {' or '.join(ENDINGS)}")
    return path


Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", parser=picture_file, help="Also draw it, as .png or .svg.")
]
Picture = Annotated[str, typer.Argument(metavar="FILE", help="Where to, as .png or .svg.")]


def require_plots(file: Path | None) -> None:
    """Raise if a picture is wanted and there is nothing to draw it with."""
    if file is not None and importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("a picture needs matplotlib", hint="pip install 'engramdb[plots]'")


# The options that commands share: which store, which scope, which form of answer, which memories.
#
# Unfolded into commands by `verb`. Settings and engine are loaded here, when a command asks, and nowhere else
# in the command line. Reading never creates a store: a mistyped path is an error and not an empty memory.

FROM_STDIN = "-"
_ONLY = "Only these, one each time"
_MOST_BYTES = 8_000_000
"""Far above what any policy admits; a larger stream is cut off here and refused by the engine."""


class Shared(OptionGroup, frozen=True, kw_only=True):
    """What every command can be told."""

    store: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="The store; else $ENGRAM_STORE, the settings file, the default."),
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Scope: the project.")] = None
    squad: Annotated[str | None, typer.Option(metavar="NAME", help="Scope: the squad.")] = None
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Scope: the agent.")] = None
    channel: Annotated[str | None, typer.Option(metavar="NAME", help="Scope: the channel.")] = None
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Scope: the user.")] = None

    @property
    def scope(self) -> Scope:
        """The scope that the command works in."""
        return Scope(
            project=self.project, squad=self.squad, agent=self.agent, channel=self.channel, user=self.user
        )

    def settings(self) -> Settings:
        """Return the settings, with the store that was asked for."""
        from engramdb.settings import Settings  # noqa: PLC0415

        return Settings.load(store=self.store)

    def open_existing(self) -> Engram:
        """Open a store that must be there."""
        return engine().open(settings=self.settings(), scope=self.scope, must_exist=True, background=False)

    def open_or_create(self) -> Engram:
        """Open the store, made if need be."""
        return engine().open(settings=self.settings(), scope=self.scope, background=False)


def among(meaning: str, names: type[StrEnum]) -> str:
    """Return the help of an option that takes one of these names."""
    return f"{meaning}: {', '.join(names)}."


class Narrowing(OptionGroup, frozen=True, kw_only=True):
    """What a memory must be to count; without a status, it must be active."""

    status: Annotated[list[Status] | None, typer.Option(metavar="NAME", help=among(_ONLY, Status))] = None
    layer: Annotated[list[Layer] | None, typer.Option(metavar="NAME", help=among(_ONLY, Layer))] = None
    type: Annotated[list[MemoryType] | None, typer.Option(metavar="NAME", help=among(_ONLY, MemoryType))] = (
        None
    )
    kind: Annotated[list[Kind] | None, typer.Option(metavar="NAME", help=among(_ONLY, Kind))] = None
    category: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this category, such as preference.")
    ] = None
    since: Annotated[
        datetime | None, typer.Option(metavar="TIME", parser=moment, help="Only from this moment on.")
    ] = None
    until: Annotated[
        datetime | None, typer.Option(metavar="TIME", parser=moment, help="Only before this moment.")
    ] = None
    entity: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only what speaks of this person or thing.")
    ] = None
    technology: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only what speaks of this technology.")
    ] = None
    path: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="Only what names this file, or one below it.")
    ] = None
    language: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this programming language.")
    ] = None
    sentiment: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help=f"{_ONLY}: {', '.join(SENTIMENTS)}.")
    ] = None
    speaker: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only what this one said.")] = None
    from_session: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only from this conversation.")
    ] = None

    @property
    def filters(self) -> Filters:
        """The same as the engine says it."""
        return Filters(
            statuses=frozenset(self.status or {Status.ACTIVE}),
            layers=frozenset(self.layer or ()),
            types=frozenset(self.type or ()),
            kinds=frozenset(self.kind or ()),
            categories=frozenset(self.category or ()),
            since=self.since,
            until=self.until,
            entities=frozenset(self.entity or ()),
            technologies=frozenset(self.technology or ()),
            paths=frozenset(self.path or ()),
            languages=frozenset(self.language or ()),
            sentiments=frozenset(self.sentiment or ()),
            speakers=frozenset(self.speaker or ()),
            sessions=frozenset(self.from_session or ()),
        )


MemoryId = Annotated[str, typer.Argument(metavar="ID", help="The memory's id, or its last 8 characters.")]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="The text, or - to read it from standard input.")]
Reason = Annotated[str, typer.Option(help="Why, for the history.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]
BeforeNumber = Annotated[
    int | None, typer.Option("--before", metavar="NUMBER", help="Only those before this one.")
]


def given_text(text: str) -> str:
    """Return the text, read from standard input where it is a dash."""
    if text == FROM_STDIN:
        return _standard_input()
    if not is_text(text):
        raise InvalidContent(
            "the text on the command line is not UTF-8", hint="Check the terminal's encoding."
        )
    return text


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read(_MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise InvalidContent(
            f"standard input is not UTF-8 at byte {exc.start}", hint="Convert it first, such as with iconv."
        ) from exc
