"""
GET /v1/events: live changes of the memories that the caller may see, as server-sent events.

Built by `app` around the engine. The store is asked four times a second whether anything is new, so
changes made by other processes are told, too. An event holds ids and words of ours, never a memory's;
`Last-Event-ID` goes on where a stream was cut off. Streams end with the server and with the token that
they were asked for by, and there are only so many.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from engram.errors import EngramError, InvalidQuery
from engram.surfaces.http.callers import is_still_known
from engram.surfaces.http.parameters import ScopeParameters  # noqa: TC001 - FastAPI reads the annotation
from engram.surfaces.http.pressure import busy
from engram.surfaces.http.requests import request_id
from engram.surfaces.http.stream import BEAT_SECONDS, MEDIA_TYPE, event, place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Send
    from starlette.types import Scope as Connection

    from engram.engine.engram import Engram
    from engram.store.contract.feed import FeedEntry, FeedPage
    from engram.values import Scope

PATH: Final = "/v1/events"
MOST_STREAMS: Final = 32
POLL_SECONDS: Final = 0.25
MOST_SECONDS: Final = 3_600.0
"""A stream ends then, and a listener comes again where it was."""
_PAGE: Final = 500
_MOST_DIGITS: Final = 18
_log = logging.getLogger("engram.http")


class Streams:
    """The streams that are open, and whether the server is about to end."""

    def __init__(self, *, most: int = MOST_STREAMS) -> None:
        self.most = most
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


def event_routes(engram: Engram, streams: Streams) -> APIRouter:
    """Return the route that follows the store."""
    router = APIRouter(default_response_class=Response)

    @router.get(PATH, responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}})
    async def events(
        asked: Annotated[ScopeParameters, Query()],
        last_event_id: Annotated[str | None, Header(description="The id of the last event seen.")] = None,
    ) -> Response:
        """
        Follow the changes of memories as server-sent events: `id`, `action`, `kind`, `status`, `at`.

        Begins with what happens next, or after the event that `Last-Event-ID` names.
        """
        scope, start = asked.chosen_scope(), _place(last_event_id)
        first = await streams.read(engram, start, scope)
        return Following(_follow(engram, streams, scope, first), streams)

    return router


class Following(StreamingResponse):
    """A stream of events, which takes one of the places while it lasts."""

    def __init__(self, events: AsyncIterator[bytes], streams: Streams) -> None:
        super().__init__(events, media_type=MEDIA_TYPE)
        self._streams = streams

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Send the events, or send the listener away where no place is left."""
        if self._streams.is_leaving or self._streams.open >= self._streams.most:
            self._streams.refused += 1
            await busy("there are too many streams already")(scope, receive, send)
            return
        self._streams.open += 1  # nothing is waited for since the look: two cannot take the same place
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.open -= 1


async def _follow(
    engram: Engram, streams: Streams, scope: Scope | None, page: FeedPage
) -> AsyncIterator[bytes]:
    """Yield events until the server leaves or the token is gone; whoever stops listening closes it."""
    cursor = page.cursor
    yield place(cursor) if not page.entries else b""
    begun_at = told_at = time.monotonic()
    while not streams.is_leaving and is_still_known() and time.monotonic() - begun_at < MOST_SECONDS:
        for entry in page.entries:
            yield _written(entry)
        if page.entries:
            told_at = time.monotonic()
        elif time.monotonic() - told_at > BEAT_SECONDS:
            yield place(page.cursor)
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


def _place(last_event_id: str | None) -> int | None:
    if last_event_id is None or not last_event_id.strip():
        return None
    if not (last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= _MOST_DIGITS):
        raise InvalidQuery("Last-Event-ID is not the id of an event", hint="Leave it out to begin with now.")
    return int(last_event_id)
