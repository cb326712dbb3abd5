"""
The tool `feedback`: say whether a memory helped.

Calls `Engram.feedback`. With the question, one that did not help is kept from answering such questions.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engram.surfaces.mcp.render import short
from engram.surfaces.mcp.tool import Answer, Arguments, MemoryName, Tool, Visit


class Feedback(Arguments, frozen=True):
    """Which memory, whether it helped, and for which question."""

    memory: MemoryName
    helpful: Annotated[bool, Meta(description="Whether it helped")]
    query: Annotated[str | None, Meta(description="The question it was recalled for")] = None


def feedback(visit: Visit, asked: Feedback) -> Answer:
    """
    Say whether a recalled memory helped, so that later answers rank better. Unhelpful with its `query`
    keeps it from such questions for a while. For a memory that is wrong, use `correct`.
    """
    memory = visit.engram.feedback(asked.memory, helpful=asked.helpful, query=asked.query)
    counted = {"id": memory.id, "helped": memory.helped, "unhelpful": memory.unhelpful}
    told = f"helped {memory.helped}, did not help {memory.unhelpful}"
    return Answer(f"Noted for {short(memory.id)}: {told}.", counted)


TOOL = Tool(takes=Feedback, does=feedback)
