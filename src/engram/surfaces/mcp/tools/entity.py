"""
The tool `entity`: everything about one person, project or thing.

Calls `Engram.entity`. Holds only what the server's scope may see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from engram.context.isolation import name, one_line
from engram.surfaces.mcp.render import as_data, line, shape
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit

if TYPE_CHECKING:
    from engram.values import EntityProfile


class Named(Arguments, frozen=True):
    """Who or what."""

    name: Annotated[str, Meta(description="Any name it goes by")]
    limit: Annotated[int, Meta(ge=1, le=50)] = 10


def entity(visit: Visit, asked: Named) -> Answer:
    """
    Show all that is known about one person, project or thing by name: memories, relations, who appears
    with it. For a question about it, `recall` is enough.
    """
    found = visit.engram.entity(asked.name, limit=asked.limit)
    return Answer(_words(found), _values(found))


def _words(found: EntityProfile) -> str:
    names = ", ".join(name(one) for one in (found.entity.name, *found.aliases))
    related = "; ".join(
        one_line(" ".join(part for part in (one.subject, one.predicate, one.object) if part))
        for one in found.relations
    )
    company = ", ".join(f"{name(one.entity.name)} ({one.memories})" for one in found.companions)
    told = {"Names": names, "Relations": related, "Appears with": company}
    return as_data(
        [
            *(f"{title}: {text}" for title, text in told.items() if text),
            *(line(memory) for layer in found.memories.values() for memory in layer),
        ]
    )


def _values(found: EntityProfile) -> dict[str, Any]:
    return {
        "name": found.entity.name,
        "aliases": list(found.aliases),
        "memories": [shape(memory) for layer in found.memories.values() for memory in layer],
        "relations": [
            {"subject": one.subject, "predicate": one.predicate, "object": one.object, "id": one.memory_id}
            for one in found.relations
        ],
        "appears_with": {one.entity.name: one.memories for one in found.companions},
        "months": dict(found.months),
        "namesakes": [{"name": one.name, "id": one.id} for one in found.namesakes],
    }


TOOL = Tool(takes=Named, does=entity, reads_only=True, is_idempotent=True)
