"""
Take plain values from the command line without loading pydantic.

The classes of every command and group, named by `main`. Typer coerces each parameter with pydantic, whose
import costs a command more than all of typer; yet nearly every parameter is absent, a text, a number or one
of a few names. Whatever is not plainly one of these is left to typer, so its rules and its messages stay its
own.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, get_args

from typer.core import TyperCommand, TyperGroup

from engram.surfaces.cli.misuse import short_usage

if TYPE_CHECKING:
    from collections.abc import Callable

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
