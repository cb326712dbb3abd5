"""
`engram get`: show one memory.

Calls `Engram.get`. A memory outside the scope is not there, whoever asks.
It is found in every status, so that what was forgotten or replaced can still be looked at by its id.
"""

from engram.surfaces.cli.options import MemoryId, Shared
from engram.surfaces.cli.output import present
from engram.surfaces.cli.show import show_memory


def get(shared: Shared, memory_id: MemoryId) -> None:
    """
    Show one memory with everything that is known about it.

    Example: engram get 3f2a9c1b
    """
    with shared.open_existing() as engram:
        memory = engram.get(memory_id)

    present(memory, show_memory, as_json=shared.json)
