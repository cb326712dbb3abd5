"""Read requests: parameters, paging, replies."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, Generic, TypeVar, get_origin
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from pydantic import Field
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.errors import EngramError, InvalidQuery
from engramdb.http import etags
from engramdb.http.bodies import Body, Limit, Moment, ScopeBody
from engramdb.values import Breadth, Filters, Kind, Layer, Memory, MemoryType, Scope, Status
from engramdb.values.query import MAX_LIMIT, check_limit
from engramdb.verbs.errors import answer_for

# Every request has an id: the caller's own where it is sane, a new one otherwise.

HEADER: Final = "X-Request-ID"
_SANE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What can stand in a log line and a header without doing anything there."""
_CURRENT: Final[ContextVar[str]] = ContextVar("engram_request_id", default="")
_BEGUN: Final[ContextVar[datetime | None]] = ContextVar("engram_begun", default=None)


def request_id() -> str:
    """Return the id of the request under way; empty outside of one."""
    return _CURRENT.get()


def begun_before() -> datetime | None:
    """Return when the request under way was begun before and cut off, if it was."""
    return _BEGUN.get()


@contextmanager
def begun(at: datetime | None) -> Iterator[None]:
    """Say that a request is carried out anew while the block runs."""
    before = _BEGUN.set(at)
    try:
        yield
    finally:
        _BEGUN.reset(before)


class RequestIds:
    """ASGI middleware that gives each request its id."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on under its id, and put that on the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        name = given if _SANE.fullmatch(given) else secrets.token_hex(16)

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = name
            await send(message)

        before = _CURRENT.set(name)
        try:
            await self._app(scope, receive, named)
        finally:
            _CURRENT.reset(before)


# An answer held back: what an application would have sent, to be looked at or sent in another form.


class Captured:
    """Stands in for `send` and remembers."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def take(self, message: Message) -> None:
        """Remember a message of the answer."""
        self._messages.append(message)

    @property
    def status(self) -> int:
        """The status of the answer."""
        return int(self._messages[0]["status"])

    @property
    def headers(self) -> Headers:
        """The headers of the answer."""
        return Headers(raw=self._messages[0]["headers"])

    @property
    def body(self) -> bytes:
        """The whole body of the answer."""
        return b"".join(one.get("body", b"") for one in self._messages[1:])

    async def send(self, send: Send) -> None:
        """Send it as it came."""
        for message in self._messages:
            await send(message)


# What answers look like: the engine's values as JSON, and errors as `{code, message, hint}`.

JSON = "application/json"


def reply(value: object, *, status: int = 200) -> Response:
    """Return a value as JSON."""
    return Response(msgspec.json.encode(value), status_code=status, media_type=JSON)


def reply_with(value: object, *computed: str) -> Response:
    """Return a value as JSON, and beside its fields what it computes under these names."""
    fields: dict[str, Any] = msgspec.to_builtins(value)
    return reply(fields | {name: getattr(value, name) for name in computed})


def reply_memory(memory: Memory, *, known: str | None = None) -> Response:
    """Return a memory with its ETag; 304 where the caller knows this very state of it."""
    body = msgspec.json.encode(memory)
    return _tagged(body, etags.memory_tag(memory, body), known)


def reply_read(value: object, *, known: str | None, following: str | None = None) -> Response:
    """Return a value with its ETag and the address of the page that follows, or 304 where it is known."""
    body = msgspec.json.encode(value)
    response = _tagged(body, etags.tag_of(body), known)
    if following is not None:
        response.headers["Link"] = f'<{following}>; rel="next"'
    return response


def reply_error(error: EngramError) -> Response:
    """Return an error with the status that the table gives it."""
    return refuse(answer_for(error).http_status, error)


def refuse(status: int, error: EngramError) -> Response:
    """Return an error with a status of HTTP's own, such as 415."""
    told = {"code": error.code, "message": error.message, "hint": error.hint}
    return reply(told | ({"request_id": request_id()} if request_id() else {}), status=status)


def _tagged(body: bytes, tag: str, known: str | None) -> Response:
    if known is not None and etags.is_among(tag, known):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, media_type=JSON, headers={"ETag": tag})


# What GET requests carry in their address: the scope, the filters, and what each route asks for besides.
#
# Parsed by FastAPI, turned into the engine's values here, and unknown anywhere else. One class per route,
# because a parameter that the route does not know must be an error that names it, as in a body.
# A list is given by repeating its parameter, and narrows to any of its values; anything else is given once.


class Nothing(Body):
    """No parameters at all."""


class ScopeParameters(ScopeBody):
    """The scope that a request names, by its parts; the server's own where it names none."""

    def chosen_scope(self) -> Scope | None:
        """Return the scope named, if any."""
        named = {name: getattr(self, name) for name in ScopeBody.model_fields}
        return Scope(**named) if any(part is not None for part in named.values()) else None


def repeatable(parameters: type[Body]) -> frozenset[str]:
    """Return which of the parameters may be given several times."""
    return frozenset(
        one.alias or name
        for name, one in parameters.model_fields.items()
        if get_origin(one.annotation) in (frozenset, tuple)
    )


class ListParameters(ScopeParameters):
    """Which memories to list."""

    limit: Limit = 50
    """How many at most."""
    before: str | None = None
    """The id of the last one shown; the page after it follows."""
    status: frozenset[Status] = frozenset({Status.ACTIVE})
    """What became of it."""
    layer: frozenset[Layer] = frozenset()
    """How long it is meant to live."""
    type: frozenset[MemoryType] = frozenset()
    """What it holds."""
    kind: frozenset[Kind] = frozenset()
    """Whether it happened once, or holds until replaced."""
    category: frozenset[str] = frozenset()
    """Such as `preference`."""
    since: Moment | None = None
    """From this moment on."""
    until: Moment | None = None
    """Before this moment."""
    entity: frozenset[str] = frozenset()
    """Speaks of this person or thing, by name or id."""
    technology: frozenset[str] = frozenset()
    """Speaks of this technology, in any spelling."""
    path: frozenset[str] = frozenset()
    """Names this file, or one below it."""
    language: frozenset[str] = frozenset()
    """A programming language."""
    sentiment: frozenset[str] = frozenset()
    """Of `positive`, `negative` and `neutral`."""
    speaker: frozenset[str] = frozenset()
    """Who said it."""
    session: frozenset[str] = frozenset()
    """The conversation that it was said in."""

    def filters(self) -> Filters:
        """Return the same as the engine says it."""
        return Filters(
            statuses=self.status,
            layers=self.layer,
            types=self.type,
            kinds=self.kind,
            categories=self.category,
            since=self.since,
            until=self.until,
            entities=self.entity,
            technologies=self.technology,
            paths=self.path,
            languages=self.language,
            sentiments=self.sentiment,
            speakers=self.speaker,
            sessions=self.session,
        )


class PageParameters(ScopeParameters):
    """How much of what belongs to a memory to show."""

    limit: Limit = 100
    """How many at most."""
    after: str | None = None
    """The cursor of a page, as the `Link` of the page before it gives it."""


class TurnParameters(ScopeParameters):
    """Which turns to show."""

    session: str | None = None
    """The conversation; all of them where left out."""
    limit: Limit = 50
    """How many at most."""
    before: str | None = None
    """The id of the earliest turn shown, or its last 8 characters; those before it follow."""


class TimelineParameters(ScopeParameters):
    """Which topic's story to tell."""

    topic: str = Field(examples=["editor"])
    """What it is about."""
    limit: Limit = 50
    """How many memories about it are looked at."""
    entries: Limit = 200
    """How many changes are told at most."""
    after: str | None = None
    """The cursor of a page, as the `Link` of the page before it gives it."""


class EntityParameters(ScopeParameters):
    """How much of an entity to show."""

    limit: Limit = 20
    """How many memories of each layer at most."""


class QuestionParameters(ScopeParameters):
    """Which question to judge."""

    query: str = Field(examples=["when is Ada's birthday?"])
    """The question."""


class ForecastParameters(ScopeParameters):
    """What to look ahead for, and how far."""

    memory_id: str | None = Field(None, alias="id")
    """One memory, by its id or its last 8 characters."""
    days: float = 365
    """How many days ahead."""
    everywhere: bool = False
    """Whether to count all scopes; shows numbers and no memory."""

    def check(self) -> None:
        """Refuse to count everything and to show one memory at once."""
        if self.memory_id is not None and self.everywhere:
            raise InvalidQuery("everywhere counts all memories and shows none", hint="Leave out the id.")


class CompareParameters(ScopeParameters):
    """After how many days to compare the presets."""

    days: tuple[float, ...] = (30, 90, 365)
    """After so many days each."""
    everywhere: bool = False
    """Whether to count all scopes."""


class GapParameters(ScopeParameters):
    """Which open questions to show."""

    limit: Limit = 20
    """How many at most."""
    after: str | None = None
    """The id of the last one shown; lighter ones follow."""


class RecordParameters(Body):
    """Which records of the whole store to show."""

    limit: Limit = 50
    """How many at most."""
    before: str | None = None
    """The `number` of the last one shown; earlier ones follow."""


class SummaryParameters(ScopeParameters):
    """Which summaries to show."""

    query: str | None = None
    """What fits this comes first."""
    breadth: Breadth = Breadth.DOMAIN
    """How much one summary speaks of."""
    limit: Limit = 5
    """How many at most."""


# Give a long list page by page, and the address of the page that follows.
#
# Used by the routes whose lists grow. A cursor names the last entry shown and not a position, so entries that
# come in meanwhile neither repeat nor hide others. Lists of a whole scope or store the engine pages itself,
# and
# `shown` only tells whether more follows; what belongs to one memory or topic is cut here, by `page`.

One = TypeVar("One")
_CURSOR_BYTES = 9
_DIGITS = 19
"""Of the largest number that a store gives."""


class Page(Struct, Generic[One], frozen=True):
    """Some entries of a list, and the cursor of those that follow, if any do."""

    entries: Sequence[One]
    following: str | None


def checked(limit: int) -> int:
    """Return the limit; raises as the engine does where it is none."""
    check_limit(limit)
    return limit


def ahead(limit: int) -> int:
    """Return how many entries to ask for: with one more than is shown, it is known whether a page follows."""
    return min(checked(limit) + 1, MAX_LIMIT)


def shown(found: Sequence[One], cursor: Callable[[One], object], *, limit: int) -> Page[One]:
    """
    Return so many of the entries that the engine gave, and the cursor of those that follow.

    At the largest limit nothing could be asked for beyond it, so a full page may be followed by an empty one.
    """
    entries = found[:limit]
    is_more = len(found) > limit or len(entries) == MAX_LIMIT
    return Page(entries, str(cursor(entries[-1])) if is_more else None)


def number(cursor: str | None) -> int | None:
    """Return a cursor that is a number; raises as the engine does where it is none."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _DIGITS):
        raise InvalidQuery(f"no entry has the cursor {cursor[:40]!r}", hint="Begin again without a cursor.")
    return None if cursor is None else int(cursor)


def page(entries: Sequence[One], names: Sequence[str], *, limit: int, behind: str | None) -> Page[One]:
    """Return so many entries behind the one that a cursor names, or the first; `names` are the cursors."""
    start = 0 if behind is None else _place(names, behind)
    end = start + checked(limit)
    return Page(entries[start:end], names[end - 1] if end < len(entries) else None)


def numbers(entries: Sequence[object]) -> list[str]:
    """Return cursors for a list that only grows at its end."""
    return [str(number) for number, _ in enumerate(entries, start=1)]


def fingerprints(entries: Sequence[object]) -> list[str]:
    """Return cursors for a list that grows at its beginning; equal entries are counted from the end on."""
    seen: Counter[str] = Counter()
    names = []
    for one in reversed(entries):
        written = blake2b(msgspec.json.encode(one), digest_size=_CURSOR_BYTES).hexdigest()
        names.append(f"{written}.{seen[written]}")
        seen[written] += 1
    return names[::-1]


def address(request: Request, **cursor: str | None) -> str | None:
    """Return the address of the same request with another cursor; None where no page follows."""
    ((name, value),) = cursor.items()
    if value is None:
        return None
    kept = [pair for pair in request.query_params.multi_items() if pair[0] != name]
    return f"{request.url.path}?{urlencode([*kept, (name, value)])}"


def _place(names: Sequence[str], behind: str) -> int:
    if behind not in names:
        raise InvalidQuery(
            f"no entry has the cursor {behind[:40]!r} any more", hint="Begin again without a cursor."
        )
    return names.index(behind) + 1
