"""
Count requests and tell the state of the server and the store in Prometheus' text form.

`Metered` stands around everything and counts by route, never by address: addresses hold ids and
questions, and there is no end of them. `told` writes the page; it knows counts and names of ours, and
nothing of a memory.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from engram.surfaces.http.events import Streams
    from engram.surfaces.http.pressure import Load
    from engram.values import StatusReport

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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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


def method_of(scope: Scope) -> str:
    """Return the method of a request; every one that HTTP does not know is `other`."""
    method: str = scope["method"]
    return method if method in _METHODS else "other"


def route_of(scope: Scope) -> str:
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
