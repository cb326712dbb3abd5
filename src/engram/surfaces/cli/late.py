"""
Commands that are loaded when they are named.

Used by `main`, which says where each command stands. One command is one file, with its options and its
values; to load all of them takes longer than most commands run. The list in `--help` needs only the first
sentence of each, which stands in the compiled file.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from textwrap import shorten
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

import typer
import typer.main

from engram.surfaces.cli.quick import QuickCommand, QuickGroup
from engram.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOM: Final = __package__
_CLAUSE_END: Final = re.compile(
    r"[;:] |, (?=(?:and|both|by|each|from|if|in|oldest|on|or|to|told|until|while|with|without) )"
)
"""Where a sentence may end early; a comma inside a list is no such place."""


class LateCommands(Mapping[str, Any]):
    """Commands and groups by name, each made when it is first asked for."""

    def __init__(self, places: Mapping[str, str], groups: Mapping[str, Group]) -> None:
        self._places = places
        self._groups = groups
        self._makers: dict[str, Callable[[], Any]] = {
            **{name: _maker(name, place) for name, place in places.items()},
            **{name: group.command for name, group in groups.items()},
        }
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def sentence(self, name: str) -> str:
        """Return what a command does, in its first sentence."""
        if name in self._groups:
            return self._groups[name].meaning
        told = _docstring(self._places[name]) or self[name].help or ""
        return " ".join(told.strip().split("\n\n")[0].split())

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers


class Group:
    """Commands that share their first word."""

    def __init__(self, name: str, meaning: str, places: Mapping[str, str]) -> None:
        self.name = name
        self.meaning = meaning
        self.places = places

    def command(self) -> Any:
        """Return the group as typer sees it."""
        inner = typer.Typer(
            name=self.name,
            cls=late_group(self.places),
            help=self.meaning,
            add_completion=False,
            no_args_is_help=True,
            rich_markup_mode=None,
        )
        inner.callback()(_nothing)
        return typer.main.get_command(inner)


def late_group(
    places: Mapping[str, str],
    groups: Mapping[str, Group] | None = None,
    sections: Mapping[str, str] | None = None,
) -> type[QuickGroup]:
    """
    Return the class of a group whose commands stand at these places: `module.function` of this room.

    `sections` are headings of the help, each by the name of the command that it stands above.
    """

    class LateGroup(QuickGroup):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.late = LateCommands(places, groups or {})
            self.commands = self.late  # type: ignore[assignment] # nobody adds to it

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - click's signature
            _write_sections(self.late, formatter, sections or {})

    return LateGroup


def _write_sections(commands: LateCommands, formatter: Any, headings: Mapping[str, str]) -> None:
    """Write the commands with a sentence each, below the heading that they belong to."""
    width = max(map(len, commands))
    told: dict[str, list[tuple[str, str]]] = {}
    heading = "Commands"
    for name in commands:
        heading = headings.get(name, heading)
        sentence = _fitting(commands.sentence(name), formatter.width - 6 - width)
        told.setdefault(heading, []).append((name.ljust(width), sentence))
    for title, rows in told.items():
        with formatter.section(title):
            formatter.write_dl(rows)


def _fitting(sentence: str, width: int) -> str:
    """Return a sentence that fits: whole, else its first clause, else as much of it as there is room for."""
    if len(sentence) <= width:
        return sentence
    clause = _CLAUSE_END.split(sentence, maxsplit=1)[0]
    return f"{clause}." if len(clause) < width else shorten(sentence, width, placeholder="...")


def _maker(name: str, place: str) -> Callable[[], Any]:
    return lambda: _loaded(name, place)


def _loaded(name: str, place: str) -> Any:
    """Return one command, from the file that it stands in."""
    module, _, function = place.partition(".")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    found = getattr(importlib.import_module(f"{ROOM}.{module}"), function)
    alone.command(name, cls=QuickCommand)(verb(found))
    return typer.main.get_command(alone)


def _docstring(place: str) -> str | None:
    """Return the docstring of a command as it was compiled, without running its file."""
    module, _, function = place.partition(".")
    found = find_spec(f"{ROOM}.{module}")
    if found is None or not isinstance(found.loader, SourceFileLoader):
        return None
    code = found.loader.get_code(found.name)
    inside = code.co_consts if isinstance(code, CodeType) else ()
    bodies = [one for one in inside if isinstance(one, CodeType) and one.co_name == function]
    first = bodies[0].co_consts[0] if bodies else None
    return first if isinstance(first, str) else None


def _nothing() -> None:
    """Take no options before the command."""
