"""
`engram restore`: bring back what a rule removed.

Calls `Engram.restore`. The memory counts as confirmed now, so no rule takes it again at once.
What a person forgot is not restored here: that was meant.
"""

from engram.surfaces.cli.options import MemoryId, Reason, Shared
from engram.surfaces.cli.output import one_line, out, present, short
from engram.values import Memory


def restore(shared: Shared, memory_id: MemoryId, *, reason: Reason = "") -> None:
    """
    Bring back what a rule archived, forgot or pruned.

    Example: engram restore 3f2a9c1b --reason "still true"
    """
    with shared.open_existing() as engram:
        memory = engram.restore(memory_id, reason=reason)

    present(memory, _show, as_json=shared.json)


def _show(memory: Memory) -> None:
    out(f"restored {short(memory.id)}  {one_line(memory.content)}")
