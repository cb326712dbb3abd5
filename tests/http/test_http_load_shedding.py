"""Back-pressure: bursts, slow callers and full queues lose nothing and are told when to come again."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from surfaces.serving import client_of, held, opened, serving

from engramdb.http.app import Monitoring
from engramdb.http.limits import Limits
from engramdb.http.load_shedding import Load
from engramdb.http.server import bind

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

CLIENTS = 8
BURST = 150
"""Writes that are sent within a second and a half: a hundred a second."""


def tight(**limits: float) -> Monitoring:
    """A server that takes little in hand."""
    return Monitoring(load=Load(Limits(**limits)))  # type: ignore[arg-type]


def remember(client: httpx.Client, content: str) -> httpx.Response:
    """Write one statement."""
    return client.post("/v1/remember", json={"content": content})


@pytest.mark.parametrize("places", [160, 3], ids=["with room", "without room"])
def test_a_burst_from_eight_clients_loses_nothing_it_acknowledged(tmp_path: Path, places: int) -> None:
    """Every 2xx is in the store, what was refused is not, and a refusal is 503 with a time to come again."""
    monitoring = tight(max_working=2, max_waiting=places)
    texts = [f"burst statement number {number} of the day" for number in range(BURST)]
    with opened(tmp_path) as engram, serving(engram, monitoring=monitoring) as server:
        clients = [client_of(server.url) for _ in range(CLIENTS)]
        start = time.monotonic()

        def send(number: int) -> httpx.Response:
            time.sleep(max(0.0, start + number / 100 - time.monotonic()))
            return remember(clients[number % CLIENTS], texts[number])

        with ThreadPoolExecutor(CLIENTS) as pool:
            answers = list(pool.map(send, range(BURST)))
        for client in clients:
            client.close()
        stored = {memory.content for memory in engram.list(limit=1000)}

    acknowledged = {text for text, one in zip(texts, answers, strict=True) if one.status_code == 200}
    statuses = Counter(one.status_code for one in answers)
    assert stored == acknowledged
    assert set(statuses) <= {200, 503}
    assert statuses[200] >= 20
    assert all(one.headers["Retry-After"] for one in answers if one.status_code == 503)


def test_one_too_many_is_sent_away_and_the_others_are_served(tmp_path: Path) -> None:
    """One at work, one waiting, one refused; probes answer all the while."""
    answers: list[int] = []
    monitoring = tight(max_working=1, max_waiting=1)
    with (
        held(tmp_path) as (embedder, engram),
        serving(engram, monitoring=monitoring) as server,
        client_of(server.url) as client,
    ):
        waiting = [
            threading.Thread(
                target=lambda text=f"text {number}": answers.append(remember(client, text).status_code)
            )
            for number in range(2)
        ]
        for thread in waiting:
            thread.start()
        assert embedder.has_begun.wait(30)
        while monitoring.load.inside < 2:
            time.sleep(0.01)

        refused, probe, told = remember(client, "x"), client.get("/healthz"), client.get("/metrics").text
        embedder.may_go.set()
        for thread in waiting:
            thread.join()

    assert (refused.status_code, refused.json()["code"]) == (503, "E5012")
    assert probe.status_code == 200
    assert "engram_http_requests_waiting 1" in told
    assert 'engram_http_refused_total{reason="full"} 1' in told
    assert answers == [200, 200]


def test_whoever_waits_too_long_is_sent_away(tmp_path: Path) -> None:
    """A turn that does not come is 503 as well, and nothing was begun."""
    monitoring = tight(max_working=1, max_waiting=5, wait_seconds=0.2)
    with (
        held(tmp_path) as (embedder, engram),
        serving(engram, monitoring=monitoring) as server,
        client_of(server.url) as client,
    ):
        first = threading.Thread(target=remember, args=(client, "first"))
        first.start()
        assert embedder.has_begun.wait(30)

        second = remember(client, "second")
        embedder.may_go.set()
        first.join()
        stored = [memory.content for memory in engram.list()]

    assert second.status_code == 503
    assert stored == ["first"]


def raw(url: str) -> socket.socket:
    """Return a connection of somebody who speaks slowly."""
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def test_a_body_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    """It held no place at work meanwhile, and its caller is told."""
    monitoring = tight(max_working=1, body_seconds=0.3)
    head = b"POST /v1/remember HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with (
        opened(tmp_path) as engram,
        serving(engram, monitoring=monitoring) as server,
        client_of(server.url) as client,
        raw(server.url) as slow,
    ):
        slow.sendall(head + b'Content-Length: 1000\r\n\r\n{"content"')
        meanwhile = remember(client, "quick")
        answer = slow.recv(1000)

    assert meanwhile.status_code == 200
    assert answer.startswith(b"HTTP/1.1 408")


def test_an_answer_that_nobody_reads_is_given_up(tmp_path: Path) -> None:
    """A large answer to a caller who looks away does not hold its place for ever."""
    monitoring = tight(max_working=1, send_seconds=0.3)
    with (
        opened(tmp_path) as engram,
        serving(engram, monitoring=monitoring) as server,
        client_of(server.url) as client,
    ):
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", int(server.url.rstrip("/").rpartition(":")[2])))
        for _ in range(60):
            deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        deadline = time.monotonic() + 20
        while not monitoring.load.refused["slow reader"] and time.monotonic() < deadline:
            time.sleep(0.05)
        served = client.get("/v1/memories", params={"limit": 1})
        deaf.close()

    assert monitoring.load.refused["slow reader"] == 1
    assert served.status_code == 200


def test_small_answers_are_sent_at_once() -> None:
    """A listener that asyncio does not know for TCP would make every answer wait for 40 ms."""
    with bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
