"""
The routes of the dream and of what it finds: consolidate, take a merge back, questions, fields, summaries.

Built by `api_routes` around one engine; one engine call each.
"""

from typing import TYPE_CHECKING, Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from engram.surfaces.http import paging
from engram.surfaces.http.bodies.life import AnswerGapBody, CloseGapBody, DreamBody, UnmergeBody
from engram.surfaces.http.parameters import (
    GapParameters,
    RecordParameters,
    ScopeParameters,
    SummaryParameters,
)
from engram.surfaces.http.replies import reply, reply_memory, reply_read, reply_with
from engram.surfaces.http.routes.conditions import IfMatch, IfNoneMatch, meant
from engram.surfaces.http.routes.family import Family, With
from engram.surfaces.http.routes.memories import ONE
from engram.values import Domain, DreamReport, Gap, Memory, Summary

if TYPE_CHECKING:
    from engram.engine.engram import Engram


def dream_routes(engram: "Engram") -> Family:
    """Return the routes that consolidate."""
    family = Family("dream")

    @family.write("/dream", gives=With(DreamReport, ("changed",)))
    def dream(body: DreamBody) -> Response:
        """
        Consolidate the whole store once and return a DreamReport; `dry_run` only tells what it would do.

        Merges, settles, concludes, connects, asks; `changed` counts it. It may take a while: one dream at a
        time, beside everything else, and an interrupted one goes on where it stopped.
        """
        return reply_with(engram.dream(dry_run=body.dry_run, steps=body.steps), "changed")

    @family.read("/dreams", gives=list[DreamReport], takes=RecordParameters, is_paged=True)
    def dreams(
        request: Request, asked: Annotated[RecordParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """Return a list of DreamReport, newest first; an unfinished one tells how far it came."""
        found = engram.dreams(limit=paging.ahead(asked.limit), before=paging.number(asked.before))
        cut = paging.shown(found, lambda one: one.number, limit=asked.limit)
        following = paging.address(request, before=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    @family.write("/unmerge", gives=list[Memory], refusals=ONE)
    def unmerge(body: UnmergeBody, if_match: IfMatch = None) -> Response:
        """Take back every merge into a memory, or its own, and return each Memory that was brought back."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply(engram.unmerge(**aim, reason=body.reason, scope=place))

    return family


def insight_routes(engram: "Engram") -> Family:
    """Return the routes that tell what is not known, and what is known in short."""
    family = Family("insight")

    @family.read("/gaps", gives=list[Gap], takes=GapParameters, is_paged=True)
    def gaps(
        request: Request, asked: Annotated[GapParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """Return a list of Gap: open questions, the weightiest first."""
        found = engram.gaps(limit=paging.ahead(asked.limit), after=asked.after, scope=asked.chosen_scope())
        cut = paging.shown(found, lambda one: one.id, limit=asked.limit)
        following = paging.address(request, after=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    @family.write("/answer_gap", gives=Memory, is_tagged=True)
    def answer_gap(body: AnswerGapBody) -> Response:
        """Answer an open question: the answer is remembered and returned as a Memory, the question closed."""
        return reply_memory(engram.answer_gap(body.id, body.answer, scope=body.chosen_scope()))

    @family.write("/close_gap", gives=Gap)
    def close_gap(body: CloseGapBody) -> Response:
        """Settle a question without an answer and return the Gap; it is not asked again."""
        return reply(engram.close_gap(body.id, reason=body.reason, scope=body.chosen_scope()))

    @family.read("/domains", gives=list[Domain], takes=ScopeParameters, is_tagged=True)
    def domains(asked: Annotated[ScopeParameters, Query()], if_none_match: IfNoneMatch = None) -> Response:
        """Return a list of Domain: the fields of knowledge that the last dream found, best known first."""
        return reply_read(engram.domains(scope=asked.chosen_scope()), known=if_none_match)

    @family.read("/summaries", gives=list[Summary], takes=SummaryParameters, is_tagged=True)
    def summaries(
        asked: Annotated[SummaryParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """Return a list of Summary: what is known in short, what fits the question first."""
        paging.checked(asked.limit)
        found = engram.summaries(
            asked.query, breadth=asked.breadth, limit=asked.limit, scope=asked.chosen_scope()
        )
        return reply_read(found, known=if_none_match)

    return family
