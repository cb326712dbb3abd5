"""What monitors see: alive, ready, and numbers that name routes and never what was asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from surfaces.serving import add, client_of, opened, serving, tokens_in

from engramdb import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

pytestmark = pytest.mark.xdist_group("http-metrics")  # one server for most of them

LINE = re.compile(r'^[a-z_]+(\{([a-z_]+="([^"\\\n]|\\.)*",?)+\})? (\d+(\.\d+)?(e[+-]\d+)?|\+Inf)$')


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server that asks for no token."""
    with (
        opened(tmp_path_factory.mktemp("metrics")) as engram,
        serving(engram) as server,
        client_of(server.url) as client,
    ):
        yield client


def numbers(client: httpx.Client) -> dict[str, float]:
    """Return every number of the page by its name and labels."""
    lines = client.get("/metrics").text.splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


def test_the_page_is_what_prometheus_reads(watched: httpx.Client) -> None:
    """Every line is a comment or a sample, and every sample has a type."""
    watched.post("/v1/remember", json={"content": "I like tea"})
    watched.post("/v1/recall", json={"query": "tea"})
    answer = watched.get("/metrics")
    lines = answer.text.splitlines()

    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    samples = [line for line in lines if not line.startswith("#")]
    names = {re.sub(r"_(bucket|sum|count)$", "", line.partition("{")[0].split()[0]) for line in samples}

    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert [line for line in samples if not LINE.match(line)] == []
    assert names <= typed


def test_requests_are_counted_by_route_and_status(watched: httpx.Client) -> None:
    """Addresses are not labels: ids, questions and unknown paths make no new ones."""
    memory = watched.post("/v1/remember", json={"content": "zanzibarium"}).json()
    before = numbers(watched)
    watched.get(f"/v1/memories/{memory['id']}")
    watched.get("/v1/memories/nobody")
    watched.get("/zanzibarium")
    watched.request("BREW", "/v1/memories")
    page = watched.get("/metrics").text

    after = numbers(watched)
    counted = {
        name: number - before.get(name, 0)
        for name, number in after.items()
        if name.startswith("engram_http_requests_total") and number != before.get(name, 0)
    }
    labels = {name.partition("{")[2]: number for name, number in counted.items()}
    assert labels['method="GET",route="/v1/memories/{id}",status="200"}'] == 1
    assert labels['method="GET",route="/v1/memories/{id}",status="404"}'] == 1
    assert sum(number for name, number in labels.items() if 'route="other"' in name) >= 1
    assert "zanzibarium" not in page
    assert memory["id"] not in page
    assert "BREW" not in page


def test_the_histogram_adds_up(watched: httpx.Client) -> None:
    """Buckets only grow, and the last holds all requests of the route."""
    watched.get("/healthz")
    found = numbers(watched)

    buckets = [
        number
        for name, number in found.items()
        if name.startswith("engram_http_request_seconds_bucket{") and 'route="/healthz"' in name
    ]

    assert buckets == sorted(buckets)
    assert buckets[-1] == found['engram_http_request_seconds_count{route="/healthz"}'] > 0


def test_the_store_and_its_parts_are_told(watched: httpx.Client) -> None:
    """Memories by status, what waits, what fails, and how long answers take."""
    watched.post("/v1/remember", json={"content": "I like tea"})
    watched.post("/v1/recall", json={"query": "tea"})

    found = numbers(watched)

    assert found['engram_memories{status="active"}'] >= 1
    assert found['engram_queue{for="embedding"}'] == 0
    assert found['engram_part_failing{part="recall"}'] == 0
    assert found['engram_recall_seconds{quantile="0.95"}'] > 0
    assert found["engram_recalls_total"] >= 1
    assert found["engram_http_requests_in_flight"] == 1
    assert found["engram_http_requests_waiting"] == 0


def test_a_closed_store_is_alive_and_not_ready(tmp_path: Path) -> None:
    """A balancer sends requests elsewhere, and nobody kills the process for it."""
    engram = opened(tmp_path)
    with serving(engram) as server, client_of(server.url) as client:
        before = client.get("/readyz")
        engram.close()
        alive, ready = client.get("/healthz"), client.get("/readyz")

    assert (before.status_code, before.json()["status"]) == (200, "ready")
    assert (alive.status_code, ready.status_code) == (200, 503)
    assert "E1010" in ready.json()["reason"]


@pytest.mark.parametrize("is_open", [True, False])
def test_metrics_stand_behind_the_token_unless_told(tmp_path: Path, *, is_open: bool) -> None:
    """Numbers of the whole store are not for a token that is limited to a scope, either."""
    with opened(tmp_path) as engram:
        tokens = tokens_in(tmp_path)
        reader = add(tokens.named, "prometheus", Scope(), read_only=True)
        limited = add(tokens.named, "ada", Scope(user="ada"))
        with serving(engram, tokens=tokens, open_metrics=is_open) as server:
            statuses = []
            for token in (None, reader, limited):
                with client_of(server.url, token) as client:
                    statuses.append(client.get("/metrics").status_code)

    assert statuses == ([200, 200, 200] if is_open else [401, 200, 403])
