"""
`engram pin` and `engram unpin`: keep a memory from every automatic loss, or let it age again.

Call `Engram.pin` and `Engram.unpin`. A person can still forget or correct a pinned memory.
Two commands and not one with a switch, because that is how people say it.
"""

from engram.surfaces.cli.options import MemoryId, Shared
from engram.surfaces.cli.output import one_line, out, present, short
from engram.values import Memory


def pin(shared: Shared, memory_id: MemoryId) -> None:
    """
    Keep a memory from every automatic loss.

    Example: engram pin 3f2a9c1b
    """
    with shared.open_existing() as engram:
        memory = engram.pin(memory_id)

    present(memory, _show, as_json=shared.json)


def unpin(shared: Shared, memory_id: MemoryId) -> None:
    """
    Let a memory age again.

    Example: engram unpin 3f2a9c1b
    """
    with shared.open_existing() as engram:
        memory = engram.unpin(memory_id)

    present(memory, _show, as_json=shared.json)


def _show(memory: Memory) -> None:
    out(f"{'pinned' if memory.pinned else 'unpinned'} {short(memory.id)}  {one_line(memory.content)}")
