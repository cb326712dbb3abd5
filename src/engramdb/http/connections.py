"""
The connections of a server: how many there are, from where, and which of them wait for a request.

A connection costs a stranger nothing, so having one gives no right to it. Where every place is taken, one
that waits for a request makes room for the newcomer: of those that never sent a whole one, the oldest of the
address that holds the most. So a thousand half-open connections keep nobody out. A request under way is
never cut off.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from msgspec import Struct, field
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from engramdb.http.limits import Limits
from engramdb.http.load_shedding import busy

_FULL: Final = {
    "connections": busy("the server has too many connections"),
    "address": busy("too many connections come from this address", status=429),
}
_REASONS: Final = {429: "Too Many Requests", 503: "Service Unavailable"}


class Places(Struct, frozen=True):
    """The connections of one address by what they do; the oldest stand first."""

    silent: dict[LimitedConnection, None] = field(default_factory=dict)
    """Those that never sent a whole request."""
    idle: dict[LimitedConnection, None] = field(default_factory=dict)
    """Those whose requests are all answered."""
    busy: dict[LimitedConnection, None] = field(default_factory=dict)

    @property
    def taken(self) -> int:
        """How many connections the address has."""
        return len(self.silent) + len(self.idle) + len(self.busy)

    def put(self, one: LimitedConnection, into: dict[LimitedConnection, None] | None) -> None:
        """Note what a connection does now; None where it is gone."""
        for each in (self.silent, self.idle, self.busy):
            each.pop(one, None)
        if into is not None:
            into[one] = None


class Connections:
    """The places that a server gives to connections, and counts of those that it refused or closed."""

    def __init__(self, limits: Limits = Limits(), refused: Counter[str] | None = None) -> None:
        self.limits = limits
        self.max_open = limits.max_open_connections
        self.refused = Counter() if refused is None else refused
        self._places: dict[str, Places] = {}

    @property
    def open(self) -> int:
        """How many connections there are."""
        return sum(one.taken for one in self._places.values())

    def enter(self, one: LimitedConnection) -> Response | None:
        """Give a place to a newcomer, or return the answer that sends it away."""
        own = self._places.get(one.address, Places())
        if own.taken >= self.limits.max_connections_per_address and not self._make_room([own]):
            return self._refuse("address")
        if self.open >= self.max_open and not self._make_room(list(self._places.values())):
            return self._refuse("connections")
        own = self._places.setdefault(one.address, Places())  # making room may have closed its last one
        own.put(one, own.silent)
        return None

    def note(self, one: LimitedConnection, *, is_busy: bool) -> None:
        """Note whether a request of a connection is under way."""
        own = self._places.get(one.address)
        if own is not None and (is_busy or one in own.busy):
            own.put(one, own.busy if is_busy else own.idle)

    def leave(self, one: LimitedConnection) -> None:
        """Note that a connection is gone."""
        own = self._places.get(one.address)
        if own is not None:
            own.put(one, None)
            if not own.taken:
                del self._places[one.address]

    def _make_room(self, places: list[Places]) -> bool:
        """Close a connection that waits for a request; returns whether there was one."""
        for waiting in ([one.silent for one in places], [one.idle for one in places]):
            most = max(waiting, key=len, default=None)
            if most:
                oldest = next(iter(most))
                self.refused["made room"] += 1
                self.leave(oldest)
                oldest.transport.abort()
                return True
        return False

    def _refuse(self, reason: str) -> Response:
        self.refused[reason] += 1
        return _FULL[reason]


class LimitedConnection(H11Protocol):
    """A connection that is closed where no request comes, or where others need its place."""

    places: Connections
    address = ""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Take a place and begin to wait for a request."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        refusal = self.places.enter(self)
        if refusal is None:
            self._wait()
        else:
            transport.write(_raw(refusal))
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Take what has come; wait on where that is no whole request yet, also after an earlier one."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        self.places.note(self, is_busy=not self._is_idle)
        if not self._is_idle:
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self.places.note(self, is_busy=not self._is_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back and wait no longer."""
        self.places.leave(self)
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.places.limits.header_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._is_idle:
            self.transport.close()


def connection_class(connections: Connections) -> type[LimitedConnection]:
    """Return the class of the connections that share these places."""
    return type("PlacedConnection", (LimitedConnection,), {"places": connections})


def _raw(response: Response) -> bytes:
    """Return an answer as it goes over the wire where no request was read."""
    head = [f"HTTP/1.1 {response.status_code} {_REASONS[response.status_code]}", "connection: close"]
    head += [f"{name.decode()}: {value.decode()}" for name, value in response.raw_headers]
    return "\r\n".join([*head, "", ""]).encode() + bytes(response.body)
