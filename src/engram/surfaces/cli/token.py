"""
`engram token`: the named tokens that let callers of `engram serve` in, each with its own limits.

Calls `surfaces.http.tokens`; needs no store. A token is shown when it is made and never again, since
only its hash is kept. A running server knows of a change at the next request.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import bold, dim, out, present, talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.surfaces.http.tokens import NamedTokens

Name = Annotated[str, typer.Argument(metavar="NAME", help="What to call it: letters, digits, dots, dashes.")]


@dataclass(frozen=True, slots=True)
class Named:
    """One token as it may be shown."""

    name: str
    scope: str
    read_only: bool
    narrower: bool
    created_at: str


@dataclass(frozen=True, slots=True)
class Made:
    """The answer of `token add`."""

    name: str
    token: str


@dataclass(frozen=True, slots=True)
class Removed:
    """The answer of `token remove`."""

    removed: str


def add(
    shared: Shared,
    name: Name,
    *,
    read_only: Annotated[bool, typer.Option("--read-only", help="It may ask, and change nothing.")] = False,
    narrower: Annotated[
        bool,
        typer.Option("--narrower", help="Requests may add names below its scope, such as the user."),
    ] = False,
) -> None:
    """
    Make a token for one program; limited to the scope that is given, if any.

    Example: engram token add phone --user ada --read-only
    """
    token = _tokens(shared).add(
        name, scope=shared.scope, read_only=read_only, narrower=narrower, now=datetime.now(UTC)
    )
    present(Made(name, token), _show_made, as_json=shared.json)


def list_tokens(shared: Shared) -> None:
    """
    Show the named tokens and what each may do, without the tokens themselves.

    Example: engram token list
    """
    from engram.values import Scope  # noqa: PLC0415 - not needed for --help

    found = [
        Named(one.name, str(Scope(**one.scope)), one.read_only, one.narrower, one.created_at)
        for one in _tokens(shared).list()
    ]
    present(found, _show_list, as_json=shared.json)


def remove(shared: Shared, name: Name) -> None:
    """
    Let a token in no longer, from the next request on.

    Example: engram token remove phone
    """
    _tokens(shared).remove(name)
    present(Removed(name), lambda gone: out(f"Removed: {gone.removed}"), as_json=shared.json)


def _tokens(shared: Shared) -> "NamedTokens":
    from engram.surfaces.http.tokens import NamedTokens  # noqa: PLC0415 - not needed for --help

    return NamedTokens(shared.settings().home)


def _show_made(made: Made) -> None:
    out(made.token)
    talk(f"This is the only time that the token of {made.name!r} is shown.")


def _show_list(tokens: "Sequence[Named]") -> None:
    for one in tokens:
        limits = [one.scope if one.scope != "global" else "every scope"]
        limits += ["and narrower"] * one.narrower + ["read only"] * one.read_only
        out(f"{bold(one.name)}  {', '.join(limits)}  {dim(f'since {one.created_at}')}")
    if not tokens:
        talk("There are no named tokens; the server's own is in http.token beside the settings file.")
