"""
`engram forget`: take a memory out of every index.

Calls `Engram.forget`. When the command returns, no recall of any process finds the memory.
Only a person can bring it back, and its history keeps the reason.
"""

from engram.surfaces.cli.options import MemoryId, Reason, Shared
from engram.surfaces.cli.output import one_line, out, present, short
from engram.values import Memory


def forget(shared: Shared, memory_id: MemoryId, *, reason: Reason = "") -> None:
    """
    Forget a memory: it is gone from every answer at once.

    Example: engram forget 3f2a9c1b --reason "no longer true"
    """
    with shared.open_existing() as engram:
        memory = engram.forget(memory_id, reason=reason)

    present(memory, _show, as_json=shared.json)


def _show(memory: Memory) -> None:
    out(f"forgot {short(memory.id)}  {one_line(memory.content)}")
