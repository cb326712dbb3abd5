"""A thousand half-open connections, slow bodies, too many requests: whoever asks properly is answered."""

from __future__ import annotations

import resource
import socket
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
from surfaces.serving import opened, serving

from engramdb.http.app import Monitoring
from engramdb.http.limits import Limits
from engramdb.http.load_shedding import Load
from engramdb.http.server import bind
from engramdb.mcp.http import HttpServer
from engramdb.mcp.server import MemoryServer
from engramdb.mcp.startup import Opening
from engramdb.mcp.tools import CORE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from engramdb import Engram

ATTACKERS = 1_100
"""As many as made the server over MCP unreachable."""
PATIENCE_SECONDS = 20.0
"""What a client may wait on a machine that is busy otherwise; it is answered within a few milliseconds."""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    },
}
ACCEPTS = {"Accept": "application/json, text/event-stream"}
BEGUN = (b"", b"GET /", b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"GET / HTTP/1.1\r\nX-Slow")
"""How far a half-open connection gets."""

surfaces = pytest.mark.parametrize("surface", ["api", "mcp"])


class Served:
    """A server of one of the two surfaces, and how it is asked for something small."""

    def __init__(self, url: str, load: Load, *, is_mcp: bool) -> None:
        self.url, self.load, self._is_mcp = url, load, is_mcp
        self.place = (httpx.URL(url).host, httpx.URL(url).port or 0)

    def ask(self, *, source: str | None = None) -> httpx.Response:
        """Ask as a client does who knows the protocol."""
        transport = httpx.HTTPTransport(local_address=source)
        with httpx.Client(transport=transport, timeout=PATIENCE_SECONDS, trust_env=False) as client:
            if self._is_mcp:
                return client.post(self.url, json=HELLO, headers=ACCEPTS)
            return client.get(f"{self.url}v1/memories", params={"limit": 1})

    @property
    def half_a_body(self) -> bytes:
        """A request whose body does not come."""
        path = "/mcp" if self._is_mcp else "/v1/remember"
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        return (head + 'Content-Length: 1000\r\n\r\n{"').encode()


@contextmanager
def served(surface: str, home: Path, **limits: float) -> Iterator[Served]:
    """Serve an empty store by one of the surfaces."""
    chosen = Limits(**limits)  # type: ignore[arg-type]
    with opened(home) as engram:
        if surface == "api":
            load = Load(chosen)
            with serving(engram, monitoring=Monitoring(load=load)) as server:
                yield Served(server.url, load, is_mcp=False)
        else:
            with _mcp(engram, chosen) as server_:
                yield Served(server_.url, server_.load, is_mcp=True)


@contextmanager
def _mcp(engram: Engram, limits: Limits) -> Iterator[HttpServer]:
    with bind("127.0.0.1", 0) as listener:
        memory_server, is_ready = MemoryServer(Opening(lambda: engram), tools=CORE), threading.Event()
        server = HttpServer(memory_server, listener, host="127.0.0.1", tokens=None, limits=limits)
        thread = threading.Thread(target=server.run, kwargs={"ready": lambda _url: is_ready.set()})
        thread.start()
        try:
            assert is_ready.wait(30)
            yield server
        finally:
            server.stop()
            thread.join()


@contextmanager
def many_files() -> Iterator[None]:
    """Let this process, which is attacker and server at once, open enough files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * ATTACKERS
    if hard not in (-1, resource.RLIM_INFINITY) and hard < wanted:
        pytest.skip(f"this machine allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect(place: tuple[str, int], stack: ExitStack, *, source: str = "127.0.0.1") -> socket.socket:
    """Open a connection that says nothing yet."""
    return stack.enter_context(socket.create_connection(place, timeout=30, source_address=(source, 0)))


@surfaces
def test_a_thousand_half_open_connections_keep_nobody_out(surface: str, tmp_path: Path) -> None:
    """While they stand, a client is answered; and the server never holds more of them than it may."""
    with many_files(), served(surface, tmp_path) as server, ExitStack() as attack:
        for number in range(ATTACKERS):
            connect(server.place, attack).sendall(BEGUN[number % len(BEGUN)])
        start = time.monotonic()
        answers = [server.ask().status_code for _ in range(5)]
        seconds = time.monotonic() - start

    assert answers == [200] * 5
    assert seconds < PATIENCE_SECONDS
    assert server.load.refused["made room"] >= ATTACKERS - Limits().max_connections


@surfaces
def test_one_address_cannot_take_the_places_of_another(surface: str, tmp_path: Path) -> None:
    """Another machine is let in although the first one fills its own share."""
    limits = {"max_connections": 20, "max_connections_per_address": 10}
    with served(surface, tmp_path, **limits) as server, ExitStack() as attack:
        held = [connect(server.place, attack, source="127.0.0.2") for _ in range(40)]
        answer = server.ask()
        closed = sum(1 for one in held[:30] if _is_closed(one))

    assert answer.status_code == 200
    assert closed == 30


@surfaces
def test_a_request_under_way_keeps_its_place_and_the_next_is_told_when_to_come(
    surface: str, tmp_path: Path
) -> None:
    """Who has all connections of an address at work is sent away with 429, and none is cut off."""
    with served(surface, tmp_path, max_connections_per_address=2) as server, ExitStack() as stack:
        busy = [connect(server.place, stack) for _ in range(2)]
        for one in busy:
            one.sendall(server.half_a_body)
        _until(lambda: len(server.load.reading) == 2)
        answer = connect(server.place, stack).recv(1000)

    assert answer.startswith(b"HTTP/1.1 429 Too Many Requests\r\n")
    assert b"retry-after: 1\r\n" in answer


@surfaces
def test_bodies_that_do_not_come_take_no_place_from_others(surface: str, tmp_path: Path) -> None:
    """Where the server is full of them, the oldest is given up for a newcomer and told when to come."""
    with served(surface, tmp_path, max_working=2, max_waiting=4) as server, ExitStack() as stack:
        slow = [connect(server.place, stack) for _ in range(12)]
        for one in slow:
            one.sendall(server.half_a_body)
        _until(lambda: server.load.refused["made room"] >= 6)
        answer = server.ask()
        given_up = slow[0].recv(1000)

    assert answer.status_code == 200
    assert given_up.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 1\r\n" in given_up
    assert server.load.refused["slow body"] == 0


@surfaces
def test_headers_are_limited_in_time_and_size(surface: str, tmp_path: Path) -> None:
    """One byte a moment does not keep a connection, and headers without end are refused."""
    with served(surface, tmp_path, header_seconds=1.0) as server, ExitStack() as stack:
        dripping, endless = connect(server.place, stack), connect(server.place, stack)
        endless.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"a" * 40_000)
        refused = endless.recv(1000)
        start = time.monotonic()
        while time.monotonic() - start < PATIENCE_SECONDS and not _is_closed(dripping, b"G"):
            time.sleep(0.1)
        seconds = time.monotonic() - start

    assert refused.startswith(b"HTTP/1.1 4")
    assert seconds < PATIENCE_SECONDS


def test_listening_clients_of_mcp_are_bounded(tmp_path: Path) -> None:
    """One too many is sent away, and requests are answered all the while."""
    listening = b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"
    with served("mcp", tmp_path, max_streams=0) as server, ExitStack() as stack:
        one = connect(server.place, stack)
        one.sendall(listening)
        answer = one.recv(1000)
        asked = server.ask()

    assert answer.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 1" in answer
    assert asked.status_code == 200


def test_sessions_of_mcp_are_bounded_and_expire(tmp_path: Path) -> None:
    """One too many is told when to come again; one that is idle for long makes room."""
    with served("mcp", tmp_path, max_sessions=2, session_idle_seconds=1.0) as server:
        answers = [server.ask() for _ in range(3)]
        _until(lambda: server.ask().status_code == 200)

    assert [one.status_code for one in answers] == [200, 200, 503]
    assert answers[2].headers["Retry-After"] == "1"


@surfaces
def test_threads_take_short_turns_while_a_server_runs(surface: str, tmp_path: Path) -> None:
    """A write waits for its turn after every statement, so long turns of readers would add up to seconds."""
    before = sys.getswitchinterval()
    with served(surface, tmp_path):
        during = sys.getswitchinterval()

    assert during <= 0.001
    assert sys.getswitchinterval() == before


def _is_closed(one: socket.socket, say: bytes = b"") -> bool:
    """Return whether the server has closed a connection."""
    one.settimeout(0.2)
    try:
        one.sendall(say)
        return one.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)
