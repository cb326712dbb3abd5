"""
Tell how long work goes on: a POST with `Accept: text/event-stream` is answered as a stream of events.

Stands around the routes and changes none of them. The verb that the route calls is handed a reporter by
`allowed`, where it can tell its progress; only the latest word waits to be sent, so a slow reader makes
nothing pile up. The last event is the answer that the same request would have had without the header.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.datastructures import Headers

from engram.surfaces.http.captured import Captured
from engram.surfaces.http.guard import API
from engram.surfaces.http.stream import BEAT, BEAT_SECONDS, START, event

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_STREAM: Final = "text/event-stream"


class Reporter:
    """Takes what a verb tells of its progress, in any thread, and holds the latest of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._done = 0
        self._latest: dict[str, object] | None = None
        self.has_news = asyncio.Event()

    def __call__(self, what: int | str, share: float | None = None) -> None:
        """Take so many more that are done, or the step that is under way and the share that is done."""
        if isinstance(what, int):
            self._done += what
            self._latest = {"done": self._done}
        else:
            self._latest = {"step": what, "share": share}
        with suppress(RuntimeError):  # the server has ended while the work goes on
            self._loop.call_soon_threadsafe(self.has_news.set)

    def latest(self) -> bytes | None:
        """Return the latest word as an event, once."""
        self.has_news.clear()
        news, self._latest = self._latest, None
        return None if news is None else event("progress", msgspec.json.encode(news))


_CURRENT: Final[ContextVar[Reporter | None]] = ContextVar("engram_reporter", default=None)


def reporter() -> Reporter | None:
    """Return whom the request under way wants to be told by, if it asked for that."""
    return _CURRENT.get()


class Progress:
    """ASGI middleware that answers with events where the caller asks for them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, as it is or with somebody listening."""
        is_wanted = (
            scope["type"] == "http"
            and scope["method"] == "POST"
            and scope["path"].startswith(API)
            and _STREAM in Headers(scope=scope).get("accept", "")
        )
        if is_wanted:
            await self._told(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _told(self, scope: Scope, receive: Receive, send: Send) -> None:
        listening, answer = Reporter(asyncio.get_running_loop()), Captured()
        before = _CURRENT.set(listening)
        work = asyncio.ensure_future(self._app(scope, receive, answer.take))
        _CURRENT.reset(before)
        try:
            await send(START)
            while not work.done():
                await _send(send, await _news(listening, work))
            await work
            name = "result" if answer.status < 400 else "error"
            await _send(send, event(name, answer.body), is_last=True)
        finally:
            await asyncio.wait([work])  # nobody listens any more, but what was begun is finished


async def _news(listening: Reporter, work: asyncio.Future[Any]) -> bytes:
    """Return the next word of progress; after a while without any, a sign of life."""
    waiting: asyncio.Future[Any] = asyncio.ensure_future(listening.has_news.wait())
    done, _ = await asyncio.wait([waiting, work], timeout=BEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    return listening.latest() or (b"" if done else BEAT)


async def _send(send: Send, piece: bytes, *, is_last: bool = False) -> None:
    if piece or is_last:
        await send({"type": "http.response.body", "body": piece, "more_body": not is_last})
