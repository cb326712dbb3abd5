"""
`engram set-status`: move a memory to another status by hand.

Calls `Engram.set_status`. What a person brings back needs a reason; `forget`, `restore` and `erase` are the
usual moves and have commands of their own.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import MemoryId, Reason, Shared, among
from engram.surfaces.cli.output import one_line, out, present, short
from engram.values import Memory, Status


def set_status(
    shared: Shared,
    memory_id: MemoryId,
    status: Annotated[Status, typer.Argument(metavar="STATUS", help=among("The new one", Status))],
    *,
    reason: Reason = "",
) -> None:
    """
    Move a memory to another status, with a reason for its history.

    Example: engram set-status 3f2a9c1b active --reason "it is true after all"
    """
    with shared.open_existing() as engram:
        memory = engram.set_status(memory_id, status, reason=reason)

    present(memory, _show, as_json=shared.json)


def _show(memory: Memory) -> None:
    out(f"{memory.status} {short(memory.id)}  {one_line(memory.content)}")
