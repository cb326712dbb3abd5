"""
`engram erase`: take a memory, or everything of a user, out of the file for good.

Calls `Engram.erase`. Nobody can undo it, so it is done with `--yes`, or after a question on a terminal that
says what would go. Without an id it is the user of the scope, inside the rest of the scope.
"""

import sys
from typing import Annotated

import typer

from engram.errors import InvalidQuery
from engram.surfaces.cli.options import Reason, Shared
from engram.surfaces.cli.output import bold, counted, out, present, talk, warning
from engram.surfaces.errors import FAILED
from engram.values import Erasure


def erase(
    shared: Shared,
    memory_id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The memory; without one, everything of --user."),
    ] = None,
    *,
    reason: Reason = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
) -> None:
    """
    Erase a memory with all that holds its words, or everything of a user. It cannot be undone.

    Example: engram erase 3f2a9c1b --dry-run

    Example: engram erase --user discord:42 --reason "asked to be forgotten" --yes
    """
    if memory_id is None and shared.user is None:
        raise InvalidQuery("there is nothing to erase", hint="Give a memory's id, or --user NAME.")
    user = shared.user if memory_id is None else None
    with shared.open_existing() as engram:
        if not dry_run and not yes:
            _ask(engram.erase(memory_id, user=user, dry_run=True))
        done = engram.erase(memory_id, user=user, reason=reason, dry_run=dry_run)

    present(done, _show, as_json=shared.json)
    if not dry_run and not done.is_file_clean:
        talk(warning(f"The words are erased, but the file may still hold their bytes: {done.why}"))
        talk("hint: Close what else has the store open, and erase the same again.")
        raise typer.Exit(FAILED)


def _ask(would: Erasure) -> None:
    """Say what would go, and go on only if a person says so."""
    if not sys.stdin.isatty():
        raise InvalidQuery("erasing cannot be undone", hint="Say --yes, or --dry-run to see what would go.")
    talk(_told("This would erase", would))
    if not typer.confirm("It cannot be undone. Go on?", err=True):
        raise typer.Abort


def _show(done: Erasure) -> None:
    out(_told("would erase" if done.dry_run else "erased", done))
    if done.token:
        out(f"{bold(done.token)} stands in the place of the user's name")


def _told(did: str, found: Erasure) -> str:
    went = (
        (len(found.memories), "memory", "memories"),
        (found.turns, "message", "messages"),
        (found.gaps, "open question", "open questions"),
        (found.minds, "agent's working memory", "agents' working memories"),
        (found.scopes, "scope", "scopes"),
    )
    named = [counted(*one) for one in went if one[0]]
    return f"{did} {', '.join(named) or 'nothing: there is nothing left'}"
