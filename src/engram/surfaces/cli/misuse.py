"""
Say in two lines what is wrong with what was typed: the mistake, and how the command is used.

Used by every group of commands. Typer says the same in four lines and sometimes in the words of pydantic.
What it found is kept, and so is the exit code.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final

import typer

from engram.surfaces.cli.output import talk, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

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
