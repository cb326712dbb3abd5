"""
Every request has an id: the caller's own where it is sane, a new one otherwise.

Stands around everything that may fail. The id goes out with the answer, with the body of an error and
with every line of the log that tells of the request, so that what a user saw and what the server wrote
can be put together. It is carried in a context variable, which follows the request into its worker
thread.
"""

from __future__ import annotations

import re
import secrets
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers, MutableHeaders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
