"""
`engram history`: show what happened to a memory.

Calls `Engram.history`. Every change has a line: who, when, what, and why where a reason was given.
The history never holds memory text, so there is none to show.
"""

from engram.surfaces.cli.options import MemoryId, Shared
from engram.surfaces.cli.output import present
from engram.surfaces.cli.show import show_history


def history(shared: Shared, memory_id: MemoryId) -> None:
    """
    Show everything that happened to a memory, oldest first.

    Example: engram history 3f2a9c1b
    """
    with shared.open_existing() as engram:
        events = engram.history(memory_id)

    present(events, show_history, as_json=shared.json)
