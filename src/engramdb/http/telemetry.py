"""Metrics, spans and health probes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb import __version__
from engramdb.errors import AccessDenied, EngramError, InvalidSettings, MissingExtra
from engramdb.http.auth import caller
from engramdb.http.requests import read_query_as, reply, request_id
from engramdb.values import StatusReport
from engramdb.verbs.verb import Request

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

    from engramdb.engine.engram import Engram
    from engramdb.http.events import Streams
    from engramdb.http.load_shedding import Load


# Metrics for Prometheus. Requests are counted by route, never by address: addresses hold ids and questions,
# and there is no end of them. Labels are names of ours and hold nothing of a memory.

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds in seconds."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Meter:
    """Counts of requests since the server started, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "engram_http_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "engram_http_request_seconds",
            "Time until the answer was sent.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "engram_http_requests_in_flight", "Requests that are not answered yet.", registry=self.registry
        )


class RequestMetrics:
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

        try:
            with self._meter.in_flight.track_inprogress():
                await self._app(scope, receive, noting)
        finally:
            route = route_of(scope)
            self._meter.requests.labels(method_of(scope), route, status).inc()
            self._meter.seconds.labels(route).observe(time.perf_counter() - start)


def method_of(scope: AsgiScope) -> str:
    """Return the method of a request; every one that HTTP does not know is `other`."""
    method: str = scope["method"]
    return method if method in _METHODS else "other"


def route_of(scope: AsgiScope) -> str:
    """Return the pattern of the route that took a request; every address without one is `other`."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else "other"


class MetricsPage(Struct, frozen=True, kw_only=True):
    """Collects what the server counted and what the store reports, for one scrape."""

    report: StatusReport
    meter: Meter
    load: Load
    streams: Streams

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        yield _gauge("engram_build_info", "The version.", {__version__: 1}, label="version")
        for metric in self.meter.registry.collect():
            # When a series began is of no use here, and would double the page.
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
            yield metric
        yield from self._server_metrics()
        yield from self._store_metrics()
        yield from self._recall_metrics()
        yield from self._model_metrics()

    def _server_metrics(self) -> Iterator[Metric]:
        load, streams = self.load, self.streams
        yield _gauge("engram_http_requests_working", "Requests that are carried out now.", load.working)
        yield _gauge("engram_http_requests_waiting", "Requests that wait for their turn.", load.waiting)
        yield _gauge("engram_http_streams", "Streams of events that are open.", streams.open)
        refused = {**load.refused, "streams": streams.refused}
        yield _counter("engram_http_refused", "Requests sent away.", refused, label="reason")

    def _store_metrics(self) -> Iterator[Metric]:
        report = self.report
        yield _gauge("engram_memories", "Memories in the store.", report.by_status, label="status")
        yield _gauge("engram_memories_by_layer", "Memories in the store.", report.by_layer, label="layer")
        yield _gauge("engram_turns", "Turns in the store.", report.turns)
        without = report.turns_without_memories
        yield _gauge("engram_turns_without_memories", "Turns that were read and left no memory.", without)
        yield _gauge("engram_store_bytes", "Size of the store.", report.size_bytes)
        queues = {
            "embedding": report.awaiting_embedding,
            "enrichment": report.awaiting_enrichment,
            "judgment": report.awaiting_judgment,
            "reading": report.awaiting_reading,
        }
        yield _gauge("engram_queue", "Memories and turns that wait.", queues, label="for")
        failing = {part.name: int(part.is_failing) for part in report.parts}
        yield _gauge("engram_part_failing", "Whether its last attempt failed.", failing, label="part")
        failures = {part.name: part.failures for part in report.parts}
        yield _counter("engram_part_failures", "Failed attempts.", failures, label="part")

    def _recall_metrics(self) -> Iterator[Metric]:
        recalls = self.report.recalls
        yield _counter("engram_recalls", "Answers given.", recalls.get("answers", 0))
        names = {"0.5": "milliseconds_p50", "0.95": "milliseconds_p95"}
        quantiles = {quantile: recalls[name] / 1000 for quantile, name in names.items() if name in recalls}
        yield _gauge("engram_recall_seconds", "Time of the latest answers.", quantiles, label="quantile")

    def _model_metrics(self) -> Iterator[Metric]:
        chat = self.report.chat
        calls = {purpose: spent["calls"] for purpose, spent in chat.items()}
        yield _counter("engram_model_calls", "Questions to the chat model.", calls, label="purpose")
        tokens = CounterMetricFamily(
            "engram_model_tokens", "Tokens to and from the chat model.", labels=("purpose", "direction")
        )
        for purpose, spent in chat.items():
            for direction in ("input", "output"):
                tokens.add_metric((purpose, direction), spent[f"{direction}_tokens"])
        yield tokens


def _gauge(name: str, meaning: str, value: float | Mapping[str, float], *, label: str = "") -> Metric:
    return _labeled(GaugeMetricFamily(name, meaning, labels=(label,) if label else ()), value)


def _counter(name: str, meaning: str, value: float | Mapping[str, float], *, label: str = "") -> Metric:
    return _labeled(CounterMetricFamily(name, meaning, labels=(label,) if label else ()), value)


def _labeled(
    family: GaugeMetricFamily | CounterMetricFamily, value: float | Mapping[str, float]
) -> GaugeMetricFamily | CounterMetricFamily:
    """Fill a metric with one number, or with one for each value of its label."""
    if not isinstance(value, Mapping):
        family.add_metric((), value)
        return family
    for text, number in value.items():
        family.add_metric((str(text),), number)
    return family


# Spans for OpenTelemetry, where the setting `telemetry` asks for them: one per request, one per verb inside
# it. Without the setting nothing of OpenTelemetry is imported. A span holds the route, the status, the verb
# and the code of an error; addresses, messages and arguments may hold memories and stay out.

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


class RequestSpans:
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


# What monitors ask: is the process alive, is it ready, is all well, and what are its numbers.

HEALTH: Final = "/health"
METRICS: Final = "/metrics"
MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PROBES: Final = ("/healthz", "/readyz", METRICS)


class FailingPart(Struct, frozen=True):
    """A part that does not work, and why."""

    name: str
    """What `engram status` calls it."""
    failure: str
    """Code and message of its last error."""


class HealthReport(Struct, frozen=True):
    """Whether all is well."""

    status: str
    """`ok` or `degraded`."""
    version: str
    """The server's."""
    failing: tuple[FailingPart, ...] = ()
    """What does not work."""


def _refuse_limited() -> None:
    """Raise where the caller is limited to a scope: monitors look at the whole store."""
    if caller().is_limited:
        raise AccessDenied(
            "status reaches beyond the token's scope", hint="Use a token that is limited to no scope."
        )


class Probes(Struct, frozen=True, kw_only=True):
    """Answers monitors."""

    engram: Engram
    guarded: Engram
    """The engine as the caller may use it."""
    meter: Meter
    load: Load
    streams: Streams
    open_metrics: bool

    def routes(self) -> list[Route]:
        """Return the routes for monitors."""
        return [
            Route("/healthz", self.healthz, methods=["GET"]),
            Route("/readyz", self.readyz, methods=["GET"]),
            Route(METRICS, self.metrics, methods=["GET"]),
            Route(HEALTH, self.health, methods=["GET"]),
        ]

    async def healthz(self, _request: HttpRequest) -> Response:
        """Answer while the process answers at all."""
        return reply({"status": "ok"})

    def readyz(self, _request: HttpRequest) -> Response:
        """Answer whether the store answers and the server is not about to end."""
        try:
            self.engram.changes()
        except EngramError as exc:
            return reply({"status": "not ready", "reason": f"the store fails with {exc.code}"}, status=503)
        if self.streams.is_leaving:
            return reply({"status": "not ready", "reason": "the server is about to end"}, status=503)
        return reply({"status": "ready"})

    def metrics(self, _request: HttpRequest) -> Response:
        """Answer with the numbers, as Prometheus reads them."""
        if not self.open_metrics:
            _refuse_limited()
        report = (self.engram if self.open_metrics else self.guarded).status()
        page = MetricsPage(report=report, meter=self.meter, load=self.load, streams=self.streams)
        return Response(generate_latest(page), media_type=MEDIA_TYPE)

    def health(self, request: HttpRequest) -> Response:
        """Answer whether all is well, to those who may know."""
        read_query_as(Request, request)
        _refuse_limited()  # the caller may not know, which says nothing of the store
        try:
            report = self.guarded.status()
        except EngramError as exc:
            down = FailingPart("store", f"{exc.code} {exc.message}")
            return reply(HealthReport("degraded", __version__, (down,)), status=503)
        failing = tuple(
            FailingPart(part.name, part.failure or "") for part in report.parts if part.is_failing
        )
        return reply(HealthReport("degraded" if failing else "ok", __version__, failing))
