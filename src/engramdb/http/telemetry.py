"""Metrics, spans and health probes."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb import __version__
from engramdb.errors import EngramError, InvalidSettings, MissingExtra
from engramdb.http.requests import reply, request_id
from engramdb.values import StatusReport

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

    from engramdb.engine.engram import Engram
    from engramdb.http.events import Streams
    from engramdb.http.load_shedding import Load


# Count requests and tell the state of the server and the store in Prometheus' text form.
#
# `Metered` stands around everything and counts by route, never by address: addresses hold ids and
# questions, and there is no end of them. `told` writes the page; it knows counts and names of ours, and
# nothing of a memory.

Sample = tuple[Mapping[str, object], float]

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds in seconds."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Meter:
    """What was counted since the server started; written to in its loop only."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[str, list[int]] = {}
        self.sums: Counter[str] = Counter()
        self.in_flight = 0

    def add(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests[method, route, status] += 1
        counts = self.seconds.setdefault(route, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        self.sums[route] += seconds  # type: ignore[assignment] # a Counter adds up fractions, too


class Metered:
    """ASGI middleware that counts requests by route, method and status."""

    def __init__(self, app: ASGIApp, *, meter: Meter) -> None:
        self._app = app
        self._meter = meter

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on and count how it ended; without any answer that is 499."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 499, time.perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._meter.in_flight += 1
        try:
            await self._app(scope, receive, noting)
        finally:
            self._meter.in_flight -= 1
            seconds = time.perf_counter() - start
            self._meter.add(method=method_of(scope), route=route_of(scope), status=status, seconds=seconds)


def method_of(scope: AsgiScope) -> str:
    """Return the method of a request; every one that HTTP does not know is `other`."""
    method: str = scope["method"]
    return method if method in _METHODS else "other"


def route_of(scope: AsgiScope) -> str:
    """Return the pattern of the route that took a request; every address without one is `other`."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else "other"


def told(report: StatusReport, *, meter: Meter, load: Load, streams: Streams, version: str) -> str:
    """Return the whole page."""
    lines = [*_of_server(meter, load, streams, version), *_of_store(report), *_of_parts(report)]
    return "\n".join(lines) + "\n"


def _of_server(meter: Meter, load: Load, streams: Streams, version: str) -> Iterator[str]:
    yield from _metric("engram_build_info", "gauge", "The version.", [({"version": version}, 1)])
    yield from _metric(
        "engram_http_requests_total",
        "counter",
        "Requests answered.",
        [
            ({"method": method, "route": route, "status": status}, number)
            for (method, route, status), number in list(meter.requests.items())
        ],
    )
    yield from _histogram(meter)
    for name, meaning, value in (
        ("engram_http_requests_in_flight", "Requests that are not answered yet.", meter.in_flight),
        ("engram_http_requests_working", "Requests that are carried out now.", load.working),
        ("engram_http_requests_waiting", "Requests that wait for their turn.", load.waiting),
        ("engram_http_streams", "Streams of events that are open.", streams.open),
    ):
        yield from _metric(name, "gauge", meaning, [({}, value)])
    refused = {**load.refused, "streams": streams.refused}
    samples = [({"reason": reason}, number) for reason, number in refused.items()]
    yield from _metric("engram_http_refused_total", "counter", "Requests sent away.", samples)


def _histogram(meter: Meter) -> Iterator[str]:
    name = "engram_http_request_seconds"
    yield f"# HELP {name} Time until the answer was sent."
    yield f"# TYPE {name} histogram"
    for route, counts in list(meter.seconds.items()):
        total = 0
        for bound, count in zip((*BUCKETS, "+Inf"), list(counts), strict=True):
            total += count
            yield _sample(f"{name}_bucket", {"route": route, "le": bound}, total)
        yield _sample(f"{name}_sum", {"route": route}, meter.sums[route])
        yield _sample(f"{name}_count", {"route": route}, total)


def _of_store(report: StatusReport) -> Iterator[str]:
    by_status = [({"status": status}, number) for status, number in report.by_status.items()]
    yield from _metric("engram_memories", "gauge", "Memories in the store.", by_status)
    by_layer = [({"layer": layer}, number) for layer, number in report.by_layer.items()]
    yield from _metric("engram_memories_by_layer", "gauge", "Memories in the store.", by_layer)
    yield from _metric("engram_turns", "gauge", "Turns in the store.", [({}, report.turns)])
    yield from _metric("engram_store_bytes", "gauge", "Size of the store.", [({}, report.size_bytes)])
    waiting = {
        "embedding": report.awaiting_embedding,
        "enrichment": report.awaiting_enrichment,
        "reading": report.awaiting_reading,
    }
    queued = [({"for": what}, number) for what, number in waiting.items()]
    yield from _metric("engram_queue", "gauge", "Memories and turns that wait.", queued)


def _of_parts(report: StatusReport) -> Iterator[str]:
    failing = [({"part": part.name}, int(part.is_failing)) for part in report.parts]
    yield from _metric("engram_part_failing", "gauge", "Whether its last attempt failed.", failing)
    failures = [({"part": part.name}, part.failures) for part in report.parts]
    yield from _metric("engram_part_failures_total", "counter", "Failed attempts.", failures)
    recalls = report.recalls
    yield from _metric("engram_recalls_total", "counter", "Answers given.", [({}, recalls.get("answers", 0))])
    quantiles = [
        ({"quantile": quantile}, recalls[name] / 1000)
        for quantile, name in (("0.5", "milliseconds_p50"), ("0.95", "milliseconds_p95"))
        if name in recalls
    ]
    yield from _metric("engram_recall_seconds", "gauge", "Time of the latest answers.", quantiles)
    calls = [({"purpose": purpose}, spent["calls"]) for purpose, spent in report.chat.items()]
    yield from _metric("engram_model_calls_total", "counter", "Questions to the chat model.", calls)
    tokens = [
        ({"purpose": purpose, "direction": way}, spent[f"{way}_tokens"])
        for purpose, spent in report.chat.items()
        for way in ("input", "output")
    ]
    yield from _metric("engram_model_tokens_total", "counter", "Tokens to and from the chat model.", tokens)


def _metric(name: str, kind: str, meaning: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield _sample(name, labels, value)


def _sample(name: str, labels: Mapping[str, object], value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(str(text))}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {value:g}" if inside else f"{name} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


# Spans for OpenTelemetry, where the setting `telemetry` asks for them: one per request, one per verb
# inside it.
#
# Made by `engram serve`, used by `app` and `allowed`. Without the setting nothing here is made and nothing
# of OpenTelemetry is imported. A span holds the route, the status, the verb and the code of an error;
# addresses, messages and arguments may hold memories and stay out.

_EXPORTERS: Final = "opentelemetry_traces_exporter"
"""The group of entry points under which exporters are installed, such as `console` and `otlp`."""


def open_spans(exporter: str) -> Spans:
    """Return spans that go to an installed exporter, by the name that OTEL_TRACES_EXPORTER would use."""
    try:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as exc:
        raise MissingExtra(
            "telemetry needs opentelemetry-sdk", hint="pip install 'engramdb[telemetry]'"
        ) from exc
    found = next(iter(entry_points(group=_EXPORTERS, name=exporter)), None)
    if found is None:
        known = ", ".join(sorted(entry_points(group=_EXPORTERS).names))
        raise InvalidSettings(f"telemetry={exporter!r} is not installed", hint=f"There is: {known}.")
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: "engram"}))
    provider.add_span_processor(BatchSpanProcessor(found.load()()))
    return Spans(provider)


class Spans:
    """Starts spans and, at the end, sends what still waits."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry import propagate, trace  # noqa: PLC0415 - optional

        self._provider = provider
        self._tracer = provider.get_tracer("engram", __version__)
        self._extract = propagate.extract
        self._error = trace.Status(trace.StatusCode.ERROR)
        self._kinds = {"request": trace.SpanKind.SERVER, "verb": trace.SpanKind.INTERNAL}

    @contextmanager
    def of_verb(self, verb: str) -> Iterator[None]:
        """Open the span of one verb of the engine."""
        with self._open(f"engram.{verb}", "verb") as span:
            try:
                yield
            except EngramError as exc:
                span.set_attribute("error.type", exc.code)
                span.set_status(self._error)
                raise

    @contextmanager
    def of_request(self, scope: AsgiScope) -> Iterator[Span]:
        """Open the span of one request, inside the caller's own where it sends one."""
        around = self._extract(dict(Headers(scope=scope)))
        with self._open(method_of(scope), "request", context=around) as span:
            span.set_attribute("http.request.method", method_of(scope))
            span.set_attribute("engram.request_id", request_id())
            yield span

    def end_request(self, span: Span, scope: AsgiScope, status: int) -> None:
        """Name the span by its route and note how the request ended."""
        route = route_of(scope)
        span.update_name(f"{method_of(scope)} {route}")
        span.set_attribute("http.route", route)
        span.set_attribute("http.response.status_code", status)
        if status >= 500:
            span.set_status(self._error)

    def close(self) -> None:
        """Send what still waits."""
        self._provider.shutdown()

    def _open(self, name: str, kind: str, *, context: Any = None) -> Any:
        return self._tracer.start_as_current_span(
            name,
            context=context,
            kind=self._kinds[kind],
            record_exception=False,  # its message may quote a memory
            set_status_on_exception=False,
        )


class Traced:
    """ASGI middleware that opens a span around each request."""

    def __init__(self, app: ASGIApp, *, spans: Spans) -> None:
        self._app = app
        self._spans = spans

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on inside a span."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._spans.of_request(scope) as span:
            try:
                await self._app(scope, receive, noting)
            finally:
                self._spans.end_request(span, scope, status)


# What monitors ask: is the process alive, is it ready, and what are its numbers.

METRICS: Final = "/metrics"
PROBES: Final = ("/healthz", "/readyz", METRICS)
_TEXT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}


def probe_routes(
    engram: Engram, guarded: Engram, *, meter: Meter, load: Load, streams: Streams, open_metrics: bool
) -> APIRouter:
    """Return the routes for monitors; `guarded` is the engine as the caller may use it."""
    router = APIRouter(default_response_class=Response)

    @router.get("/healthz")
    async def healthz() -> Response:
        """Return `ok` while the process answers at all; needs no token."""
        return reply({"status": "ok"})

    @router.get("/readyz")
    def readyz() -> Response:
        """Return `ready` where the store answers and the server is not about to end, else 503; no token."""
        try:
            engram.changes()
        except EngramError as exc:
            return reply({"status": "not ready", "reason": f"the store fails with {exc.code}"}, status=503)
        if streams.is_leaving:
            return reply({"status": "not ready", "reason": "the server is about to end"}, status=503)
        return reply({"status": "ready"})

    @router.get(METRICS, responses=_TEXT)
    def metrics() -> Response:
        """Return counts of requests, memories, queues, failures and model calls as Prometheus reads them."""
        report = (engram if open_metrics else guarded).status()
        page = told(report, meter=meter, load=load, streams=streams, version=__version__)
        return PlainTextResponse(page, media_type=MEDIA_TYPE)

    return router
