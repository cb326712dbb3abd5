"""Turn functions into commands."""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from textwrap import shorten
from types import CodeType
from typing import IO, TYPE_CHECKING, Any, Final, get_args, get_type_hints

import typer
import typer.main
from msgspec import Struct
from typer.core import TyperCommand, TyperGroup

from engramdb.cli.output import talk, visible
from engramdb.errors import EngramError
from engramdb.verbs.errors import BROKEN_PIPE, INTERRUPTED, UNEXPECTED, answer_for

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram


# Say in two lines what is wrong with what was typed: the mistake, and how the command is used.

MISUSE: Final[type[Exception]] = typer.BadParameter.__mro__[1]
"""What typer raises for anything typed wrongly; it has no public name there."""
_PLAINER = (
    ("Value error, ", ""),
    ("Input should be a valid integer, unable to parse string as an integer", "that is no whole number"),
    ("Input should be a valid number, unable to parse string as a number", "that is no number"),
    ("Input should be ", "it should be "),
)


@contextmanager
def short_usage() -> Iterator[None]:
    """Let a mistake of the user's show itself in two lines."""
    try:
        yield
    except MISUSE as exc:
        if type(exc).show is MISUSE.show:  # type: ignore[attr-defined] # no arguments at all show the help
            exc.show = partial(_show, exc)  # type: ignore[attr-defined]
        raise


def _show(mistake: Any, _file: IO[Any] | None = None) -> None:
    message = mistake.format_message()
    for word, plainer in _PLAINER:
        message = message.replace(word, plainer)
    talk(f"engram: {visible(message)}")
    if mistake.ctx is not None:
        talk(f"{mistake.ctx.get_usage().replace('Usage', 'usage')}; --help says more")


# Take plain values from the command line without loading pydantic.
#
# The classes of every command and group, named by `main`. Typer coerces each parameter with pydantic, whose
# import costs a command more than all of typer; yet nearly every parameter is absent, a text, a number or one
# of a few names. Whatever is not plainly one of these is left to typer, so its rules and its messages stay
# its
# own.

NOT_PLAIN: Final = object()
"""The answer for a value that only typer can judge."""


class QuickCommand(TyperCommand):
    """A command whose plain values are taken as they are."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the line of usage; what must be given stands there without braces."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, the one for help too."""
        return _quickened(super().get_params(ctx))


class QuickGroup(TyperGroup):
    """A group of commands whose own plain values are taken as they are."""

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Return the context, or say in two lines what is wrong with what was typed."""
        with short_usage():
            return super().make_context(*given, **named)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named, or say in two lines what is wrong with what was typed."""
        with short_usage():
            return super().invoke(ctx)

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, the one for help too."""
        return _quickened(super().get_params(ctx))


def _quickened(parameters: list[Any]) -> list[Any]:
    for one in parameters:
        if "process_value" not in vars(one):
            one.process_value = _quick(one)
    return parameters


def _quick(parameter: Any) -> Callable[[Any, Any], Any]:
    """Return what takes a value for this parameter: quickly where possible, else as typer does."""
    as_typer_does = parameter.process_value

    def take(context: Any, value: Any) -> Any:
        is_missing = value is None and parameter.required
        taken = NOT_PLAIN if is_missing else plain(parameter, value)
        if taken is NOT_PLAIN:
            return as_typer_does(context, value)
        return taken if parameter.callback is None else parameter.callback(context, parameter, taken)

    return take


def plain(parameter: Any, value: Any) -> Any:
    """Return the value as typer would make it, or `NOT_PLAIN` where that takes more than a look."""
    about = parameter.type_descriptor
    if value is None:
        return () if parameter.multiple or parameter.nargs == -1 else None
    if about.is_list:
        (inner,) = get_args(about.annotation)
        if about.parameter_info.parser is not None or not isinstance(value, list | tuple):
            return NOT_PLAIN
        taken = [_one(inner, one) for one in value]
        return NOT_PLAIN if NOT_PLAIN in taken else taken
    if about.parameter_info.parser is not None:
        return about.parameter_info.parser(value) if isinstance(value, str) else NOT_PLAIN
    return _one(about.annotation, value)


def _one(kind: Any, value: Any) -> Any:
    """Return one value of a kind, where its form leaves no question."""
    if not isinstance(kind, type):
        return NOT_PLAIN
    if type(value) is kind:
        return value
    if not isinstance(value, str):
        return NOT_PLAIN
    if kind is int and value.isascii() and value.isdecimal() and not value.startswith("0"):
        return int(value)
    if issubclass(kind, Enum):
        return next((one for one in kind if one.value == value), NOT_PLAIN)
    return NOT_PLAIN


# Turn a function into a command: unfold its option groups, and end every error in a line and an exit code.
#
# Applied to each command by `main`. A group is a struct of typer options that several commands share, so
# an
# option is described once however many commands have it; the function receives the group as one argument.
# The only place of the command line that catches what it did not foresee.

TRACEBACK = "ENGRAM_TRACEBACK"


class OptionGroup(Struct, frozen=True):
    """Options that a command takes as one argument."""


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function as typer should see it: groups unfolded, errors translated."""
    hints = get_type_hints(function, include_extras=True)
    groups = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, OptionGroup)
    }

    @functools.wraps(function)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            fields = {name: given.pop(name) for name in group.__struct_fields__}
            given[name] = group(**fields)
        with translated_errors():
            function(**given)
            sys.stdout.flush()

    own = [one for one in inspect.signature(function).parameters.values() if one.name not in groups]
    parameters = [one.replace(annotation=hints[one.name]) for one in own]
    parameters += [one for group in groups.values() for one in _unfolded(group)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


@contextmanager
def translated_errors() -> Iterator[None]:
    """End the block's errors as the shell expects: one line, a hint, an exit code."""
    try:
        yield
    except EngramError as exc:
        talk(f"engram: {exc.code} {visible(exc.message)}")
        if exc.hint:
            talk(f"hint: {visible(exc.hint)}")
        raise typer.Exit(answer_for(exc).exit_code) from exc
    except KeyboardInterrupt as exc:
        raise typer.Exit(INTERRUPTED) from exc
    except BrokenPipeError as exc:
        _silence_stdout()
        raise typer.Exit(BROKEN_PIPE) from exc
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as exc:
        _admit_mistake(exc)
        raise typer.Exit(UNEXPECTED) from exc


def _unfolded(group: type[OptionGroup]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
        for name, default in zip(group.__struct_fields__, group.__struct_defaults__, strict=True)
    ]


def _silence_stdout() -> None:
    """Point stdout at nothing, so that Python's own flush at the end does not fail again."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def _admit_mistake(exc: Exception) -> None:
    """Say what went wrong without the exception's text, which may quote a memory."""
    if os.environ.get(TRACEBACK):
        talk(traceback.format_exc())
    last = traceback.extract_tb(exc.__traceback__)[-1]
    talk(f"engram: a mistake in Engram itself: {type(exc).__name__} at {last.filename}:{last.lineno}")
    talk(f"hint: Please report it; {TRACEBACK}=1 shows the whole traceback, which may quote memories.")


# Commands that are loaded when they are named.
#
# Used by `main`, which says where each command stands. One command is one file, with its options and its
# values; to load all of them takes longer than most commands run. The list in `--help` needs only the first
# sentence of each, which stands in the compiled file.

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


# Load the engine for one command, and leave quickly afterwards.

ENGINE = "engramdb.engine.engram"
THREAD_TIMEOUT = ("OPENBLAS_THREAD_TIMEOUT", "10")
"""Idle threads of OpenBLAS sleep after 2^10 cycles instead of 2^26; one that is woken costs microseconds."""


def engine() -> type[Engram]:
    """Return the class of the engine, loaded if need be without the collector in between."""
    os.environ.setdefault(*THREAD_TIMEOUT)
    is_first = ENGINE not in sys.modules and gc.isenabled()
    gc.disable()
    try:
        from engramdb.engine.engram import Engram  # noqa: PLC0415
    finally:
        gc.enable()
    if is_first:
        gc.freeze()
    return Engram


def leave() -> None:
    """Let the process end without another look through everything; what must be closed has been closed."""
    gc.freeze()
