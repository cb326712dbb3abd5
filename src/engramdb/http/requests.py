"""Read requests and write replies."""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.errors import EngramError, InvalidContent, InvalidQuery
from engramdb.http import etags
from engramdb.values import Memory
from engramdb.verbs.decoding import decode, decode_flat
from engramdb.verbs.errors import answer_for
from engramdb.verbs.verb import Asked, flat_fields

# Every request has an id: the caller's own where it is sane, a new one otherwise.

HEADER: Final = "X-Request-ID"
_SANE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What can stand in a log line and a header without doing anything there."""
_CURRENT: Final[ContextVar[str]] = ContextVar("engram_request_id", default="")
_FIRST_ATTEMPT: Final[ContextVar[datetime | None]] = ContextVar("engram_first_attempt", default=None)


def request_id() -> str:
    """Return the id of the current request; empty outside of one."""
    return _CURRENT.get()


def first_attempt_at() -> datetime | None:
    """Return when the current request was begun before and cut off, if it was."""
    return _FIRST_ATTEMPT.get()


@contextmanager
def retrying(at: datetime | None) -> Iterator[None]:
    """Say that a request is a second attempt while the block runs."""
    before = _FIRST_ATTEMPT.set(at)
    try:
        yield
    finally:
        _FIRST_ATTEMPT.reset(before)


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


# What a request asks for: the body of a POST, the address of a GET. Whatever is not known there is an error
# that names it, and what means one thing is given once: of two users, none is chosen in silence.

_DESCRIBED: Final = "GET /openapi.json describes every request."


def read_body_as(takes: type[Asked], body: bytes) -> Asked:
    """Return a request from a JSON body; raises with the name of the field that is wrong."""
    return decode(takes, _parsed(body), surface="http")


def read_query_as(
    takes: type[Asked], request: HttpRequest, *, apart: Collection[str] = ()
) -> tuple[Asked, dict[str, str]]:
    """Return a request from a path and its parameters, and those of `apart`, which are no fields of it."""
    fields = {one.flat_name("http"): one for one in flat_fields(takes, "http")}
    known = (fields.keys() - request.path_params.keys()) | set(apart)
    pairs = request.query_params.multi_items()
    many = {name for name, one in fields.items() if one.is_many}
    _check_names(Counter(name for name, _ in pairs), known=known, many=many)
    given: dict[str, Any] = dict(request.path_params)
    for name, text in pairs:
        if name in many:
            given.setdefault(name, []).append(text)
        else:
            given[name] = text
    taken_apart = {name: given.pop(name) for name in apart if name in given}
    try:
        return decode_flat(takes, given, surface="http"), taken_apart
    except InvalidContent as exc:
        raise InvalidContent(exc.message, hint=_DESCRIBED) from exc


def _check_names(given: Counter[str], *, known: Collection[str], many: Collection[str]) -> None:
    if given and not known:
        raise InvalidQuery(f"{min(given)[:40]!r} is no parameter here", hint="This takes none.")
    for name, times in sorted(given.items()):
        if name not in known:
            raise InvalidContent(f"query.{name[:80]}: no such parameter", hint=_DESCRIBED)
        if times > 1 and name not in many:
            raise InvalidQuery(f"{name} is given {times} times", hint="Give it once.")


def _parsed(body: bytes) -> object:
    if not body:
        raise InvalidContent("the body is empty", hint=_DESCRIBED)
    try:
        return json.loads(body)
    except json.JSONDecodeError as exc:
        raise InvalidContent(f"the body is not JSON, from character {exc.pos} on", hint=_DESCRIBED) from exc
    except (RecursionError, ValueError) as exc:  # not UTF-8, too deep, or a number of thousands of digits
        raise HTTPException(400, "the body cannot be read as JSON") from exc


# An answer held back: what an application would have sent, to be looked at or sent in another form.


class CapturedResponse:
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


JSON: Final = "application/json"


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
    return _with_etag(body, etags.memory_tag(memory, body), known)


def reply_read(value: object, *, known: str | None, following: str | None = None) -> Response:
    """Return a value with its ETag and the address of the next page, or 304 where it is known."""
    body = msgspec.json.encode(value)
    response = _with_etag(body, etags.tag_of(body), known)
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


def _with_etag(body: bytes, tag: str, known: str | None) -> Response:
    if known is not None and etags.is_among(tag, known):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, media_type=JSON, headers={"ETag": tag})
