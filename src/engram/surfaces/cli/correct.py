"""
`engram correct`: put a new statement in the place of an old one.

Calls `Engram.correct`. The next recall finds the new statement and no longer the old one.
The old one stays in the history, so that a wrong correction can be traced.
"""

from engram.surfaces.cli.options import MemoryId, Reason, Shared, Text, given_text
from engram.surfaces.cli.output import one_line, out, present, short
from engram.values import Memory


def correct(shared: Shared, memory_id: MemoryId, text: Text, *, reason: Reason = "") -> None:
    """
    Put a new statement in the place of an old one.

    Example: engram correct 3f2a9c1b "The API uses session cookies" --reason "changed in May"
    """
    content = given_text(text)
    with shared.open_existing() as engram:
        memory = engram.correct(memory_id, content, reason=reason)

    present(memory, _show, as_json=shared.json)


def _show(memory: Memory) -> None:
    replaced = f" in place of {short(memory.supersedes)}" if memory.supersedes else ""
    out(f"corrected {short(memory.id)}{replaced}  {one_line(memory.content)}")
