"""Derive a command from a verb: its options from the request's fields, its run from the engine call."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import NODEFAULT, Struct

from engramdb.cli.errors import translated_errors
from engramdb.cli.options import (
    JSON,
    MOMENT,
    MOMENT_OR_DURATION,
    Shared,
    given_text,
    shared_parameters,
    take_shared,
)
from engramdb.cli.output import present, show_value
from engramdb.values import Filters
from engramdb.values.scope import Scope
from engramdb.verbs.decoding import decode_flat
from engramdb.verbs.verb import Field, Request, Verb, fields_of, flat_fields

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram

_TYPES: Final[dict[Any, click.ParamType[Any]]] = {
    int: click.INT,
    float: click.FLOAT,
    str: click.STRING,
    bool: click.BOOL,
}


class Run(Struct, frozen=True, kw_only=True):
    """One run of a verb from the command line."""

    verb: Verb
    asked: Any
    """The request, an instance of the verb's request struct."""
    shared: Shared
    extra: Mapping[str, Any]
    """The values of options that only the command line has."""

    def open(self) -> Engram:
        """Open the store; only verbs that put something in make one."""
        is_maker = self.verb.cli is not None and self.verb.cli.creates_store
        return self.shared.open_or_create() if is_maker else self.shared.open_existing()

    def call(self, engram: Engram, **options: Any) -> Any:
        """Call the engine."""
        return self.asked.call(engram, **options)

    def answer(self) -> Any:
        """Open the store, call the engine, and close the store."""
        with self.open() as engram:
            return self.call(engram)

    def present(self, value: Any, show: Callable[[Any], None]) -> None:
        """Write a value as JSON where that was asked for, else for a person."""
        present(value, show, as_json=self.shared.json)


class Runner(Struct, frozen=True):
    """How a verb is run and shown where opening, calling and showing is not all."""

    run: Callable[[Run], None]
    options: tuple[click.Option, ...] = ()


_RUNNERS: Final[dict[str, Runner]] = {}


def shows(*names: str) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Declare how the answers of verbs are shown to a person."""

    def register(show: Callable[[Any], None]) -> Callable[[Any], None]:
        for name in names:
            _RUNNERS[name] = Runner(partial(_run_plainly, show=show))
        return show

    return register


def runs(name: str, *options: click.Option) -> Callable[[Callable[[Run], None]], Callable[[Run], None]]:
    """Declare how a verb is run from the command line, with options that only this has."""

    def register(run: Callable[[Run], None]) -> Callable[[Run], None]:
        _RUNNERS[name] = Runner(run, options)
        return run

    return register


def command_of(verb: Verb, *, name: str, hidden: bool = False) -> click.Command:
    """Return the command of a verb."""
    runner = _runner(verb)
    # The names of the scope belong to the shared options: the store is opened in it.
    fields = [one for one in flat_fields(verb.request, "cli") if one.name not in Scope.__struct_fields__]
    own = [_parameter(one) for one in fields]

    def callback(**given: Any) -> None:
        with translated_errors():
            _run(verb, runner, fields, given)

    return click.Command(
        name,
        params=[*own, *runner.options, *shared_parameters()],
        callback=callback,
        help=help_text(verb.help, verb.cli.examples if verb.cli else ()),
        short_help=verb.summary,
        hidden=hidden,
    )


def help_text(meaning: str, examples: Sequence[str]) -> str:
    """Return what a command does, and lines to copy."""
    return "\n\n".join([meaning, *(f"Example: engram {one}" for one in examples)])


def _runner(verb: Verb) -> Runner:
    """Return how a verb is run, from the module of its subject where that says so."""
    module = f"{__package__}.{verb.subject}"
    if importlib.util.find_spec(module) is not None:
        importlib.import_module(module)
    return _RUNNERS.get(verb.name) or Runner(partial(_run_plainly, show=show_value))


def _run(verb: Verb, runner: Runner, fields: Sequence[Field], given: dict[str, Any]) -> None:
    for one in fields:
        if one.is_required and given[one.flat_name("cli")] is None:  # a flag: click itself asks for others
            flags = str(one.hints.get("options", (f"--{one.name}",))[0])
            raise click.UsageError(f"say {flags.replace('/', ' or ')}")
    shared = take_shared(given)
    extra = {one.name: given.pop(one.name) for one in runner.options if one.name is not None}
    asked = {
        one.flat_name("cli"): _value(one, given[one.flat_name("cli")])
        for one in fields
        if given[one.flat_name("cli")] not in (None, ())
    }
    request: Request = decode_flat(verb.request, asked, surface="cli")
    with shared.daily_backup() if verb.is_write(asked) else nullcontext():
        runner.run(Run(verb=verb, asked=request, shared=shared, extra=extra))


def _run_plainly(run: Run, *, show: Callable[[Any], None]) -> None:
    run.present(run.answer(), show)


def _value(one: Field, value: Any) -> Any:
    return given_text(value) if one.hints.get("stdin") else value


def _parameter(one: Field) -> click.Parameter:
    """Return the argument or option of a field."""
    name = one.flat_name("cli")
    metavar = one.hints.get("metavar")
    kind = _type(one)
    default = one.hints.get("default", one.default)
    if one.hints.get("positional"):
        return click.Argument([name], metavar=metavar, type=kind, required=one.is_required, help=_help(one))
    named = [name, *(one.hints.get("options") or (f"--{name.replace('_', '-')}",))]
    given: dict[str, Any] = {"help": _help(one)}
    if default not in (NODEFAULT, None, "") and not one.is_many:
        given["default"] = default.value if isinstance(default, Enum) else default
    if one.item is bool:
        return click.Option(named, is_flag=True, **{"default": None if one.is_required else False, **given})
    return click.Option(
        named, metavar=metavar, type=kind, multiple=one.is_many, required=one.is_required, **given
    )


def filter_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command that is no verb the options of filters; `taken_filters` reads them."""
    for one in reversed(fields_of(Filters)):
        function.__click_params__.append(_parameter(one))  # type: ignore[attr-defined] # as `click.option` does
    return function


def taken_filters(given: Mapping[str, Any]) -> Filters:
    """Return the filters that these options name."""
    named = {name: value for name, value in given.items() if value not in (None, ())}
    return decode_flat(FilterRequest, named, surface="cli").filters


class FilterRequest(Request, frozen=True, kw_only=True):
    """Filters alone."""

    filters: Filters = Filters()


def _type(one: Field) -> click.ParamType[Any]:
    if one.item is datetime:
        return MOMENT_OR_DURATION if one.hints.get("duration") else MOMENT
    if choices := _choices(one):
        return click.Choice(choices)
    return _TYPES.get(one.item, JSON)


def _choices(one: Field) -> Sequence[str]:
    if "choices" in one.hints:
        return tuple(one.hints["choices"])
    is_enum = isinstance(one.item, type) and issubclass(one.item, Enum)
    return [member.value for member in one.item] if is_enum else ()


def _help(one: Field) -> str:
    """Return what a field means, with the names that it takes and how it is read from a pipe."""
    told = one.description
    if choices := _choices(one):
        told = f"{told.rstrip('.')}: {', '.join(choices)}."
    if one.hints.get("stdin"):
        told = f"{told.rstrip('.')}, or - for stdin."
    return told
