"""
The tool `remember`: store one statement.

Calls `Engram.remember`. What the user said outweighs what the model concluded, so the two are told
apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from engram.surfaces.mcp.moments import Moment, moment
from engram.surfaces.mcp.render import line, shape
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit
from engram.values import Source

if TYPE_CHECKING:
    from engram.values import Memory


class Remember(Arguments, frozen=True):
    """One statement and what is known about it."""

    content: Annotated[
        str,
        Meta(description="One self-contained sentence: names instead of pronouns, dates instead of 'today'"),
    ]
    category: Annotated[
        str, Meta(description="fact, preference, decision, instruction, person, project, procedure, …")
    ] = "general"
    from_user: Annotated[bool, Meta(description="True if the user said it; false if you concluded it")] = (
        False
    )
    importance: Annotated[float, Meta(ge=0, le=1, description="0 to 1")] | None = None
    occurred_at: Annotated[Moment | None, Meta(description="When it happened, if not now")] = None
    forget_after: Annotated[Moment | None, Meta(description="When it stops mattering")] = None


def remember(visit: Visit, asked: Remember) -> Answer:
    """
    Store one lasting statement for later conversations: a fact, preference, decision or lesson. Call it
    when you learn something worth knowing next month or the user asks to remember; one call per
    statement. Not for small talk, secrets, or what `recall` just gave you; if a stored memory became
    wrong, use `correct`.
    """
    memory = visit.engram.remember(
        asked.content,
        category=asked.category,
        importance=asked.importance,
        source=Source.HUMAN if asked.from_user else Source.ASSISTANT,
        session=visit.session,
        occurred_at=moment("occurred_at", asked.occurred_at),
        forget_after=moment("forget_after", asked.forget_after),
    )
    return Answer(f"{_what_happened(memory)} {line(memory)}", {"memory": shape(memory)})


def _what_happened(memory: Memory) -> str:
    if memory.reinforcements:
        return "It was known already and counts for more now:"
    if memory.supersedes:
        return "Remembered in place of an older memory:"
    return "Remembered:"


TOOL = Tool(takes=Remember, does=remember)
