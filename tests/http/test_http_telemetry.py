"""What can be told of a request afterwards: its id, its log line, its spans; never its words."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, NoReturn

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from surfaces.serving import client_of, opened, serving

from engramdb.errors import InvalidSettings
from engramdb.http.app import Monitoring
from engramdb.http.telemetry import Spans, open_spans

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx
    from conftest import RunChild
    from opentelemetry.sdk.trace import ReadableSpan
    from surfaces.fixtures import Command

pytestmark = pytest.mark.xdist_group("http-telemetry")  # one server for most of them


@pytest.fixture(scope="module")
def spans() -> InMemorySpanExporter:
    """Where the spans of all tests arrive."""
    return InMemorySpanExporter()


@pytest.fixture
def exporter(spans: InMemorySpanExporter) -> InMemorySpanExporter:
    """Where spans arrive; nothing has yet."""
    spans.clear()
    return spans


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, spans: InMemorySpanExporter) -> Iterator[httpx.Client]:
    """A client of a server that makes spans."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    with (
        opened(tmp_path_factory.mktemp("telemetry")) as engram,
        serving(engram, monitoring=Monitoring(spans=Spans(provider))) as server,
        client_of(server.url) as connected,
    ):
        yield connected


def named(exporter: InMemorySpanExporter, awaited: str) -> dict[str, ReadableSpan]:
    """Return the spans by their names once this one is there: a request's ends after its answer is sent."""
    latest = time.monotonic() + 30
    while True:
        found = {span.name: span for span in exporter.get_finished_spans()}
        if awaited in found or time.monotonic() > latest:
            return found
        time.sleep(0.005)


def test_a_request_and_its_verb_are_spans_of_one_trace(
    client: httpx.Client, exporter: InMemorySpanExporter
) -> None:
    """Route, status and verb are told, inside the caller's own trace."""
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    client.post(
        "/v1/remember",
        json={"content": "The codeword is zanzibarium", "scope": {"user": "ada"}},
        headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"},
    )

    spans = named(exporter, "POST /v1/remember")
    request, verb = spans["POST /v1/remember"], spans["engram.remember"]
    assert verb.parent is not None
    assert verb.parent.span_id == request.context.span_id
    assert f"{request.context.trace_id:032x}" == trace
    assert request.attributes is not None
    assert request.attributes["http.route"] == "/v1/remember"
    assert request.attributes["http.response.status_code"] == 200


def test_spans_hold_nothing_that_was_said(client: httpx.Client, exporter: InMemorySpanExporter) -> None:
    """Neither of what succeeds nor of what fails, nor the address that was asked for."""
    client.post("/v1/remember", json={"content": "zanzibarium"})
    client.post("/v1/recall", json={"query": "zanzibarium"})
    client.get("/v1/memories/zanzibarium", params={"user": "zanzibarium"})

    failed = named(exporter, "GET /v1/memories/{id}")["engram.get"]
    spans = exporter.get_finished_spans()
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "E5005"
    assert "zanzibarium" not in "".join(span.to_json() for span in spans)
    assert not any(span.events for span in spans)


def test_without_the_setting_nothing_of_opentelemetry_is_loaded(child: RunChild) -> None:
    """The server does without it, also where it is installed; its framework may look for the API of it."""
    loaded = child(
        """
        import sys
        from engramdb import Engram
        from engramdb.http.app import create_app
        with Engram.open(sys.argv[1], background=False) as engram:
            create_app(engram)
        print(sorted(name for name in sys.modules if name.startswith("opentelemetry.sdk")))
        """,
        "memory.db",
    )

    assert loaded == "[]"


def test_an_exporter_that_is_not_installed_is_named(engram_command: Command, home: Path) -> None:
    """The error says which ones are there."""
    with pytest.raises(InvalidSettings) as caught:
        open_spans("nowhere")

    assert "console" in caught.value.hint
    open_spans("console").close()


@pytest.mark.parametrize("given", ["abc-123", "A.b_c-9"])
def test_a_request_keeps_the_id_that_it_came_with(client: httpx.Client, given: str) -> None:
    """So that a caller finds its own requests again, also in errors."""
    answer = client.get("/v1/memories/nobody", headers={"X-Request-ID": given})

    assert answer.headers["X-Request-ID"] == given
    assert answer.json()["request_id"] == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "<b>", "\u00e9".encode().decode("latin-1")])
def test_an_id_that_is_not_sane_is_replaced(client: httpx.Client, given: str) -> None:
    """Nothing that could steer a log or a page is taken over."""
    first = client.get("/healthz", headers={b"X-Request-ID": given.encode("latin-1")})
    second = client.get("/healthz")

    assert first.headers["X-Request-ID"] != given
    assert len({first.headers["X-Request-ID"], second.headers["X-Request-ID"]}) == 2


class Broken:
    """A part of the engine with a mistake in it that quotes what it was given."""

    def recall(self, query: object, **_options: object) -> NoReturn:
        """Fail in a way that nobody has foreseen."""
        raise RuntimeError(query)


def test_a_mistake_is_logged_with_the_id_of_its_request(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What the user was answered and what the server wrote belong together; neither quotes a word."""
    with (
        caplog.at_level(logging.DEBUG),
        opened(tmp_path) as engram,
        serving(engram) as server,
        client_of(server.url) as client,
    ):
        engram._parts.__dict__["recalls"] = Broken()
        answer = client.post("/v1/recall", json={"query": "zanzibarium"}, headers={"X-Request-ID": "r-1"})

    assert (answer.status_code, answer.json()["request_id"]) == (500, "r-1")
    line = next(record.getMessage() for record in caplog.records if record.name == "engramdb.http")
    assert "RuntimeError" in line
    assert "r-1 POST /v1/recall" in line
    assert "zanzibarium" not in json.dumps(answer.json()) + line
