"""
The tool `context`: what to have in mind for one message, within a number of tokens.

Calls `Engram.context`. The client holds the conversation itself, so no history is put into the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from engram.surfaces.mcp.render import missing_shape, shortfalls
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit

if TYPE_CHECKING:
    from engram.values import Window

NOTHING = "Nothing stored bears on this message."


class Before(Arguments, frozen=True):
    """The message, and the room that there is."""

    message: Annotated[str, Meta(description="The user's message or the task, in its own words")]
    token_budget: Annotated[int, Meta(ge=100, le=50_000)] = 1500


def context(visit: Visit, asked: Before) -> Answer:
    """
    Get what memory holds for the message at hand in one compact block: standing wishes, people, skills,
    recalled facts, open questions. Call it once at the start of a conversation or task. For a single
    question, or to get the ids that other tools take, use `recall`.
    """
    window = visit.engram.context(asked.message, budget=asked.token_budget, history=(), session=visit.session)
    blocks = [block for block in (window.standing, window.present) if block]
    text = "\n\n".join([*shortfalls(window.missing), *(blocks or [NOTHING])])
    return Answer(text, _values(window))


def _values(window: Window) -> dict[str, object]:
    return {
        "tokens": window.tokens,
        "sections": {section.name: section.tokens for section in window.sections},
        "memories": [held.memory_id for held in window.holds],
        "left_out": [
            {"section": loss.section, "fate": loss.fate, "count": loss.count, "reason": loss.reason}
            for loss in window.losses
        ],
        "missing": missing_shape(window.missing),
    }


TOOL = Tool(takes=Before, does=context, reads_only=True)
