"""
The routes of links: relate two memories, take it back, and tell what a memory is linked to.

Built by `api_routes` around one engine; one engine call each.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from engram.surfaces.http import paging
from engram.surfaces.http.bodies.life import RelateBody, UnrelateBody
from engram.surfaces.http.parameters import PageParameters
from engram.surfaces.http.replies import reply, reply_read
from engram.surfaces.http.routes.conditions import IfMatch, IfNoneMatch, meant
from engram.surfaces.http.routes.family import Family
from engram.surfaces.http.routes.memories import ABSENT, CHANGED, MemoryName
from engram.values import Edge

if TYPE_CHECKING:
    from engram.engine.engram import Engram


@dataclass(frozen=True, slots=True)
class Unrelated:
    """Whether there was such a link."""

    was_there: bool


def link_routes(engram: "Engram") -> Family:
    """Return the routes about two memories."""
    family = Family("links")

    @family.write("/relate", gives=Edge, refusals=CHANGED)
    def relate(body: RelateBody, if_match: IfMatch = None) -> Response:
        """Say how a memory relates to another and return the Edge; said again, it replaces the weight."""
        place = body.chosen_scope()
        return reply(
            engram.relate(
                **meant(engram, body.id, if_match, place),
                other=body.other,
                type=body.type,
                weight=body.weight,
                reason=body.reason,
                scope=place,
            )
        )

    @family.write("/unrelate", gives=Unrelated, refusals=CHANGED)
    def unrelate(body: UnrelateBody, if_match: IfMatch = None) -> Response:
        """Take such a link away and return whether it was there."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        was_there = engram.unrelate(**aim, other=body.other, type=body.type, reason=body.reason, scope=place)
        return reply(Unrelated(was_there))

    @family.read(
        "/memories/{memory_id}/links",
        gives=list[Edge],
        takes=PageParameters,
        refusals=ABSENT,
        is_paged=True,
    )
    def links(
        request: Request,
        memory_id: MemoryName,
        asked: Annotated[PageParameters, Query()],
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Return a list of Edge: the links that leave or reach a memory, to what this scope may see."""
        edges = engram.links(memory_id, scope=asked.chosen_scope())
        cut = paging.page(edges, paging.fingerprints(edges), limit=asked.limit, behind=asked.after)
        following = paging.address(request, after=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    return family
