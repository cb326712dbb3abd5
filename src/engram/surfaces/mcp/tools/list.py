"""
The tool `list`: show memories, newest first.

Calls `Engram.list`. Pages follow one another by `before` and the last id shown.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engram.surfaces.mcp.moments import Moment, moment
from engram.surfaces.mcp.render import listed, shape, short
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit
from engram.values import Filters


class Page(Arguments, frozen=True):
    """Which memories."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    before: Annotated[str | None, Meta(description="The last id of the page before, for the next page")] = (
        None
    )
    category: Annotated[str | None, Meta(description="Only this one")] = None
    since: Annotated[Moment | None, Meta(description="ISO date; only what happened from then on")] = None


def list_memories(visit: Visit, asked: Page) -> Answer:
    """
    List memories, newest first, page by page. For an overview or an audit of what is stored; to find
    something, use `recall`.
    """
    wanted = Filters(
        categories=frozenset({asked.category} if asked.category else ()), since=moment("since", asked.since)
    )
    memories = visit.engram.list(limit=asked.limit, before=asked.before, filters=wanted)
    following = memories[-1].id if len(memories) == asked.limit else None
    text = listed(memories) or "There are no such memories."
    if following:
        text += f"\nThere may be more: before={short(following)}"
    return Answer(text, {"memories": [shape(memory) for memory in memories], "next": following})


TOOL = Tool(name="list", takes=Page, does=list_memories, reads_only=True)
