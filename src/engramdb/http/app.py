"""
Build the application of the server around an engine.

Its caller opens and closes the engine. Everything that the page loads comes from here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct, field
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Mount, Route

from engramdb.http import idempotency, requests
from engramdb.http.auth import OPEN, BearerAuthentication
from engramdb.http.authorization import CallersEngram, ReadOnlyTokens, note_refusal
from engramdb.http.docs import docs_routes
from engramdb.http.errors import HANDLERS, SafeHeaders, UnexpectedErrors
from engramdb.http.etags import HeadRequests
from engramdb.http.events import PATH as EVENTS
from engramdb.http.events import Progress, Streams, event_routes
from engramdb.http.guard import Guard
from engramdb.http.idempotency import IdempotencyKeys
from engramdb.http.load_shedding import Load, LoadShedding
from engramdb.http.openapi import describe
from engramdb.http.requests import RequestIds, reply
from engramdb.http.routes import UNREADABLE, verb_routes
from engramdb.http.telemetry import HEALTH, METRICS, PROBES, Meter, Probes, RequestMetrics, RequestSpans
from engramdb.http.tokens import OWN_FILE
from engramdb.web.page import page_routes, static_files

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.http.auth import TokenVerifier
    from engramdb.http.telemetry import Spans

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
CORS_REQUEST_HEADERS: Final = (
    *("Authorization", "Content-Type", "If-Match", "If-None-Match", "Last-Event-ID"),
    *(idempotency.HEADER, requests.HEADER),
)
CORS_RESPONSE_HEADERS: Final = (
    *("ETag", "Link", "Retry-After", "WWW-Authenticate"),
    *(idempotency.REPLAYED, requests.HEADER, UNREADABLE),
)
TOKEN_HINT: Final = f"Send Authorization: Bearer, with what {OWN_FILE} holds or `engram token create` gives."


class Monitoring(Struct, frozen=True, kw_only=True):
    """What the server knows of itself while it runs."""

    meter: Meter = field(default_factory=Meter)
    load: Load = field(default_factory=Load)
    streams: Streams = field(default_factory=Streams)
    spans: Spans | None = None
    """Where spans go, if they are asked for."""


class Access(Struct, frozen=True, kw_only=True):
    """Who may come in, and by which names they may call the server."""

    hosts: Collection[str] = LOOPBACK_NAMES
    tokens: TokenVerifier | None = None
    """Without any, everybody who reaches the server may use it."""
    is_local: bool = True
    """Whether only this machine can reach the server."""
    open_metrics: bool = False
    origins: Collection[str] = ()
    """Sites whose pages may use the API from a browser (CORS); none by default."""


def create_app(
    engram: Engram, *, access: Access = Access(), monitoring: Monitoring | None = None
) -> Starlette:
    """Return the application; `access` says who may use it, `monitoring` is told what happens."""
    monitoring = monitoring or Monitoring()
    guarded = cast("Engram", CallersEngram(engram, spans=monitoring.spans))
    probes = Probes(
        engram=engram,
        guarded=guarded,
        meter=monitoring.meter,
        load=monitoring.load,
        streams=monitoring.streams,
        open_metrics=access.open_metrics,
    )
    description = cache(describe)  # written when it is first asked for
    return Starlette(
        routes=[
            *verb_routes(guarded),
            *event_routes(guarded, monitoring.streams),
            *probes.routes(),
            *page_routes(guarded),
            *docs_routes(description),
            Route("/openapi.json", lambda _request: reply(description()), methods=["GET"]),
            Mount("/static", static_files()),
        ],
        middleware=list(_layers(engram, access, monitoring))[::-1],
        exception_handlers=HANDLERS,
    )


def _layers(engram: Engram, access: Access, monitoring: Monitoring) -> Iterator[Middleware]:
    """Yield what stands around the routes, the innermost first."""
    yield Middleware(UnexpectedErrors)
    yield Middleware(HeadRequests)
    yield Middleware(IdempotencyKeys, replies=engram.replies)
    yield Middleware(UnexpectedErrors)  # so that a stream of progress ends with an error, too
    yield Middleware(Progress)
    yield Middleware(LoadShedding, load=monitoring.load, free={*PROBES, EVENTS})
    if access.tokens is not None:
        yield Middleware(ReadOnlyTokens, engram=engram)
        is_open = {
            *OPEN,
            *((HEALTH,) if access.is_local else ()),
            *((METRICS,) if access.open_metrics else ()),
        }
        yield Middleware(
            BearerAuthentication,
            tokens=access.tokens,
            hint=TOKEN_HINT,
            is_open=is_open,
            has_page=True,
            on_refusal=partial(note_refusal, engram),
        )
    yield Middleware(Guard, hosts=access.hosts, origins=access.origins)
    if access.origins:
        yield Middleware(
            CORSMiddleware,
            allow_origins=list(access.origins),
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=CORS_REQUEST_HEADERS,
            expose_headers=CORS_RESPONSE_HEADERS,
        )
    yield Middleware(UnexpectedErrors)
    if monitoring.spans is not None:
        yield Middleware(RequestSpans, spans=monitoring.spans)
    yield Middleware(RequestMetrics, meter=monitoring.meter)
    yield Middleware(SafeHeaders)
    yield Middleware(RequestIds)
