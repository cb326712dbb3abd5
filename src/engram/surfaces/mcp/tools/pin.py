"""
The tool `pin`: keep a memory from every automatic loss, or let it age again.

Calls `Engram.pin` or `Engram.unpin`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engram.surfaces.mcp.render import line, shape
from engram.surfaces.mcp.tool import Answer, Arguments, MemoryName, Tool, Visit


class Pinning(Arguments, frozen=True):
    """Which memory, and whether to hold it or to let go."""

    memory: MemoryName
    pinned: Annotated[bool, Meta(description="False lets it age again")] = True


def pin(visit: Visit, asked: Pinning) -> Answer:
    """
    Keep a memory from fading and every other automatic loss. Only for what must never be lost, such as
    an allergy or a standing rule; most memories should be free to age.
    """
    change = visit.engram.pin if asked.pinned else visit.engram.unpin
    memory = change(asked.memory)
    return Answer(f"{'Pinned' if memory.pinned else 'Let go'}: {line(memory)}", {"memory": shape(memory)})


TOOL = Tool(takes=Pinning, does=pin, is_idempotent=True)
