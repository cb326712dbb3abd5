"""
Build the application of the server around an engine.

Called by `http.server` and by tests; whoever opened the engine closes it. Everything that the page loads
comes from here: FastAPI's own documentation pages would load from elsewhere and are left out, and
/openapi.json describes the API.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from fastapi import FastAPI

from engram import __version__
from engram.surfaces.http import description, failures
from engram.surfaces.http.allowed import CallersEngram
from engram.surfaces.http.bearer import OPEN, Bearer
from engram.surfaces.http.events import PATH as EVENTS
from engram.surfaces.http.events import Streams, event_routes
from engram.surfaces.http.failures import Unforeseen
from engram.surfaces.http.guard import Guard
from engram.surfaces.http.headers import SafeHeaders
from engram.surfaces.http.heads import Heads
from engram.surfaces.http.metrics import Meter, Metered
from engram.surfaces.http.once import Once
from engram.surfaces.http.pressure import Load, Pressure
from engram.surfaces.http.probes import METRICS, PROBES, probe_routes
from engram.surfaces.http.progress import Progress
from engram.surfaces.http.requests import RequestIds
from engram.surfaces.http.routes import api_routes
from engram.surfaces.http.telemetry import Traced
from engram.surfaces.http.tokens import OWN_FILE
from engram.surfaces.web.docs import docs_routes
from engram.surfaces.web.page import page_routes, static_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fastapi import APIRouter

    from engram.engine.engram import Engram
    from engram.surfaces.http.bearer import Knows
    from engram.surfaces.http.telemetry import Spans

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
TOKEN_HINT: Final = f"Send Authorization: Bearer, with what {OWN_FILE} holds or `engram token add` gives."


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What the server knows of itself while it runs."""

    meter: Meter = field(default_factory=Meter)
    load: Load = field(default_factory=Load)
    streams: Streams = field(default_factory=Streams)
    spans: Spans | None = None
    """Where spans go, if they are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
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
    description.install(app, api.told)
    failures.install(app)
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
