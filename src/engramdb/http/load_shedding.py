"""
Load shedding: a bounded number of requests at work and waiting; the others are refused with 503.

Comes after authentication, so strangers take no slot. A request that is refused was not begun, and is told
when to come again: nothing that was answered with success is lost, and nothing is half done. Bodies are read
before a request takes a slot, and an answer that nobody reads is given up, so slow callers hold up nobody
else. Where every place is taken, the body that has been arriving for longest is given up for a newcomer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.errors import ServerBusy
from engramdb.http.guard import read_body, replay, too_large, too_slow
from engramdb.http.limits import RETRY_SECONDS, Limits
from engramdb.http.requests import refuse


class Load:
    """The requests that were taken, and counts of those that were refused, by reason."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self.slots = asyncio.Semaphore(limits.max_working)
        self.inside = 0
        self.working = 0
        self.reading: dict[asyncio.Timeout, None] = {}
        """The bodies that are still arriving, the oldest first."""
        self.refused: Counter[str] = Counter()

    @property
    def is_full(self) -> bool:
        """Whether nothing more may wait."""
        return self.inside >= self.limits.max_working + self.limits.max_waiting

    @property
    def waiting(self) -> int:
        """How many requests are inside and not at work."""
        return self.inside - self.working

    def make_room(self) -> bool:
        """Give up the oldest body that is still arriving; returns whether there was one."""
        if not self.reading:
            return False
        oldest = next(iter(self.reading))
        del self.reading[oldest]
        oldest.reschedule(asyncio.get_running_loop().time())
        return True


class TooSlow(Exception):
    """The caller does not read its answer."""


class LoadShedding:
    """ASGI middleware that carries out a bounded number of requests at once."""

    def __init__(self, app: ASGIApp, *, load: Load, free: Collection[str] = ()) -> None:
        self._app = app
        self._load = load
        self._free = frozenset(free)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on when its turn comes, or send it away."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            if scope["path"] in self._free:
                await self._app(scope, receive, self._impatient(send))
            elif self._load.is_full and not self._load.make_room():
                await self._busy("full")(scope, receive, send)
            else:
                await self._inside(scope, receive, self._impatient(send))
        except TooSlow:
            self._load.refused["slow reader"] += 1

    async def _inside(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        self._load.inside += 1
        try:
            body = await self._body(receive)
            if not isinstance(body, bytes):
                await body(scope, receive, send)
                return
            await self._in_turn(scope, replay(body, receive), send)
        finally:
            self._load.inside -= 1

    async def _in_turn(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self._load.limits.wait_seconds):
                await self._load.slots.acquire()
        except TimeoutError:
            await self._busy("waited")(scope, receive, send)
            return
        self._load.working += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._load.working -= 1
            self._load.slots.release()

    async def _body(self, receive: Receive) -> bytes | Response:
        """Return the body, or the answer to one that is too large or too slow."""
        limits = self._load.limits
        try:
            async with asyncio.timeout(limits.body_seconds) as patience:
                self._load.reading[patience] = None
                body = await read_body(receive, max_bytes=limits.max_body_bytes, seconds=limits.body_seconds)
        except TimeoutError:
            if patience not in self._load.reading:  # it arrived no slower than others, but had to make room
                return self._busy("made room")
            self._load.refused["slow body"] += 1
            return refuse(408, too_slow())
        finally:
            self._load.reading.pop(patience, None)
        return refuse(413, too_large()) if body is None else body

    def _impatient(self, send: Send) -> Send:
        """Return a `send` that gives up on a caller who does not read."""

        async def within(message: Message) -> None:
            try:
                async with asyncio.timeout(self._load.limits.send_seconds):
                    await send(message)
            except TimeoutError:
                raise TooSlow from None

        return within

    def _busy(self, reason: str) -> Response:
        self._load.refused[reason] += 1
        return busy("the server has too much in hand")


def busy(message: str, *, status: int = 503) -> Response:
    """Return the answer that sends a request away, to come again."""
    response = refuse(status, ServerBusy(message))
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
