"""Server-sent events and progress streams."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.errors import EngramError, InvalidQuery
from engramdb.http.auth import is_still_known
from engramdb.http.guard import API
from engramdb.http.load_shedding import busy
from engramdb.http.requests import CapturedResponse, read_query_as, request_id
from engramdb.values import Scope
from engramdb.verbs.verb import ScopedRequest

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.store.contract.capture import FeedEntry, FeedPage


# The form of server-sent events.

BEAT_SECONDS: Final = 15.0
BEAT: Final = b": alive\n\n"
MEDIA_TYPE: Final = "text/event-stream; charset=utf-8"
START: Final[Message] = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", MEDIA_TYPE.encode())],
}


def event(name: str, body: bytes, *, cursor: int | None = None) -> bytes:
    """Return one event; a body of several lines becomes several lines of the event."""
    number = b"" if cursor is None else b"id: %d\n" % cursor
    lines = b"".join(b"data: %s\n" % line for line in body.split(b"\n"))
    return b"event: %s\n%s%s\n" % (name.encode(), number, lines)


def cursor_comment(cursor: int) -> bytes:
    """Return a comment that moves the listener's cursor on without telling anything."""
    return b": here\nid: %d\n\n" % cursor


# GET /v1/events: live changes of the memories that the caller may see, as server-sent events.
#
# The store is asked four times a second whether anything is new, so
# changes made by other processes are told, too. An event holds ids and words of ours, never a memory's;
# `Last-Event-ID` goes on where a stream was cut off. Streams end with the server and with the token that
# they were asked for by, and their number is limited.

PATH: Final = "/v1/events"
MAX_STREAMS: Final = 32
POLL_SECONDS: Final = 0.25
MAX_STREAM_SECONDS: Final = 3_600.0
"""A stream ends then, and a listener comes again where it was."""
_PAGE: Final = 500
_MAX_DIGITS: Final = 18
_log = logging.getLogger("engramdb.http")


class Streams:
    """The streams that are open, and whether the server is about to end."""

    def __init__(self, *, max_open: int = MAX_STREAMS) -> None:
        self.max_open = max_open
        self.open = 0
        self.refused = 0
        self._leaving = asyncio.Event()
        self._threads: CapacityLimiter | None = None

    @property
    def is_leaving(self) -> bool:
        """Whether the server is about to end."""
        return self._leaving.is_set()

    def leave(self) -> None:
        """End every stream; called in the loop of the server."""
        self._leaving.set()

    async def pause(self) -> None:
        """Wait until it is time to look again, or to leave."""
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._leaving.wait()
        except TimeoutError:
            return

    async def read(self, engram: Engram, after: int | None, scope: Scope | None) -> FeedPage:
        """Read the feed in one of two threads of our own: followers never take those of the routes."""
        if self._threads is None:
            self._threads = CapacityLimiter(2)
        return await to_thread.run_sync(
            lambda: engram.changes(after=after, limit=_PAGE, scope=scope), limiter=self._threads
        )


class EventsRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Follow the changes of memories as server-sent events: `id`, `action`, `kind`, `status`, `at`.

    Begins with what happens next, or after the event that `Last-Event-ID` names.
    """


def event_routes(engram: Engram, streams: Streams) -> list[Route]:
    """Return the route that follows the store."""

    async def events(request: HttpRequest) -> Response:
        asked, _ = read_query_as(EventsRequest, request)
        start = _cursor(request.headers.get("last-event-id"))
        first = await streams.read(engram, start, asked.scope)
        return EventStream(_follow(engram, streams, asked.scope, first), streams)

    return [Route(PATH, events, methods=["GET"])]


class EventStream(StreamingResponse):
    """A stream of events, one of a limited number."""

    def __init__(self, events: AsyncIterator[bytes], streams: Streams) -> None:
        super().__init__(events, media_type=MEDIA_TYPE)
        self._streams = streams

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Send the events, or refuse the listener where too many are open."""
        if self._streams.is_leaving or self._streams.open >= self._streams.max_open:
            self._streams.refused += 1
            await busy("there are too many streams already")(scope, receive, send)
            return
        self._streams.open += 1  # nothing is waited for since the look: two cannot both be the last
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.open -= 1


async def _follow(
    engram: Engram, streams: Streams, scope: Scope | None, page: FeedPage
) -> AsyncIterator[bytes]:
    """Yield events until the server leaves or the token is gone; a listener that stops closes it."""
    cursor = page.cursor
    yield cursor_comment(cursor) if not page.entries else b""
    begun_at = told_at = time.monotonic()
    while not streams.is_leaving and is_still_known() and time.monotonic() - begun_at < MAX_STREAM_SECONDS:
        for entry in page.entries:
            yield _written(entry)
        if page.entries:
            told_at = time.monotonic()
        elif time.monotonic() - told_at > BEAT_SECONDS:
            yield cursor_comment(page.cursor)
            told_at = time.monotonic()
        if page.cursor == cursor:
            await streams.pause()
        cursor = page.cursor
        try:
            page = await streams.read(engram, cursor, scope)
        except EngramError as exc:  # the listener comes again, and is told then if it still fails
            _log.warning("%s: a stream has ended, request %s", exc.code, request_id())
            return


def _written(entry: FeedEntry) -> bytes:
    told = {
        "id": entry.memory_id,
        "action": entry.action,
        "kind": entry.kind,
        "status": entry.status,
        "at": entry.at,
    }
    return event("change", msgspec.json.encode(told), cursor=entry.cursor)


def _cursor(last_event_id: str | None) -> int | None:
    if last_event_id is None or not last_event_id.strip():
        return None
    if not (last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= _MAX_DIGITS):
        raise InvalidQuery("Last-Event-ID is not the id of an event", hint="Leave it out to begin with now.")
    return int(last_event_id)


# Progress of long work: a POST with `Accept: text/event-stream` is answered as a stream of events.
#
# A middleware around the routes. `CallersEngram` hands the verb a reporter, where it can tell its progress;
# only the latest word waits to be sent, so a slow reader makes nothing pile up. The last event is the answer
# that the same request would have had without the header.

_STREAM: Final = "text/event-stream"


class Reporter:
    """Takes what a verb tells of its progress, in any thread, and holds the latest of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._done = 0
        self._latest: dict[str, object] | None = None
        self.has_news = asyncio.Event()

    def __call__(self, what: int | str, share: float | None = None) -> None:
        """Take how many more are done, or the step that is being taken and the share that is done."""
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
    """Return what takes the progress of the current request, if it asked for that."""
    return _CURRENT.get()


class Progress:
    """ASGI middleware that answers with events where the caller asks for them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
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

    async def _told(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        listening, answer = Reporter(asyncio.get_running_loop()), CapturedResponse()
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
