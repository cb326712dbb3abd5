"""
The tool `gaps`: what should be known and is not.

Calls `Engram.gaps`. The questions were found by the last dream; `answer_gap` closes one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from engram.context.isolation import one_line
from engram.surfaces.mcp.render import as_data
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.values import Gap

NOTHING = "No question is open. Dreams find them; the last one found none, or there was none yet."


class Most(Arguments, frozen=True):
    """How many."""

    limit: Annotated[int, Meta(ge=1, le=50)] = 10


def gaps(visit: Visit, asked: Most) -> Answer:
    """
    List open questions about what is stored: missing facts, contradictions, beliefs grown old. For a
    pause in which the user may be asked one; put their reply into `answer_gap`.
    """
    found = visit.engram.gaps(limit=asked.limit)
    return Answer(
        in_words(found),
        {
            "gaps": [
                {"id": gap.id, "kind": gap.kind, "question": gap.question, "memories": list(gap.memories)}
                for gap in found
            ]
        },
    )


def in_words(found: Sequence[Gap]) -> str:
    """Return open questions as lines."""
    return as_data(f"[{gap.id}] ({gap.kind}) {one_line(gap.question)}" for gap in found) or NOTHING


TOOL = Tool(takes=Most, does=gaps, reads_only=True, is_idempotent=True)
