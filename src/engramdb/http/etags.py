"""ETags, conditional requests and HEAD."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec
from msgspec.structs import replace
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.errors import InvalidQuery, MemoryChanged
from engramdb.values import Memory
from engramdb.verbs.verb import Asked

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram


# Name the state of an answer, so that a client can ask "has it changed?" and say "only if it has not".

_BYTES: Final = 9
"""Of a fingerprint: two states of one thing that share it are not to be expected."""
_ANY: Final = "*"


def tag_of(body: bytes) -> str:
    """Return the ETag of an answer."""
    return f'"{_fingerprint(body)}"'


def memory_tag(memory: Memory, body: bytes) -> str:
    """Return the ETag of a memory and of how it was written down."""
    return f'"{_fingerprint(msgspec.json.encode(memory.stated))}.{_fingerprint(body)}"'


def is_among(tag: str, header: str) -> bool:
    """Return whether an ETag is one of those that an `If-None-Match` names, strong or weak."""
    return any(one in (_ANY, tag) for one in _named(header))


def is_stated_in(tag: str, header: str) -> bool:
    """Return whether an `If-Match` names the state that a memory is in, recalled since or not."""
    stated = tag.partition(".")[0]
    return any(one == _ANY or one.partition(".")[0] == stated for one in _named(header))


def is_any(header: str) -> bool:
    """Return whether a header is content with any state."""
    return _ANY in _named(header)


def _named(header: str) -> list[str]:
    return [one.strip().removeprefix("W/") for one in header.split(",")]


def _fingerprint(body: bytes) -> str:
    return blake2b(body, digest_size=_BYTES).hexdigest()


# Answer HEAD wherever GET is answered: the same headers and no body.

STREAM: Final = "text/event-stream"


class HeadRequests:
    """ASGI middleware that asks for GET and keeps the body back."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on, as GET where it is HEAD."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        with anyio.CancelScope() as stop:

            async def without_body(message: Message) -> None:
                if message["type"] != "http.response.start":
                    return
                await send(message)
                await send({"type": "http.response.body", "body": b""})
                if Headers(raw=message["headers"]).get("content-type", "").startswith(STREAM):
                    stop.cancel()
                    await anyio.lowlevel.checkpoint()

            await self._app({**scope, "method": "GET"}, receive, without_body)


# Change one memory only if it is still as the caller has seen it: `If-Match`.


def expected(engram: Engram, asked: Asked, if_match: str | None) -> tuple[Asked, Memory | None]:
    """
    Return a request by the whole id of its memory, and that as the caller has seen it, where that counts.

    Raises `MemoryChanged` where the memory has changed since.
    """
    if if_match is None:
        return asked, None
    named: Any = asked
    if named.id is None:
        raise InvalidQuery("If-Match is for one memory, and not for all of a user", hint="Leave it out.")
    seen = engram.get(named.id, scope=named.scope)
    whole = replace(asked, id=seen.id)
    if is_any(if_match):
        return whole, None
    if not is_stated_in(memory_tag(seen, b""), if_match):
        raise MemoryChanged(
            f"memory {seen.id} is not as `If-Match` says",
            hint="GET it again, and decide again with its ETag.",
        )
    return whole, seen
