"""
Answer HEAD wherever GET is answered: the same headers and no body.

Stands between the guard and the routes. The framework's own routes know GET alone, and listing HEAD beside
each would put every route into the description twice. A stream has no end to wait for: it is left at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from starlette.datastructures import Headers

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

STREAM = "text/event-stream"


class Heads:
    """ASGI middleware that asks for GET and keeps the body back."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
