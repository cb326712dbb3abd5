"""
The routes that answer: recall, context, reason, timeline, entities, and the feedback that makes them better.

Built by `api_routes` around one engine. A question that counts as a recall of what it finds is a POST; one
that only tells is a GET.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from engram.surfaces.http import paging
from engram.surfaces.http.bodies.questions import ContextBody, FeedbackBody, ReasonBody, RecallBody
from engram.surfaces.http.parameters import EntityParameters, QuestionParameters, TimelineParameters
from engram.surfaces.http.replies import reply, reply_memory, reply_read, reply_with
from engram.surfaces.http.routes.conditions import IfMatch, IfNoneMatch, meant
from engram.surfaces.http.routes.family import Family, With
from engram.values import (
    Confidence,
    EntityProfile,
    Memory,
    Reasoned,
    Recall,
    Timeline,
    Window,
    WorkingLine,
)

if TYPE_CHECKING:
    from engram.engine.engram import Engram

PROMPT = ("text", "messages")
"""A window as one prompt and as messages: what a caller hands to a model."""


def question_routes(engram: "Engram") -> Family:
    """Return the routes that answer questions."""
    family = Family("questions")

    @family.write("/recall", gives=Recall)
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

    @family.write("/context", gives=With(Window, PROMPT))
    def context(body: ContextBody) -> Response:
        """
        Return a Window: what a model should have in mind for a message, within a budget of tokens.

        `text` is all of it as one prompt, `messages` the same for a chat interface; `losses` and `missing`
        say what was shortened, left out or could not take part. What is shown counts as recalled.
        """
        history = None if body.history is None else [one.model_dump(mode="json") for one in body.history]
        window = engram.context(
            body.message,
            model=body.model,
            history=history,
            fixed=body.fixed,
            reserve=body.reserve,
            budget=body.budget,
            working=[WorkingLine(**one.model_dump()) for one in body.working],
            session=body.session,
            scope=body.chosen_scope(),
        )
        return reply_with(window, *PROMPT)

    @family.write("/reason", gives=With(Reasoned, ("is_answered", "tokens")))
    def reason(body: ReasonBody) -> Response:
        """
        Return a Reasoned: an answer with the memories that it stands on, and the way there as a tree.

        Asks a chat model, if one is configured, never more often than it may; without one there is the
        evidence, and `why` says so.
        """
        reasoned = engram.reason(
            body.question,
            depth=body.depth,
            limit=body.limit,
            calls=body.calls,
            tokens=body.tokens,
            session=body.session,
            scope=body.chosen_scope(),
        )
        return reply_with(reasoned, "is_answered", "tokens")

    @family.write("/feedback", gives=Memory, refusals=frozenset({404, 412}), is_tagged=True)
    def feedback(body: FeedbackBody, if_match: IfMatch = None) -> Response:
        """
        Say whether a memory helped and return the Memory as it is now.

        One that was of no help for a `query` does not answer such questions for a while; others it does.
        """
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.feedback(**aim, helpful=body.helpful, query=body.query, scope=place))

    family.join(_telling(engram))
    return family


def _telling(engram: "Engram") -> Family:
    """Return the routes that tell without counting as a recall."""
    family = Family("questions")

    @family.read("/timeline", gives=Timeline, takes=TimelineParameters, is_paged=True)
    def timeline(
        request: Request, asked: Annotated[TimelineParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """Return a Timeline: what was added, confirmed, corrected, disputed about a topic, oldest first."""
        told = engram.timeline(asked.topic, limit=asked.limit, scope=asked.chosen_scope())
        names = paging.numbers(told.entries)
        cut = paging.page(told.entries, names, limit=asked.entries, behind=asked.after)
        following = paging.address(request, after=cut.following)
        shown = replace(told, entries=tuple(cut.entries))
        return reply_read(shown, known=if_none_match, following=following)

    @family.read(
        "/entities/{name:path}",
        gives=EntityProfile,
        takes=EntityParameters,
        refusals=frozenset({404}),
        is_tagged=True,
    )
    def entity(
        name: Annotated[str, Path(description="A name, or the id of an entity.", examples=["Ada Lovelace"])],
        asked: Annotated[EntityParameters, Query()],
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """
        Return an EntityProfile: everything about a person, project or thing, by its name or id.

        At most `limit` memories of each layer, its relations, its company and its months.
        """
        found = engram.entity(name, limit=asked.limit, scope=asked.chosen_scope())
        return reply_read(found, known=if_none_match)

    @family.read("/confidence", gives=Confidence, takes=QuestionParameters)
    def confidence(asked: Annotated[QuestionParameters, Query()]) -> Response:
        """Return a Confidence: whether an answer can be sure, is uncertain, or about the unknown."""
        return reply(engram.confidence(asked.query, scope=asked.chosen_scope()))

    return family
