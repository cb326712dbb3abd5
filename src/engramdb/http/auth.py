"""
Authentication: every request shows a token, and a browser that has shown one is let in by its cookie.

Comes after the guard and before everything that costs something. Programs send `Authorization: Bearer`. A
browser opens the link that the server prints, or the form that is answered here; either gives it a cookie
that scripts and other sites cannot use, made of the token but of no use instead of it. A page of another site
cannot sign a visitor in by such a link, and so not as somebody else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol
from urllib.parse import parse_qs, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.errors import EngramError, TokenNeeded
from engramdb.http.guard import API, is_from_own_page, read_body, too_slow
from engramdb.http.requests import refuse
from engramdb.http.tokens import Caller, RefusedToken, cookie_of
from engramdb.web.page import sign_in_page

OWNER: Final = Caller(may_see_secrets=True)
"""Who asks where no token is asked for."""
_CURRENT: Final[ContextVar[Caller]] = ContextVar("engram_caller", default=OWNER)
_IS_KNOWN: Final[ContextVar[Callable[[], bool]]] = ContextVar("engram_is_known", default=lambda: True)


def caller() -> Caller:
    """Return who makes the current request."""
    return _CURRENT.get()


def is_still_known() -> bool:
    """Return whether who makes the current request would be let in now; asked by what goes on for long."""
    return _IS_KNOWN.get()()


@contextmanager
def calling(who: Caller, *, is_known: Callable[[], bool]) -> Iterator[None]:
    """Say who makes the request while the block runs, and how to ask whether that is still so."""
    before, known_before = _CURRENT.set(who), _IS_KNOWN.set(is_known)
    try:
        yield
    finally:
        _IS_KNOWN.reset(known_before)
        _CURRENT.reset(before)


CALLER: Final = "engram.caller"
"""Where a request carries who makes it: an MCP session outlives the request that began it."""
OPEN: Final = frozenset({"/healthz", "/readyz", "/static/page.css", "/static/icon.svg"})
"""What a monitor and the sign-in form need; nothing of it tells of the store."""
SIGN_IN: Final = "/sign-in"
_COOKIE: Final = "engram"
_COOKIE_SECONDS: Final = 30 * 86_400
_MAX_FORM_BYTES: Final = 10_000


class TokenVerifier(Protocol):
    """Recognises callers by what they show."""

    def by_token(self, shown: str) -> Caller | RefusedToken:
        """Return who shows this token, or why nobody is let in with it."""
        ...

    def by_cookie(self, shown: str) -> Caller | RefusedToken:
        """Return who shows this cookie, or why nobody is let in with it."""
        ...


class BearerAuthentication:
    """ASGI middleware that lets in who shows a token; with a page, also who has signed in on it."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: TokenVerifier,
        hint: str,
        is_open: Collection[str] = (),
        has_page: bool = False,
        on_refusal: Callable[[RefusedToken], None] = lambda _refused: None,
    ) -> None:
        self._app = app
        self._on_refusal = on_refusal
        self._tokens = tokens
        self._hint = hint
        self._is_open = frozenset(is_open)
        self._has_page = has_page

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on as its caller's, or answer it here."""
        if scope["type"] != "http" or scope["path"] in self._is_open:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = await self._signing_in(scope, headers, receive) if self._has_page else None
        if answer is not None:
            await answer(scope, receive, send)
            return
        who = self._who(scope, headers)
        if isinstance(who, RefusedToken):
            await run_in_threadpool(self._on_refusal, who)
            await self._refusal(scope, headers)(scope, receive, send)
            return
        scope[CALLER] = who
        with calling(who, is_known=lambda: self._is_still(who, scope, headers)):
            await self._app(scope, receive, send)

    def _who(self, scope: AsgiScope, headers: Headers) -> Caller | RefusedToken:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._tokens.by_token(token.strip())
        shown = cookie_parser(headers.get("cookie", "")).get(_cookie_name(scope))
        if not (self._has_page and shown):
            return RefusedToken(reason="missing")
        return self._tokens.by_cookie(shown)

    def _is_still(self, who: Caller, scope: AsgiScope, headers: Headers) -> bool:
        """Return whether a caller who was let in would be let in now, and as the same."""
        try:
            return self._who(scope, headers) == who
        except EngramError:  # the file of tokens cannot be read: the next request is told so
            return False

    async def _signing_in(self, scope: AsgiScope, headers: Headers, receive: Receive) -> Response | None:
        """Return the answer to the link with the token, or to the form; None to everything else."""
        if scope["method"] == "GET" and scope["path"] == "/":
            asked = parse_qs(scope["query_string"].decode("latin-1"))
            token = asked.pop("token", [None])[0]
            if token is not None and not is_from_own_page(headers):
                return HTMLResponse(sign_in_page(is_wrong=False), status_code=401)
            return None if token is None else await self._admit(scope, token, onward=asked)
        if scope["method"] == "POST" and scope["path"] == SIGN_IN:
            try:
                body = await read_body(receive, max_bytes=_MAX_FORM_BYTES)
            except TimeoutError:
                return refuse(408, too_slow())
            sent = parse_qs((body or b"").decode("latin-1"))
            return await self._admit(scope, sent.get("token", [""])[0].strip(), onward={})
        return None

    async def _admit(self, scope: AsgiScope, token: str, *, onward: dict[str, list[str]]) -> Response:
        who = self._tokens.by_token(token)
        if isinstance(who, RefusedToken):
            await run_in_threadpool(self._on_refusal, who)
            return HTMLResponse(sign_in_page(is_wrong=True), status_code=401)
        asked = urlencode(onward, doseq=True)
        response = RedirectResponse(f"/?{asked}" if asked else "/", status_code=303)
        response.set_cookie(
            _cookie_name(scope),
            cookie_of(token),
            max_age=_COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=scope["scheme"] == "https",
        )
        return response

    def _refusal(self, scope: AsgiScope, headers: Headers) -> Response:
        is_visitor = not scope["path"].startswith(API) and "text/html" in headers.get("accept", "")
        if self._has_page and is_visitor:
            return HTMLResponse(sign_in_page(is_wrong=False), status_code=401)
        response = refuse(401, TokenNeeded("the request carries no valid token", hint=self._hint))
        response.headers["WWW-Authenticate"] = "Bearer"
        return response


def _cookie_name(scope: AsgiScope) -> str:
    """Return a name of this server's own: browsers send a cookie to every port of the same host."""
    server = scope.get("server")
    return f"{_COOKIE}-{server[1]}" if server else _COOKIE
