"""
The tool `correct`: put a new statement in the place of an old one.

Calls `Engram.correct`. The next recall finds the new one; the old one stays in the history.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engram.surfaces.mcp.render import line, shape
from engram.surfaces.mcp.tool import Answer, Arguments, MemoryName, Tool, Visit, Why


class Correction(Arguments, frozen=True):
    """Which memory, and what is true instead."""

    memory: MemoryName
    content: Annotated[str, Meta(description="The whole statement as it is true now")]
    reason: Why = ""


def correct(visit: Visit, asked: Correction) -> Answer:
    """
    Replace a stored memory that is wrong or out of date. Find it with `recall` first. Prefer this to
    `remember` plus `forget`: the old statement stays in the history and stops being recalled.
    """
    memory = visit.engram.correct(asked.memory, asked.content, reason=asked.reason)
    return Answer(f"Corrected; from now on: {line(memory)}", {"memory": shape(memory)})


TOOL = Tool(takes=Correction, does=correct)
