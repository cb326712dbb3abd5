"""
The options that commands share: which store, which scope, which form of answer, which memories.

Unfolded into commands by `verb`. Settings and engine are loaded here, when a command asks, and nowhere else
in the command line. Reading never creates a store: a mistyped path is an error and not an empty memory.
"""

import sys
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import InvalidContent
from engram.surfaces.cli.loading import engine
from engram.surfaces.cli.moments import moment
from engram.surfaces.cli.verb import OptionGroup
from engram.text.normal import is_text
from engram.values import Filters, Kind, Layer, MemoryType, Scope, Status
from engram.values.query import SENTIMENTS

if TYPE_CHECKING:
    from engram.engine.engram import Engram
    from engram.settings import Settings

FROM_STDIN = "-"
_ONLY = "Only these, one each time"
_MOST_BYTES = 8_000_000
"""Far above what any policy admits; a larger stream is cut off here and refused by the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(OptionGroup):
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

    def settings(self) -> "Settings":
        """Return the settings, with the store that was asked for."""
        from engram.settings import Settings  # noqa: PLC0415 - not needed for --help

        return Settings.load(store=self.store)

    def open_existing(self) -> "Engram":
        """Open a store that must be there."""
        return engine().open(settings=self.settings(), scope=self.scope, must_exist=True, background=False)

    def open_or_create(self) -> "Engram":
        """Open the store, made if need be."""
        return engine().open(settings=self.settings(), scope=self.scope, background=False)


def among(meaning: str, names: type[StrEnum]) -> str:
    """Return the help of an option that takes one of these names."""
    return f"{meaning}: {', '.join(names)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing(OptionGroup):
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
