"""
Say what became of a statement that was given: new, known already, in place of another, or against one.

Used by the commands that store. The memory itself is on the first line; below it stands what a person would
want to know at once, because the gate decided it: what it replaced, what it disputes, where it is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.surfaces.cli.output import dim, one_line, out, short, warning
from engram.text.pii import is_withheld
from engram.values import EdgeType, SecurityTier, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.engine.engram import Engram
    from engram.values import Memory

_UNDER = " " * 12
_TOLD = {EdgeType.SUPERSEDES: "in place of", EdgeType.CONTRADICTS: "disputes"}
_TIERS = {
    SecurityTier.SENSITIVE: "stored as sensitive (personal): left out of notebooks and exports",
    SecurityTier.CONFIDENTIAL: "stored as confidential (a secret): left out of files and most prompts",
}
_FLAGS = {"injection": "reads like an instruction to an agent: kept out of automatic context"}


def look_beside(engram: Engram, memory: Memory) -> list[tuple[EdgeType, Memory]]:
    """Return the memories that this one replaced or disputes; none where it was known already."""
    if memory.reinforcements:
        return []
    return [
        (edge.type, engram.get(edge.target))
        for edge in engram.links(memory.id)
        if edge.source == memory.id and edge.type in _TOLD
    ]


def show_stored(memory: Memory, beside: Sequence[tuple[EdgeType, Memory]] = ()) -> None:
    """Show what became of a statement."""
    if memory.reinforcements:
        done = f"reinforced ({memory.reinforcements}×)"
    else:
        done = "remembered" if memory.status is Status.ACTIVE else f"stored as {memory.status}"
    out(f"{done} {short(memory.id)}  {one_line(memory.content)}")
    for relation, other in beside:
        out(_UNDER + dim(f"{_TOLD[relation]} {short(other.id)}  {one_line(other.content)}"))
    if memory.security in _TIERS and is_withheld(memory.content, memory.security):
        out(_UNDER + warning(_TIERS[memory.security]))
    for flag in memory.flags:
        out(_UNDER + warning(_FLAGS.get(flag, flag)))
    if memory.reinforcements:
        out(_UNDER + dim("known already; nothing new was stored"))
