"""
The tool `relate`: say how one memory relates to another, or take that back.

Calls `Engram.relate` or `Engram.unrelate`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from engram.surfaces.mcp.render import short
from engram.surfaces.mcp.tool import Answer, Arguments, MemoryName, Tool, Visit
from engram.values import EdgeType


class Relating(Arguments, frozen=True):
    """Two memories and what holds between them."""

    memory: MemoryName
    other: MemoryName
    type: Annotated[
        Literal["related_to", "supports", "contradicts", "caused_by", "instance_of"],
        Meta(description="What the first is to the other"),
    ] = "related_to"
    related: Annotated[bool, Meta(description="False takes the link away")] = True


def relate(visit: Visit, asked: Relating) -> Answer:
    """
    Link two memories, so that recalling one brings the other: a cause and its effect, evidence for a
    claim, two statements that cannot both be true.
    """
    kind = EdgeType(asked.type)
    words = f"{short(asked.memory)} {kind} {short(asked.other)}"
    if asked.related:
        visit.engram.relate(asked.memory, asked.other, type=kind)
        return Answer(f"Linked: {words}.", {"linked": True})
    was_there = visit.engram.unrelate(asked.memory, asked.other, type=kind)
    return Answer(f"{'Taken away' if was_there else 'There was no such link'}: {words}.", {"linked": False})


TOOL = Tool(takes=Relating, does=relate, is_idempotent=True)
