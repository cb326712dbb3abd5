"""
Spans for OpenTelemetry, where the setting `telemetry` asks for them: one per request, one per verb
inside it.

Made by `engram serve`, used by `app` and `allowed`. Without the setting nothing here is made and nothing
of OpenTelemetry is imported. A span holds the route, the status, the verb and the code of an error;
addresses, messages and arguments may hold memories and stay out.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from starlette.datastructures import Headers

from engram import __version__
from engram.errors import EngramError, InvalidSettings, MissingExtra
from engram.surfaces.http.metrics import method_of, route_of
from engram.surfaces.http.requests import request_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
            "telemetry needs opentelemetry-sdk", hint="pip install 'engram-memory[telemetry]'"
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
    def of_request(self, scope: Scope) -> Iterator[Span]:
        """Open the span of one request, inside the caller's own where it sends one."""
        around = self._extract(dict(Headers(scope=scope)))
        with self._open(method_of(scope), "request", context=around) as span:
            span.set_attribute("http.request.method", method_of(scope))
            span.set_attribute("engram.request_id", request_id())
            yield span

    def end_request(self, span: Span, scope: Scope, status: int) -> None:
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
