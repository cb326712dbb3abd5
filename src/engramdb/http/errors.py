"""Errors as problem responses, and response headers."""

from __future__ import annotations

import logging
import traceback
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.errors import EngramError, SystemError_
from engramdb.http.limits import RETRY_SECONDS
from engramdb.http.load_shedding import TooSlow
from engramdb.http.requests import refuse, reply_error, request_id
from engramdb.http.telemetry import method_of, route_of

# The headers that every answer carries.

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_ALWAYS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class SafeHeaders:
    """ASGI middleware that adds the headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on, and put the headers on its answer."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers[name] = value
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


# Answer what went wrong: the engine's errors by the table, the framework's in the same form, the rest as 500.
#
# The only part of the server that catches what it did not foresee; it logs the class and the place of the
# exception, the request's id and its route, and never a text or an address, which may quote a memory.

_COME_AGAIN: Final = frozenset({429, 503})
_log = logging.getLogger("engramdb.http")


class UnexpectedErrors:
    """ASGI middleware that answers and logs an exception that nobody has named."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on, and answer for it where that fails."""
        has_begun = False

        async def noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except TooSlow:
            raise
        except EngramError as exc:  # of a middleware: the routes have answered for theirs
            if has_begun:
                raise
            await answer_for_error(exc)(scope, receive, send)
        except Exception as exc:
            _log_place(exc, scope)
            if scope["type"] != "http" or has_begun:
                raise
            error = EngramError("a mistake in Engram itself", hint="The server's log says where.")
            await reply_error(error)(scope, receive, send)


def answer_for_error(error: EngramError) -> Response:
    """Return an error with the status of the table, and when to come again where that may help."""
    response = reply_error(error)
    if response.status_code in _COME_AGAIN:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def _log_place(exc: Exception, scope: AsgiScope) -> None:
    last = traceback.extract_tb(exc.__traceback__)[-1]
    asked = f"{method_of(scope) if scope['type'] == 'http' else scope['type']} {route_of(scope)}"
    where = f"{last.filename}:{last.lineno}"
    _log.error("%s at %s, request %s %s", type(exc).__name__, where, request_id(), asked)


def _answer_engram(_request: Request, exc: Exception) -> Response:
    assert isinstance(exc, EngramError)  # noqa: S101 - registered for this class
    return answer_for_error(exc)


def _answer_http(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)  # noqa: S101 - registered for this class
    error = SystemError_(
        f"{request.method} {request.url.path}: {exc.detail}", hint="GET /openapi.json lists every route."
    )
    response = refuse(exc.status_code, error)
    response.headers.update(exc.headers or {})
    return response


HANDLERS: Final = {EngramError: _answer_engram, HTTPException: _answer_http}
"""What the routes of the application answer errors with."""
