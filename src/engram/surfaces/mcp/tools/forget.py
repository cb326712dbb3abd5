"""
The tool `forget`: take a memory out of every index.

Calls `Engram.forget`. It is gone for every later recall, and only a person can bring it back.
"""

from __future__ import annotations

from engram.surfaces.mcp.render import short
from engram.surfaces.mcp.tool import Answer, Arguments, MemoryName, Tool, Visit, Why


class Forgetting(Arguments, frozen=True):
    """Which memory, and why."""

    memory: MemoryName
    reason: Why = ""


def forget(visit: Visit, asked: Forgetting) -> Answer:
    """
    Make one memory unfindable at once; only a person can bring it back. Call it when the user asks to
    forget something, or when a memory is rubbish. If it is merely out of date, use `correct`.
    """
    memory = visit.engram.forget(asked.memory, reason=asked.reason)
    # Its words are not repeated: they were to be gone.
    return Answer(f"Forgotten: {short(memory.id)}.", {"id": memory.id, "status": memory.status})


TOOL = Tool(takes=Forgetting, does=forget, destroys=True, is_idempotent=True)
