"""
The guard in front of every route: which requests reach the application, judged before the token is looked at.

Web pages of strangers also run on this machine and must not borrow what it may do: the Host must be one of
ours (no DNS rebinding), a change must come from our own page or from no page at all (no cross-site posts; the
rule is that of Go's http.CrossOriginProtection), and API posts must be JSON, which a form cannot send. Bodies
are read up to a limit of bytes and seconds, so nothing behind can be made to read without end.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.errors import ContentTooLarge, InvalidContent, SecurityError, SystemError_
from engramdb.http.limits import BODY_SECONDS, MAX_BODY_BYTES
from engramdb.http.requests import JSON, refuse

API: Final = "/v1/"
EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognised, never chosen here
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE: Final = frozenset({"same-origin", "none"})
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::[0-9]{1,5})?")
"""A name or an address, and perhaps a port; whatever else stands there would be taken into links."""


class Guard:
    """ASGI middleware that answers what may not pass."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str], origins: Collection[str] = ()) -> None:
        self._app = app
        self._origins = frozenset(origins)
        self._hosts = frozenset(host.lower() for host in hosts)
        # A server that listens everywhere may be called by any address: only names can be rebound.
        self._takes_addresses = bool(EVERYWHERE & {host.strip("[]") for host in hosts})

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Let the request through with its body read, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: AsgiScope) -> Response | None:
        """Return the answer to a request that may not pass, judged by its headers."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host_name(host)):
            return refuse(
                403,
                SecurityError(
                    f"the Host {host[:80]!r} is not this server",
                    hint="Use http://127.0.0.1 or the address that it listens on.",
                ),
            )
        if scope["method"] in _READS:
            return None
        if not is_from_own_page(headers) and not self._is_allowed(scope, headers):
            return refuse(403, SecurityError("the request comes from the page of another site"))
        if scope["path"].startswith(API) and not _is_json(headers):
            error = InvalidContent("the body must be JSON", hint="Send Content-Type: application/json.")
            return refuse(415, error)
        if _announced_bytes(headers) > MAX_BODY_BYTES:
            return refuse(413, too_large())
        return None

    def _is_allowed(self, scope: AsgiScope, headers: Headers) -> bool:
        """Return whether the page of another site may use the API; the forms of our page are ours alone."""
        return scope["path"].startswith(API) and headers.get("origin") in self._origins

    def _is_ours(self, name: str) -> bool:
        return name in self._hosts or (self._takes_addresses and _is_address(name))


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port and in lower case; nothing where it is none."""
    found = _HOST.fullmatch(host.strip().lower())
    return found[1] if found else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def too_large() -> ContentTooLarge:
    """Return the error of a body beyond the limit."""
    return ContentTooLarge(f"a request of more than {MAX_BODY_BYTES} bytes is too large")


def too_slow() -> SystemError_:
    """Return the error of a body that does not come to its end."""
    return SystemError_("the request took too long to arrive", hint="Send it again.")


def is_from_own_page(headers: Headers) -> bool:
    """Tell whether our own page, a person or a program sent it; browsers tell with either of two headers."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in _OWN_SITE
    origin = headers.get("origin")
    return origin is None or origin.lower().partition("://")[2] == headers.get("host", "").lower()


def _is_json(headers: Headers) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == JSON


def _announced_bytes(headers: Headers) -> int:
    length = headers.get("content-length", "")
    return int(length) if length.isdecimal() else 0


async def read_body(receive: Receive, *, max_bytes: int, seconds: float = BODY_SECONDS) -> bytes | None:
    """Return the whole body, None when it goes on beyond the limit; raises TimeoutError when it is slow."""
    body, is_more = bytearray(), True
    async with asyncio.timeout(seconds):
        while is_more:
            message = await receive()
            body += message.get("body", b"")
            is_more = message["type"] == "http.request" and message.get("more_body", False)
            if len(body) > max_bytes:
                return None
    return bytes(body)


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once and then whatever comes."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again
