"""Build the application around an engine."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from fastapi import APIRouter, FastAPI
from msgspec import Struct, field
from uvicorn.protocols.http.h11_impl import H11Protocol

from engramdb import __version__
from engramdb.http import errors, openapi
from engramdb.http.auth import OPEN, OWN_FILE, Bearer
from engramdb.http.authorization import CallersEngram
from engramdb.http.docs import docs_routes
from engramdb.http.errors import SafeHeaders, Unforeseen
from engramdb.http.etags import Heads
from engramdb.http.events import PATH as EVENTS
from engramdb.http.events import Progress, Streams, event_routes
from engramdb.http.idempotency import Once
from engramdb.http.load_shedding import Guard, Load, Pressure
from engramdb.http.requests import RequestIds
from engramdb.http.routes_questions import api_routes
from engramdb.http.telemetry import METRICS, PROBES, Meter, Metered, Traced, probe_routes
from engramdb.web.page import page_routes, static_files

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.http.auth import Knows
    from engramdb.http.telemetry import Spans


# One connection of the server, on which a request has to arrive in time.

HEAD_SECONDS: Final = 20.0
"""How long the headers of a request may take: as long as a body."""


class PromptConnection(H11Protocol):
    """A connection that is closed where no request comes."""

    head_seconds = HEAD_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what has come; wait on where that is no whole request yet, also after an earlier one."""
        super().data_received(data)
        if not self._is_idle:
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._is_idle:
            self.transport.close()


# Build the application of the server around an engine.
#
# Called by `http.server` and by tests; whoever opened the engine closes it. Everything that the page loads
# comes from here: FastAPI's own documentation pages would load from elsewhere and are left out, and
# /openapi.json describes the API.

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
TOKEN_HINT: Final = f"Send Authorization: Bearer, with what {OWN_FILE} holds or `engram token add` gives."


class Watch(Struct, frozen=True, kw_only=True):
    """What the server knows of itself while it runs."""

    meter: Meter = field(default_factory=Meter)
    load: Load = field(default_factory=Load)
    streams: Streams = field(default_factory=Streams)
    spans: Spans | None = None
    """Where spans go, if they are asked for."""


class Access(Struct, frozen=True, kw_only=True):
    """Who may come in, and by which names they may call the server."""

    hosts: Collection[str] = LOOPBACK_NAMES
    tokens: Knows | None = None
    """Without any, whoever reaches the server may use it."""
    is_local: bool = True
    """Whether only this machine can reach the server."""
    open_metrics: bool = False


def create_app(engram: Engram, *, access: Access = Access(), watch: Watch | None = None) -> FastAPI:
    """Return the application; `access` says who may use it, `watch` is told what happens."""
    app = FastAPI(
        title="Engram",
        description="Long-term memory for AI agents.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    watch = watch or Watch()
    held = cast("Engram", CallersEngram(engram, spans=watch.spans))
    api = api_routes(held)
    app.router.routes.extend(api.router.routes)
    app.include_router(event_routes(held, watch.streams))
    app.include_router(_probes(engram, held, access, watch))
    app.include_router(page_routes(held))
    app.include_router(docs_routes(app))
    app.mount("/static", static_files())
    openapi.install(app, api.told)
    errors.install(app)
    for middleware, options in _layers(engram, access, watch):
        app.add_middleware(middleware, **options)  # the last one added is the first to see a request
    return app


def _probes(engram: Engram, held: Engram, access: Access, watch: Watch) -> APIRouter:
    return probe_routes(
        engram,
        held,
        meter=watch.meter,
        load=watch.load,
        streams=watch.streams,
        open_metrics=access.open_metrics,
    )


def _layers(engram: Engram, access: Access, watch: Watch) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield what stands around the routes, the innermost first."""
    yield Unforeseen, {}
    yield Heads, {}
    yield Once, {"book": engram.replies}
    yield Unforeseen, {}  # so that a stream of progress ends with an error, too
    yield Progress, {}
    yield Pressure, {"load": watch.load, "free": {*PROBES, EVENTS}}
    if access.tokens is not None:
        is_open = {
            *OPEN,
            *(("/health",) if access.is_local else ()),
            *((METRICS,) if access.open_metrics else ()),
        }
        yield Bearer, {"tokens": access.tokens, "hint": TOKEN_HINT, "is_open": is_open, "has_page": True}
    yield Guard, {"hosts": access.hosts}
    yield Unforeseen, {}
    if watch.spans is not None:
        yield Traced, {"spans": watch.spans}
    yield Metered, {"meter": watch.meter}
    yield SafeHeaders, {}
    yield RequestIds, {}
