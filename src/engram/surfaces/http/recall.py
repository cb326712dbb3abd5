"""
The routes that answer: recall, timeline, entities, and the feedback that makes the next answer better.

Built by `app` around one engine. A route parses, makes one engine call and answers with the engine's value;
errors travel on to `failures`. A question is a POST, since it counts as a recall of what it finds.
"""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from engram.surfaces.http.bodies import FeedbackBody, RecallBody
from engram.surfaces.http.parameters import EntityParameters, TimelineParameters
from engram.surfaces.http.replies import reply

if TYPE_CHECKING:
    from engram.engine.engram import Engram


def recall_routes(engram: "Engram") -> APIRouter:
    """Return the routes that answer questions."""
    router = APIRouter(prefix="/v1", default_response_class=Response)

    @router.post("/recall")
    def recall(body: RecallBody) -> Response:
        """
        Return a Recall: the hits, best first, with their reasons, and the quality of the answer.

        `as_of` answers from what was believed at that moment; `explain` adds the candidates left out.
        """
        return reply(
            engram.recall(
                body.query,
                limit=body.limit,
                mode=body.mode,
                filters=body.filters.filters(),
                session=body.session,
                as_of=body.as_of,
                strategy=body.strategy,
                explain=body.explain,
                scope=body.chosen_scope(),
            )
        )

    @router.get("/timeline")
    def timeline(asked: Annotated[TimelineParameters, Query()]) -> Response:
        """Return a Timeline: what was added, confirmed, corrected, disputed about a topic, oldest first."""
        return reply(engram.timeline(asked.topic, limit=asked.limit, scope=asked.chosen_scope()))

    @router.get("/entities/{name:path}")
    def entity(
        name: Annotated[str, Path(description="A name, or the id of an entity.")],
        asked: Annotated[EntityParameters, Query()],
    ) -> Response:
        """
        Return an EntityProfile: everything about a person, project or thing, by its name or id.

        At most `limit` memories of each layer, its relations, its company and its months.
        """
        return reply(engram.entity(name, limit=asked.limit, scope=asked.chosen_scope()))

    @router.post("/feedback")
    def feedback(body: FeedbackBody) -> Response:
        """
        Say whether a memory helped and return the Memory as it is now.

        One that was of no help for a `query` does not answer such questions for a while; others it does.
        """
        return reply(
            engram.feedback(body.id, helpful=body.helpful, query=body.query, scope=body.chosen_scope())
        )

    return router
