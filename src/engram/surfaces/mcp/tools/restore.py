"""
The tool `restore`: bring back what a rule removed.

Calls `Engram.restore`. What was forgotten on purpose is not restored here: that was meant.
"""

from __future__ import annotations

from engram.surfaces.mcp.render import line, shape
from engram.surfaces.mcp.tool import Answer, Arguments, MemoryName, Tool, Visit, Why


class Return(Arguments, frozen=True):
    """Which memory, and why."""

    memory: MemoryName
    reason: Why = ""


def restore(visit: Visit, asked: Return) -> Answer:
    """
    Bring back a memory that ageing archived or pruned and that turns out to be needed. Not for what was
    forgotten on purpose: only a person brings that back.
    """
    memory = visit.engram.restore(asked.memory, reason=asked.reason)
    return Answer(f"Restored: {line(memory)}", {"memory": shape(memory)})


TOOL = Tool(takes=Return, does=restore)
