"""Routes that ask, dream and report state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import Path, Query
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from engramdb import __version__
from engramdb.errors import AccessDenied, EngramError
from engramdb.http import requests
from engramdb.http.bodies import (
    AnswerGapBody,
    CloseGapBody,
    ContextBody,
    DreamBody,
    FeedbackBody,
    ReasonBody,
    RecallBody,
    UnmergeBody,
)
from engramdb.http.etags import IfMatch, IfNoneMatch, meant
from engramdb.http.requests import (
    EntityParameters,
    GapParameters,
    QuestionParameters,
    RecordParameters,
    ScopeParameters,
    SummaryParameters,
    TimelineParameters,
    reply,
    reply_memory,
    reply_read,
    reply_with,
)
from engramdb.http.routes import (
    ONE,
    PREFIX,
    Family,
    With,
    agent_routes,
    life_routes,
    link_routes,
    memory_routes,
    turn_routes,
)
from engramdb.values import (
    AuditEvent,
    Confidence,
    DoctorReport,
    Domain,
    DreamReport,
    EntityProfile,
    Gap,
    Memory,
    Reasoned,
    Recall,
    StatusReport,
    Summary,
    Timeline,
    Window,
    WorkingLine,
)

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram


# The routes that answer: recall, context, reason, timeline, entities, and the feedback that makes them
# better.
#
# Built by `api_routes` around one engine. A question that counts as a recall of what it finds is a POST; one
# that only tells is a GET.

PROMPT = ("text", "messages")
"""A window as one prompt and as messages: what a caller hands to a model."""


def question_routes(engram: Engram) -> Family:
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


def _telling(engram: Engram) -> Family:
    """Return the routes that tell without counting as a recall."""
    family = Family("questions")

    @family.read("/timeline", gives=Timeline, takes=TimelineParameters, is_paged=True)
    def timeline(
        request: Request, asked: Annotated[TimelineParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """Return a Timeline: what was added, confirmed, corrected, disputed about a topic, oldest first."""
        told = engram.timeline(asked.topic, limit=asked.limit, scope=asked.chosen_scope())
        names = requests.numbers(told.entries)
        cut = requests.page(told.entries, names, limit=asked.entries, behind=asked.after)
        following = requests.address(request, after=cut.following)
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


# The routes of the dream and of what it finds: consolidate, take a merge back, questions, fields, summaries.
#
# Built by `api_routes` around one engine; one engine call each.


def dream_routes(engram: Engram) -> Family:
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
        found = engram.dreams(limit=requests.ahead(asked.limit), before=requests.number(asked.before))
        cut = requests.shown(found, lambda one: one.number, limit=asked.limit)
        following = requests.address(request, before=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    @family.write("/unmerge", gives=list[Memory], refusals=ONE)
    def unmerge(body: UnmergeBody, if_match: IfMatch = None) -> Response:
        """Take back every merge into a memory, or its own, and return each Memory that was brought back."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply(engram.unmerge(**aim, reason=body.reason, scope=place))

    return family


def insight_routes(engram: Engram) -> Family:
    """Return the routes that tell what is not known, and what is known in short."""
    family = Family("insight")

    @family.read("/gaps", gives=list[Gap], takes=GapParameters, is_paged=True)
    def gaps(
        request: Request, asked: Annotated[GapParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """Return a list of Gap: open questions, the weightiest first."""
        found = engram.gaps(limit=requests.ahead(asked.limit), after=asked.after, scope=asked.chosen_scope())
        cut = requests.shown(found, lambda one: one.id, limit=asked.limit)
        following = requests.address(request, after=cut.following)
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
        requests.checked(asked.limit)
        found = engram.summaries(
            asked.query, breadth=asked.breadth, limit=asked.limit, scope=asked.chosen_scope()
        )
        return reply_read(found, known=if_none_match)

    return family


# The routes that tell how the server and the store fare: health, status, doctor, audit.
#
# Built by `api_routes` around one engine. All of them look at the whole store, and none shows a memory's
# words.
# What repairs or rebuilds a store is for whoever sits at the machine: `engram doctor --fix`, `engram
# rebuild`.


class Failing(Struct, frozen=True):
    """A part that does not work, and why."""

    name: str
    failure: str


class Health(Struct, frozen=True):
    """Whether all is well."""

    status: str
    """`ok` or `degraded`."""
    version: str
    """The server's."""
    failing: tuple[Failing, ...] = ()
    """What does not work."""


def state_routes(engram: Engram) -> Family:
    """Return the routes that tell how the server and the store fare."""
    family = Family("state", prefix="")

    @family.read("/health", gives=Health, otherwise={503: Health})
    def health() -> Response:
        """Return `ok` or `degraded`, the version and what fails; 503 when the store does not answer."""
        try:
            report = engram.status()
        except AccessDenied:
            raise  # the caller may not know, which says nothing of the store
        except EngramError as exc:
            down = Failing("store", f"{exc.code} {exc.message}")
            return reply(Health("degraded", __version__, (down,)), status=503)
        failing = tuple(Failing(part.name, part.failure or "") for part in report.parts if part.is_failing)
        return reply(Health("degraded" if failing else "ok", __version__, failing))

    @family.read(f"{PREFIX}/status", gives=StatusReport)
    def status() -> Response:
        """Return a StatusReport: counts, sizes, what waits, what fails."""
        return reply(engram.status())

    @family.read(f"{PREFIX}/doctor", gives=With(DoctorReport, ("ok",)))
    def doctor() -> Response:
        """Examine the store, change nothing, and return a DoctorReport; `ok` sums it up."""
        return reply_with(engram.doctor(), "ok")

    @family.read(
        f"{PREFIX}/audit",
        gives=list[AuditEvent],
        takes=RecordParameters,
        is_paged=True,
    )
    def audit(
        request: Request, asked: Annotated[RecordParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """
        Return a list of AuditEvent: who did what, newest first; ids, counts and reasons, no memory's words.

        `Link` leads to earlier ones.
        """
        found = engram.audit(limit=requests.ahead(asked.limit), before=requests.number(asked.before))
        cut = requests.shown(found, lambda one: one.number, limit=asked.limit)
        following = requests.address(request, before=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    return family


# The routes of the API, one file for each family; `api_routes` puts them together.


def api_routes(engram: Engram) -> Family:
    """Return every route of the API."""
    whole = Family("all", prefix="")
    for family in (
        memory_routes(engram),
        link_routes(engram),
        turn_routes(engram),
        question_routes(engram),
        life_routes(engram),
        dream_routes(engram),
        insight_routes(engram),
        agent_routes(engram),
        state_routes(engram),
    ):
        whole.join(family)
    return whole
