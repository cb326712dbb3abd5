"""
Turn a function into a command: unfold its option groups, and end every error in a line and an exit code.

Applied to each command by `main`. A group is a dataclass of typer options that several commands share, so an
option is described once however many commands have it; the function receives the group as one argument.
The only place of the command line that catches what it did not foresee.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from engram.errors import EngramError
from engram.surfaces.cli.output import talk, visible
from engram.surfaces.errors import BROKEN_PIPE, INTERRUPTED, UNEXPECTED, answer_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TRACEBACK = "ENGRAM_TRACEBACK"


class OptionGroup:
    """A dataclass of options that a command takes as one argument."""


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function as typer should see it: groups unfolded, errors translated."""
    hints = get_type_hints(function, include_extras=True)
    groups = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, OptionGroup)
    }

    @functools.wraps(function)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            fields = {field.name: given.pop(field.name) for field in dataclasses.fields(_dataclass(group))}
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
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in dataclasses.fields(_dataclass(group))
    ]


def _dataclass(group: type[OptionGroup]) -> Any:
    """Return the group as what it also is; there is no type for "a subclass that is a dataclass"."""
    return group


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
