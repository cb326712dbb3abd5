"""
The tool `observe`: keep one message as it was said.

Calls `Engram.observe`. What the message states is read out of it by the engine, soon after.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engram.surfaces.mcp.moments import Moment, moment
from engram.surfaces.mcp.render import short
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit
from engram.values import Role


class Said(Arguments, frozen=True):
    """One message."""

    content: Annotated[str, Meta(description="The message, word for word")]
    role: Annotated[Role, Meta(description="Who spoke")] = Role.USER
    speaker: Annotated[str, Meta(max_length=200, description="Who said it, by name")] | None = None
    occurred_at: Annotated[Moment | None, Meta(description="When, if not now")] = None


def observe(visit: Visit, asked: Said) -> Answer:
    """
    Keep one message of the conversation word for word; memories are drawn from it in the background. For
    agents that record whole conversations. To store a single statement, use `remember`.
    """
    turn = visit.engram.observe(
        asked.content,
        role=asked.role,
        speaker=asked.speaker,
        session=visit.session,
        occurred_at=moment("occurred_at", asked.occurred_at),
    )
    return Answer(f"Kept as turn {short(turn.id)}.", {"turn": turn.id, "session": turn.session})


TOOL = Tool(takes=Said, does=observe)
