"""
`engram flush`: read now what still waits.

Calls `Engram.flush`. Turns that hold no strong signal wait until there are a few of them; this is for the end
of a conversation, and for the impatient.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import counted, out, present


def flush(
    shared: Shared,
    *,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only this conversation.")] = None,
) -> None:
    """
    Read memories out of the turns that still wait for it.

    Example: engram flush --session s1
    """
    with shared.open_existing() as engram:
        count = engram.flush(session=session)

    present({"turns": count}, _show, as_json=shared.json)


def _show(read: dict[str, int]) -> None:
    out(f"read {counted(read['turns'], 'turn', 'turns')}")
