"""
`engram observe`: keep one message as it was said.

Calls `Engram.observe`. The turn is durable when the command returns.
What was said is kept apart from what is remembered, so this prints a turn and not a memory.
"""

from datetime import datetime
from typing import Annotated

import typer

from engram.surfaces.cli.moments import moment
from engram.surfaces.cli.options import Shared, Text, among, given_text
from engram.surfaces.cli.output import one_line, out, present, short
from engram.values import Role, Turn


def observe(
    shared: Shared,
    text: Text,
    *,
    role: Annotated[Role, typer.Option(metavar="NAME", help=among("Who spoke", Role))] = Role.USER,
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Who spoke, by name.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="The conversation.")] = None,
    occurred_at: Annotated[
        datetime | None, typer.Option(metavar="TIME", parser=moment, help="When it was said; else now.")
    ] = None,
) -> None:
    """
    Keep one message of a conversation as it was said.

    Example: engram observe "I switched from vim to Helix" --role user --session s1
    """
    content = given_text(text)
    with shared.open_or_create() as engram:
        turn = engram.observe(content, role=role, speaker=speaker, session=session, occurred_at=occurred_at)

    present(turn, _show, as_json=shared.json)


def _show(turn: Turn) -> None:
    out(f"observed {short(turn.id)}  {turn.role}: {one_line(turn.content)}")
