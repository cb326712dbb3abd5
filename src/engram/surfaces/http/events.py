"""
GET /v1/events: live changes of the memories that the caller may see, as server-sent events.

Built by `app` around the engine. The store is asked four times a second whether anything is new, so
changes made by other processes are told, too. An event holds ids and words of ours, never a memory's;
`Last-Event-ID` goes on where a stream was cut off. Streams end with the server, and there are only so
many.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from engram.errors import InvalidQuery
from engram.surfaces.http.parameters import ScopeParameters  # noqa: TC001 - FastAPI reads the annotation
from engram.surfaces.http.pressure import busy
from engram.surfaces.http.stream import BEAT_SECONDS, MEDIA_TYPE, event, place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from engram.engine.engram import Engram
    from engram.store.contract.feed import FeedEntry, FeedPage
    from engram.values import Scope

PATH: Final = "/v1/events"
MOST_STREAMS: Final = 32
POLL_SECONDS: Final = 0.25
MOST_SECONDS: Final = 3_600.0
"""A stream ends then, and a listener comes again where it was: so a token that was removed is asked for."""
_PAGE: Final = 500
_MOST_DIGITS: Final = 18


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
        if streams.is_leaving or streams.open >= streams.most:
            streams.refused += 1
            return busy("there are too many streams already")
        return StreamingResponse(_follow(engram, streams, scope, first), media_type=MEDIA_TYPE)

    return router


async def _follow(
    engram: Engram, streams: Streams, scope: Scope | None, page: FeedPage
) -> AsyncIterator[bytes]:
    """Yield events until the server leaves; whoever stops listening closes it."""
    streams.open += 1
    try:
        cursor = page.cursor
        yield place(cursor) if not page.entries else b""
        begun_at = told_at = time.monotonic()
        while not streams.is_leaving and time.monotonic() - begun_at < MOST_SECONDS:
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
            page = await streams.read(engram, cursor, scope)
    finally:
        streams.open -= 1


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
