"""
The tool `answer_gap`: answer an open question.

Calls `Engram.answer_gap`. What is stated is remembered, and the question is not asked again.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engram.surfaces.mcp.render import line, shape
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit


class Reply(Arguments, frozen=True):
    """Which question, and the answer."""

    gap: Annotated[str, Meta(max_length=200, description="Its id, from `gaps`")]
    answer: Annotated[str, Meta(description="One self-contained sentence, as the user answered")]


def answer_gap(visit: Visit, asked: Reply) -> Answer:
    """
    Remember the user's reply to an open question from `gaps` and close the question. Never make an
    answer up: without a reply, leave it open.
    """
    memory = visit.engram.answer_gap(asked.gap, asked.answer)
    return Answer(f"Answered: {line(memory)}", {"memory": shape(memory)})


TOOL = Tool(takes=Reply, does=answer_gap)
