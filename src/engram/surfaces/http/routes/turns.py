"""
The routes of conversations: keep what is said, read it now, end a session, show the turns.

Built by `api_routes` around one engine; one engine call each.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from engram.surfaces.http import paging
from engram.surfaces.http.bodies.turns import EndSessionBody, FlushBody, ObserveBody
from engram.surfaces.http.parameters import TurnParameters
from engram.surfaces.http.replies import reply, reply_read
from engram.surfaces.http.routes.conditions import IfNoneMatch
from engram.surfaces.http.routes.family import Family
from engram.values import Memory, Turn

if TYPE_CHECKING:
    from engram.engine.engram import Engram


@dataclass(frozen=True, slots=True)
class Flushed:
    """How many turns were read."""

    turns: int


def turn_routes(engram: "Engram") -> Family:
    """Return the routes of what is said."""
    family = Family("conversations")

    @family.write("/observe", gives=Turn)
    def observe(body: ObserveBody) -> Response:
        """
        Keep one message as it was said and return the Turn; it is durable when this answers.

        What it states is read out of it soon after: at once for a correction, a decision and the like.
        """
        return reply(
            engram.observe(
                body.content,
                role=body.role,
                speaker=body.speaker,
                session=body.session,
                occurred_at=body.occurred_at,
                scope=body.chosen_scope(),
            )
        )

    @family.write("/flush", gives=Flushed)
    def flush(body: FlushBody) -> Response:
        """Read now what still waits, of one session if named, and return how many turns that were."""
        return reply(Flushed(engram.flush(session=body.session, scope=body.chosen_scope())))

    @family.write("/end_session", gives=Memory | None)
    def end_session(body: EndSessionBody) -> Response:
        """Read what still waits of a session and return the Memory that sums it up; null if it is short."""
        return reply(engram.end_session(body.session, scope=body.chosen_scope()))

    @family.read("/turns", gives=list[Turn], takes=TurnParameters, is_paged=True)
    def turns(
        request: Request, asked: Annotated[TurnParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """
        Return a list of Turn: the latest of them, in the order they were said.

        `Link` leads to those before them.
        """
        found = engram.turns(
            session=asked.session,
            limit=paging.ahead(asked.limit),
            before=asked.before,
            scope=asked.chosen_scope(),
        )
        cut = paging.shown(found[::-1], lambda one: one.id, limit=asked.limit)
        following = paging.address(request, before=cut.following)
        return reply_read(cut.entries[::-1], known=if_none_match, following=following)

    return family
