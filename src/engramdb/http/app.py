"""
Build the application of the server around an engine.

Whoever opened the engine closes it. Everything that the page loads comes from here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct, field
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route

from engramdb.http.auth import OPEN, OWN_FILE, Bearer
from engramdb.http.authorization import CallersEngram
from engramdb.http.docs import docs_routes
from engramdb.http.errors import HANDLERS, SafeHeaders, Unforeseen
from engramdb.http.etags import Heads
from engramdb.http.events import PATH as EVENTS
from engramdb.http.events import Progress, Streams, event_routes
from engramdb.http.idempotency import Once
from engramdb.http.load_shedding import Guard, Load, Pressure
from engramdb.http.openapi import describe
from engramdb.http.replies import reply
from engramdb.http.requests import RequestIds
from engramdb.http.routes import verb_routes
from engramdb.http.telemetry import HEALTH, METRICS, PROBES, Meter, Metered, Probes, Traced
from engramdb.web.page import page_routes, static_files

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.http.auth import Knows
    from engramdb.http.telemetry import Spans

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


def create_app(engram: Engram, *, access: Access = Access(), watch: Watch | None = None) -> Starlette:
    """Return the application; `access` says who may use it, `watch` is told what happens."""
    watch = watch or Watch()
    guarded = cast("Engram", CallersEngram(engram, spans=watch.spans))
    probes = Probes(
        engram=engram,
        guarded=guarded,
        meter=watch.meter,
        load=watch.load,
        streams=watch.streams,
        open_metrics=access.open_metrics,
    )
    description = cache(describe)  # written when it is first asked for
    return Starlette(
        routes=[
            *verb_routes(guarded),
            *event_routes(guarded, watch.streams),
            *probes.routes(),
            *page_routes(guarded),
            *docs_routes(description),
            Route("/openapi.json", lambda _request: reply(description()), methods=["GET"]),
            Mount("/static", static_files()),
        ],
        middleware=list(_layers(engram, access, watch))[::-1],
        exception_handlers=HANDLERS,
    )


def _layers(engram: Engram, access: Access, watch: Watch) -> Iterator[Middleware]:
    """Yield what stands around the routes, the innermost first."""
    yield Middleware(Unforeseen)
    yield Middleware(Heads)
    yield Middleware(Once, book=engram.replies)
    yield Middleware(Unforeseen)  # so that a stream of progress ends with an error, too
    yield Middleware(Progress)
    yield Middleware(Pressure, load=watch.load, free={*PROBES, EVENTS})
    if access.tokens is not None:
        is_open = {
            *OPEN,
            *((HEALTH,) if access.is_local else ()),
            *((METRICS,) if access.open_metrics else ()),
        }
        yield Middleware(Bearer, tokens=access.tokens, hint=TOKEN_HINT, is_open=is_open, has_page=True)
    yield Middleware(Guard, hosts=access.hosts)
    yield Middleware(Unforeseen)
    if watch.spans is not None:
        yield Middleware(Traced, spans=watch.spans)
    yield Middleware(Metered, meter=watch.meter)
    yield Middleware(SafeHeaders)
    yield Middleware(RequestIds)
