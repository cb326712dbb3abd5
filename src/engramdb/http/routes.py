"""Routes of the API."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, Path, Query
from msgspec import Struct, field
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from engramdb.errors import InvalidQuery
from engramdb.http import requests
from engramdb.http.bodies import (
    EXAMPLE_ID,
    AgeBody,
    CompactionBody,
    CorrectBody,
    EndSessionBody,
    EraseBody,
    FindingBody,
    FlushBody,
    ForgetBody,
    ImportBody,
    LayerBody,
    MindBody,
    ObserveBody,
    PinBody,
    RelateBody,
    RememberBody,
    RememberManyBody,
    RestoreBody,
    StatusBody,
    TaskResultBody,
    ToolRunBody,
    UnrelateBody,
)
from engramdb.http.etags import IfMatch, IfNoneMatch, meant
from engramdb.http.requests import (
    CompareParameters,
    ForecastParameters,
    ListParameters,
    Nothing,
    PageParameters,
    ScopeParameters,
    TurnParameters,
    repeatable,
    reply,
    reply_memory,
    reply_read,
)
from engramdb.values import (
    GLOBAL,
    AgeReport,
    Census,
    Edge,
    Erasure,
    Forecast,
    HistoryEvent,
    ImportOrigin,
    ImportReport,
    Memory,
    Scope,
    Turn,
    WorkingMemory,
)

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.http.bodies import Body


# Make the routes of one family: a tag, its reads and its writes, and what the description says of each.
#
# Used by the other files here. A read is a GET that changes nothing but the count of recalls, a write a POST
# with a JSON body. What the address must not hold is refused before the route runs: a parameter that is given
# twice where it means one thing, and any parameter at all beside a body, where it would be passed over.

PREFIX: Final = "/v1"
_Route = TypeVar("_Route", bound="Callable[..., Response]")


class With(Struct, frozen=True):
    """A value whose answer also holds what it computes under some names."""

    value: type
    computed: tuple[str, ...]


class Told(Struct, frozen=True, kw_only=True):
    """What the description says of a route beside its parameters and its body."""

    gives: Any
    """The type of the answer."""
    otherwise: Mapping[int, Any] = field(default_factory=dict)
    """The types of answers with another status than 200 that are no errors."""
    refusals: frozenset[int] = frozenset()
    """The statuses of errors that not every route has."""
    is_write: bool = False
    is_paged: bool = False
    """Whether a `Link` leads to the page that follows."""
    is_tagged: bool = False
    """Whether the answer has an ETag."""


class Family:
    """A group of routes that the description shows together."""

    def __init__(self, tag: str, *, prefix: str = PREFIX) -> None:
        self.router = APIRouter(prefix=prefix, default_response_class=Response)
        self.told: dict[str, Told] = {}
        """What is told of each route, by the name of its function, which is its operation id."""
        self._tag = tag

    def join(self, other: Family) -> None:
        """Take in the routes of another family as they are; to include them would build each anew."""
        self.router.routes.extend(other.router.routes)
        self.told |= other.told

    def read(
        self,
        path: str,
        *,
        gives: Any,
        takes: type[Body] = Nothing,
        otherwise: Mapping[int, Any] | None = None,
        refusals: frozenset[int] = frozenset(),
        is_paged: bool = False,
        is_tagged: bool = False,
    ) -> Callable[[_Route], _Route]:
        """Return the decorator of a GET that takes these parameters."""
        told = Told(
            gives=gives,
            otherwise=otherwise or {},
            refusals=refusals,
            is_paged=is_paged,
            is_tagged=is_tagged or is_paged,
        )
        return self._route("GET", path, told, Depends(_once(takes)))

    def write(
        self,
        path: str,
        *,
        gives: Any,
        refusals: frozenset[int] = frozenset(),
        is_tagged: bool = False,
    ) -> Callable[[_Route], _Route]:
        """Return the decorator of a POST."""
        told = Told(gives=gives, refusals=refusals, is_write=True, is_tagged=is_tagged)
        return self._route("POST", path, told, Depends(_nothing_beside))

    def _route(self, method: str, path: str, told: Told, check: Any) -> Callable[[_Route], _Route]:
        def add(route: _Route) -> _Route:
            name = route.__name__
            self.told[name] = told
            self.router.add_api_route(
                path, route, methods=[method], tags=[self._tag], operation_id=name, dependencies=[check]
            )
            return route

        return add


def _once(takes: type[Body]) -> Callable[[Request], None]:
    """Return the check that what means one thing is given once, and that nothing unknown is."""
    known = {one.alias or name for name, one in takes.model_fields.items()}
    many = repeatable(takes)

    def check(request: Request) -> None:
        given = Counter(name for name, _ in request.query_params.multi_items())
        if twice := sorted(name for name, times in given.items() if times > 1 and name in known - many):
            raise InvalidQuery(f"{twice[0]} is given {given[twice[0]]} times", hint="Give it once.")
        if takes is Nothing and given:
            raise InvalidQuery(f"{min(given)[:40]!r} is no parameter here", hint="This takes none.")

    return check


def _nothing_beside(request: Request) -> None:
    """Refuse parameters beside a body: a `dry_run` in the address must not turn into the real thing."""
    if request.url.query:
        raise InvalidQuery("a POST takes everything in its body", hint="Move the parameters there.")


# The routes of memories: state, correct, forget, erase, import; list, get, and what happened to one.
#
# Built by `api_routes` around one engine. A route parses, makes one engine call and answers with the engine's
# value; errors travel on to `failures`. Plain functions, so that the framework runs them in worker threads.

MemoryName = Annotated[
    str, Path(description="The memory's id, or its last 8 characters.", examples=[EXAMPLE_ID])
]
ABSENT = frozenset({404})
"""There may be no such memory."""
CHANGED = frozenset({404, 412})
"""There may be no such memory, or another one than the caller thinks."""
ONE = CHANGED | {409}
"""And it may be one that this cannot be done to."""


def memory_routes(engram: Engram) -> Family:
    """Return the routes that read and write memories."""
    family = Family("memories")

    @family.write("/remember", gives=Memory, is_tagged=True)
    def remember(body: RememberBody) -> Response:
        """Store one statement and return the Memory; one that is already known becomes stronger."""
        return reply_memory(engram.remember(body.content, scope=body.chosen_scope(), **body.options()))

    @family.write("/remember_many", gives=list[Memory])
    def remember_many(body: RememberManyBody) -> Response:
        """
        Store many statements and return each as a Memory, in their order.

        One that is not valid is refused and ends it; those before it may be stored, and sending all of them
        again is harmless. What is inferred from the words of many follows in the background.
        """
        scope = body.chosen_scope() or engram.scope
        return reply(engram.remember_many(one.draft(scope) for one in body.statements))

    @family.write("/correct", gives=Memory, refusals=ONE, is_tagged=True)
    def correct(body: CorrectBody, if_match: IfMatch = None) -> Response:
        """Put a new statement in the place of an old one and return the new Memory."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.correct(**aim, content=body.content, reason=body.reason, scope=place))

    @family.write("/forget", gives=Memory, refusals=ONE, is_tagged=True)
    def forget(body: ForgetBody, if_match: IfMatch = None) -> Response:
        """Take a memory out of every index and return the Memory as it is now."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.forget(**aim, reason=body.reason, scope=place))

    @family.write("/erase", gives=Erasure, refusals=CHANGED)
    def erase(body: EraseBody, if_match: IfMatch = None) -> Response:
        """
        Take a memory, or everything of a user, out of the file for good and return an Erasure.

        Nobody can undo it; `dry_run` only counts what would go. `is_file_clean` says whether no byte is left.
        """
        if body.id is None and if_match is not None:
            raise InvalidQuery("If-Match is for one memory, and not for all of a user", hint="Leave it out.")
        place = body.chosen_scope()
        return reply(
            engram.erase(
                body.id,
                user=body.user,
                reason=body.reason,
                dry_run=body.dry_run,
                if_still=None if body.id is None else meant(engram, body.id, if_match, place)["if_still"],
                scope=place,
            )
        )

    @family.write("/import", gives=ImportReport)
    def import_text(body: ImportBody) -> Response:
        """
        Take in a text file that another program wrote and return an ImportReport; twice adds nothing.

        A record that cannot be taken in is named by its place. `dry_run` only counts.
        """
        with tempfile.TemporaryDirectory(prefix="engram-") as folder:
            file = FilePath(folder) / body.name
            file.write_text(body.text, encoding="utf-8", newline="")
            return reply(
                engram.import_from(
                    file,
                    kind=body.kind,
                    mapping=body.mapping,
                    dry_run=body.dry_run,
                    scope=body.chosen_scope(),
                )
            )

    family.join(_reading(engram))
    return family


def _reading(engram: Engram) -> Family:
    """Return the routes that only look."""
    family = Family("memories", prefix=f"{PREFIX}/memories")

    @family.read("", gives=list[Memory], takes=ListParameters, refusals=ABSENT, is_paged=True)
    def list_memories(
        request: Request, asked: Annotated[ListParameters, Query()], if_none_match: IfNoneMatch = None
    ) -> Response:
        """Return a list of Memory, newest first; `before` a memory's id gives the page after it."""
        found = engram.list(
            limit=requests.ahead(asked.limit),
            before=asked.before,
            filters=asked.filters(),
            scope=asked.chosen_scope(),
        )
        cut = requests.shown(found, lambda one: one.id, limit=asked.limit)
        following = requests.address(request, before=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    @family.read("/{memory_id}", gives=Memory, takes=ScopeParameters, refusals=ABSENT, is_tagged=True)
    def get(
        memory_id: MemoryName,
        asked: Annotated[ScopeParameters, Query()],
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Return one Memory by its id or the last eight characters of it."""
        return reply_memory(engram.get(memory_id, scope=asked.chosen_scope()), known=if_none_match)

    @family.read(
        "/{memory_id}/history",
        gives=list[HistoryEvent],
        takes=PageParameters,
        refusals=ABSENT,
        is_paged=True,
    )
    def history(
        request: Request,
        memory_id: MemoryName,
        asked: Annotated[PageParameters, Query()],
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Return a list of HistoryEvent: everything that happened to a memory, oldest first."""
        events = engram.history(memory_id, scope=asked.chosen_scope())
        cut = requests.page(events, requests.numbers(events), limit=asked.limit, behind=asked.after)
        following = requests.address(request, after=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    @family.read("/{memory_id}/origin", gives=ImportOrigin | None, takes=ScopeParameters, refusals=ABSENT)
    def imported_from(memory_id: MemoryName, asked: Annotated[ScopeParameters, Query()]) -> Response:
        """Return the ImportOrigin of a memory: the file that it was imported from; null for any other."""
        return reply(engram.imported_from(memory_id, scope=asked.chosen_scope()))

    return family


# The routes of links: relate two memories, take it back, and tell what a memory is linked to.
#
# Built by `api_routes` around one engine; one engine call each.


class Unrelated(Struct, frozen=True):
    """Whether there was such a link."""

    was_there: bool


def link_routes(engram: Engram) -> Family:
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
        cut = requests.page(edges, requests.fingerprints(edges), limit=asked.limit, behind=asked.after)
        following = requests.address(request, after=cut.following)
        return reply_read(cut.entries, known=if_none_match, following=following)

    return family


# The routes of ageing: what leaves, what will, and how a person decides otherwise.
#
# Built by `api_routes` around one engine; one engine call each. Those that change one memory take `If-Match`.


def life_routes(engram: Engram) -> Family:
    """Return the routes that decide how long memories live."""
    family = Family("life")

    @family.write("/pin", gives=Memory, refusals=ONE, is_tagged=True)
    def pin(body: PinBody, if_match: IfMatch = None) -> Response:
        """Make a memory immune to every automatic loss and return the Memory as it is now."""
        place = body.chosen_scope()
        return reply_memory(engram.pin(**meant(engram, body.id, if_match, place), scope=place))

    @family.write("/unpin", gives=Memory, refusals=ONE, is_tagged=True)
    def unpin(body: PinBody, if_match: IfMatch = None) -> Response:
        """Let a memory age again and return the Memory as it is now."""
        place = body.chosen_scope()
        return reply_memory(engram.unpin(**meant(engram, body.id, if_match, place), scope=place))

    @family.write("/restore", gives=Memory, refusals=ONE, is_tagged=True)
    def restore(body: RestoreBody, if_match: IfMatch = None) -> Response:
        """Bring back what a rule removed and return the Memory as it is now."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.restore(**aim, reason=body.reason, scope=place))

    @family.write("/promote", gives=Memory, refusals=ONE, is_tagged=True)
    def promote(body: LayerBody, if_match: IfMatch = None) -> Response:
        """Put a memory one layer up, or into the layer named, and return the Memory as it is now."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.promote(**aim, layer=body.layer, reason=body.reason, scope=place))

    @family.write("/demote", gives=Memory, refusals=ONE, is_tagged=True)
    def demote(body: LayerBody, if_match: IfMatch = None) -> Response:
        """Put a memory one layer down, or into the layer named, and return the Memory as it is now."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.demote(**aim, layer=body.layer, reason=body.reason, scope=place))

    @family.write("/set_status", gives=Memory, refusals=ONE, is_tagged=True)
    def set_status(body: StatusBody, if_match: IfMatch = None) -> Response:
        """Move a memory to another status and return the Memory as it is now."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.set_status(**aim, status=body.status, reason=body.reason, scope=place))

    family.join(_ageing(engram))
    return family


def _ageing(engram: Engram) -> Family:
    """Return the routes of many memories at once."""
    family = Family("life")

    @family.write("/age", gives=AgeReport)
    def age(body: AgeBody) -> Response:
        """Let the whole store age once and return an AgeReport; `dry_run` only tells what it would do."""
        return reply(engram.age(dry_run=body.dry_run))

    @family.read("/forecast", gives=Forecast, takes=ForecastParameters, refusals=ABSENT)
    def forecast(asked: Annotated[ForecastParameters, Query()]) -> Response:
        """Return a Forecast: what fades, moves and leaves if nothing happens, of one memory or all."""
        asked.check()
        return reply(
            engram.forecast(
                asked.memory_id, days=asked.days, everywhere=asked.everywhere, scope=asked.chosen_scope()
            )
        )

    @family.read("/policies/compare", gives=dict[str, list[Census]], takes=CompareParameters)
    def compare_policies(asked: Annotated[CompareParameters, Query()]) -> Response:
        """Return a list of Census by preset: what each would keep of this store after so many days."""
        return reply(
            engram.compare_policies(days=asked.days, everywhere=asked.everywhere, scope=asked.chosen_scope())
        )

    return family


# The routes of conversations: keep what is said, read it now, end a session, show the turns.
#
# Built by `api_routes` around one engine; one engine call each.


class Flushed(Struct, frozen=True):
    """How many turns were read."""

    turns: int


def turn_routes(engram: Engram) -> Family:
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
            limit=requests.ahead(asked.limit),
            before=asked.before,
            scope=asked.chosen_scope(),
        )
        cut = requests.shown(found[::-1], lambda one: one.id, limit=asked.limit)
        following = requests.address(request, before=cut.following)
        return reply_read(cut.entries[::-1], known=if_none_match, following=following)

    return family


# The routes of agents: what one has in mind, and what it produces beside talk.
#
# Built by `api_routes` around one engine; one engine call each. A whole agent's turn, which lasts while a
# model
# thinks, is for the library: over HTTP it is `context` before and `observe` after.


def agent_routes(engram: Engram) -> Family:
    """Return the routes of working memory, and the doors for what agents produce."""
    family = Family("agents")

    @family.read("/working_memory", gives=WorkingMemory, takes=ScopeParameters)
    def working_memory(asked: Annotated[ScopeParameters, Query()]) -> Response:
        """Return the WorkingMemory of an agent: what it has in mind now, the most active first."""
        return reply(engram.working_memory(asked.agent, scope=_around_agent(asked)))

    @family.write("/suspend", gives=WorkingMemory)
    def suspend(body: MindBody) -> Response:
        """Keep what an agent has in mind, let go of it here, and return the WorkingMemory that was kept."""
        return reply(engram.suspend(body.agent, scope=body.chosen_scope()))

    @family.write("/resume", gives=WorkingMemory)
    def resume(body: MindBody) -> Response:
        """Bring an agent's WorkingMemory back; `restored` says in what state, `fresh` after long."""
        return reply(engram.resume(body.agent, scope=body.chosen_scope()))

    @family.write("/capture/compaction", gives=list[Memory])
    def capture_compaction(body: CompactionBody) -> Response:
        """Keep the statements of a summary that took the place of older messages; return each Memory."""
        return reply(engram.capture.compaction(body.summary, session=body.session, scope=body.chosen_scope()))

    @family.write("/capture/task_result", gives=Memory, is_tagged=True)
    def capture_task_result(body: TaskResultBody) -> Response:
        """Keep how a task ended and return the Memory."""
        return reply_memory(
            engram.capture.task_result(
                body.task,
                body.result,
                outcome=body.outcome,
                session=body.session,
                scope=body.chosen_scope(),
            )
        )

    @family.write("/capture/finding", gives=Memory, is_tagged=True)
    def capture_finding(body: FindingBody) -> Response:
        """Keep something that was found out, with where, and return the Memory."""
        return reply_memory(
            engram.capture.finding(
                body.statement, urls=body.urls, topic=body.topic, scope=body.chosen_scope()
            )
        )

    @family.write("/capture/tool_run", gives=Memory, is_tagged=True)
    def capture_tool_run(body: ToolRunBody) -> Response:
        """Count a run of a tool for a purpose and return the procedural Memory that counts them."""
        return reply_memory(
            engram.capture.tool_run(
                body.tool,
                body.purpose,
                outcome=body.outcome,
                session=body.session,
                scope=body.chosen_scope(),
            )
        )

    return family


def _around_agent(asked: ScopeParameters) -> Scope | None:
    """Return the scope around the agent; one that is named alone is an agent of the server's own scope."""
    around = replace(asked.chosen_scope() or GLOBAL, agent=None)
    return None if around == GLOBAL else around
