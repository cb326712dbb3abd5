"""
The tool `timeline`: how what is known of a topic changed.

Calls `Engram.timeline`. Tells when the store learned of something, which may be long after it happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from engram.context.isolation import one_line
from engram.surfaces.mcp.render import as_data, day, line, shape, short
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit

if TYPE_CHECKING:
    from engram.values.timeline import TimelineEntry


class Topic(Arguments, frozen=True):
    """Which topic."""

    topic: Annotated[str, Meta(description="In a few words")]
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


def timeline(visit: Visit, asked: Topic) -> Answer:
    """
    Show how the knowledge of a topic changed: learned, confirmed, corrected, disputed, removed; oldest
    first. For "since when" and "what was it before".
    """
    found = visit.engram.timeline(asked.topic, limit=asked.limit)
    told = as_data(_line(entry) for entry in found.entries) or "Nothing is known of it."
    return Answer(told, {"entries": [_shape(entry) for entry in found.entries]})


def _line(entry: TimelineEntry) -> str:
    instead = f" in place of {short(entry.replaced.id)}" if entry.replaced else ""
    against = f" against {short(entry.disputed.id)}" if entry.disputed else ""
    why = f" ({one_line(entry.reason)})" if entry.reason else ""
    return f"{day(entry.at)} {entry.change}{instead}{against}{why}: {line(entry.memory)}"


def _shape(entry: TimelineEntry) -> dict[str, Any]:
    return {
        "at": entry.at.isoformat(),
        "change": entry.change,
        "memory": shape(entry.memory),
        "replaced": entry.replaced.id if entry.replaced else None,
        "reason": entry.reason,
    }


TOOL = Tool(takes=Topic, does=timeline, reads_only=True, is_idempotent=True)
