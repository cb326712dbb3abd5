"""
`engram turns` and `engram end-session`: what was said, and what it came to.

Call `Engram.turns` and `Engram.end_session`. Turns are shown as they were said, oldest first, and pages lead
back in time by `--before` and the first id shown; a session that is ended is read to its end and summarised,
unless it was too short to tell.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from engram.surfaces.cli.options import Limit, Shared
from engram.surfaces.cli.output import bold, dim, indented, minute, one_line, out, present, short, talk
from engram.values import Memory, Turn

_UNDER_CONTENT = " " * 10


def turns(
    shared: Shared,
    *,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this conversation.")] = None,
    limit: Limit = 50,
    before: Annotated[str | None, typer.Option(metavar="ID", help="Only those said before this one.")] = None,
) -> None:
    """
    Show the latest messages as they were said, oldest of them first.

    Example: engram turns --session s1 --limit 10
    """
    with shared.open_existing() as engram:
        found = engram.turns(session=session, limit=limit, before=before)

    present(found, _show, as_json=shared.json)
    if not found:
        talk("Nothing was said." if before is None else "Nothing was said before that.")
    elif len(found) == limit and not shared.json:
        talk(f"There may be more; add --before {short(found[0].id)}")


def end_session(
    shared: Shared,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The conversation that is over.")],
) -> None:
    """
    Read what still waits of a conversation, and store a summary of it.

    Example: engram end-session s1
    """
    with shared.open_existing() as engram:
        summary = engram.end_session(session)

    present(summary, _show_summary, as_json=shared.json)


def _show(found: Sequence[Turn]) -> None:
    for turn in found:
        who = one_line(turn.speaker) if turn.speaker else str(turn.role)
        first = f"{short(turn.id)}  {dim(minute(turn.occurred_at))}  {bold(who)}: "
        out(indented(first, one_line(turn.content), indent=_UNDER_CONTENT))


def _show_summary(summary: Memory | None) -> None:
    if summary is None:
        talk("The session was too short for a summary.")
    else:
        out(f"remembered {short(summary.id)}  {one_line(summary.content)}")
