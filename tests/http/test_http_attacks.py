"""Attacks on the door: links of strangers, odd hosts; slow callers; too many listeners."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any, cast

import pytest
import uvicorn
from surfaces.in_process import client_of, opened
from surfaces.serving import tokens_in
from uvicorn.server import ServerState

from engramdb.errors import StoreBusy
from engramdb.http.app import Access, Monitoring, create_app
from engramdb.http.connections import Connections, connection_class
from engramdb.http.events import EventStream, Streams
from engramdb.http.guard import host_name
from engramdb.http.limits import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from starlette.types import Message, Receive, Scope, Send

    from engramdb import Engram

pytestmark = pytest.mark.xdist_group("http-attacks")  # one store for most of them


@pytest.fixture(scope="module")
def engram(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """An empty store."""
    with opened(tmp_path_factory.mktemp("attacked")) as found:
        yield found


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_the_link_of_a_stranger_signs_nobody_in(engram: Engram, tmp_path: Path, site: str) -> None:
    """Who follows it would go on as somebody else, and leave them what is remembered; the form is shown."""
    tokens = tokens_in(tmp_path)
    client = client_of(create_app(engram, access=Access(tokens=tokens)))

    strange = client.get("/", params={"token": tokens.own}, headers={"Sec-Fetch-Site": site})
    own = client.get("/", params={"token": tokens.own}, headers={"Sec-Fetch-Site": "none"})

    assert (strange.status_code, own.status_code) == (401, 303)
    assert "Set-Cookie" not in strange.headers
    assert 'action="/sign-in"' in strange.text


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("LocalHost", "localhost"),
        ("127.0.0.1:7070", "127.0.0.1"),
        ("[::1]:7070", "[::1]"),
        ("[::1]", "[::1]"),
        ("", ""),
        ("localhost:7070@evil.example", ""),
        ("localhost:evil", ""),
        ("localhost:", ""),
        ("localhost/evil", ""),
        ("[::1]evil", ""),
        ("[::1", ""),
    ],
)
def test_a_host_is_a_name_and_perhaps_a_port(host: str, name: str) -> None:
    """Whatever else stands in the header would come back in redirects and on the page of the API."""
    assert host_name(host) == name


def asgi(app: Any, scope: dict[str, Any], *received: Message) -> list[Message]:
    """Send a request into an application; after what is received, nothing more ever comes."""
    sent: list[Message] = []
    waiting = list(received)

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0)
        raise TimeoutError

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent


def test_a_form_that_never_arrives_is_given_up_in_our_form(engram: Engram, tmp_path: Path) -> None:
    """A stranger who does not go on gets 408, and no mistake of ours is logged."""
    app = create_app(engram, access=Access(tokens=tokens_in(tmp_path)))
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/sign-in",
        "scheme": "http",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:7070")],
    }

    start, body = asgi(app, scope, {"type": "http.request", "body": b"token=", "more_body": True})

    assert start["status"] == 408
    assert json.loads(body["body"])["code"] == "E5000"


def test_two_listeners_cannot_take_the_last_place() -> None:
    """However close together they come: the place is taken where it is looked for."""
    streams = Streams(max_open=1)
    seen: list[int] = []

    async def events() -> AsyncIterator[bytes]:
        seen.append(streams.open)
        yield b""

    async def listen(answers: list[Message]) -> None:
        async def receive() -> Message:
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            await asyncio.sleep(0)
            answers.append(message)

        await EventStream(events(), streams)({"type": "http"}, receive, send)

    async def both() -> list[int]:
        one: list[Message] = []
        two: list[Message] = []
        await asyncio.gather(listen(one), listen(two))
        return sorted(answers[0]["status"] for answers in (one, two))

    assert asyncio.run(both()) == [200, 503]
    assert (seen, streams.open, streams.refused) == ([1], 0, 1)


@pytest.mark.parametrize("begun", [b"", b"GET /"], ids=["silent", "half a request"])
@pytest.mark.parametrize("asked", [0, 1])
def test_who_never_finishes_a_request_loses_the_place(asked: int, begun: bytes) -> None:
    """Strangers cannot hold connections that others need, not even after a request that was answered."""

    async def talk() -> bytes:
        hasty = connection_class(Connections(Limits(header_seconds=0.05)))
        config = uvicorn.Config(healthy, http=hasty, ws="none", timeout_keep_alive=1)
        config.load()
        state = ServerState()
        server = await asyncio.get_running_loop().create_server(
            lambda: hasty(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            async with asyncio.timeout(30):
                for _ in range(asked):
                    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
                writer.write(begun)
                rest = await reader.read()
            writer.close()
            return rest

    assert asyncio.run(talk()) == b""


async def healthy(_scope: Scope, _receive: Receive, send: Send) -> None:
    """An application that answers."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


class _Failing:
    """A book of replies that does not open."""

    def begin(self, *_place: str, request: bytes) -> None:
        """Fail as a store does that somebody else holds."""
        raise StoreBusy(f"a request of {len(request)} bytes has to wait")


class _WithoutBook:
    """An engine whose book of replies does not open."""

    replies = _Failing()

    def __init__(self, engram: Engram) -> None:
        self._engram = engram

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engram, name)


def test_a_stream_of_progress_ends_with_an_error_whatever_failed(engram: Engram) -> None:
    """Also where it failed before the route was reached."""
    client = client_of(create_app(cast("Engram", _WithoutBook(engram)), monitoring=Monitoring()))
    headers = {"Accept": "text/event-stream", "Idempotency-Key": "k1"}

    answer = client.post("/v1/remember", json={"content": "I keep bees"}, headers=headers)

    assert "event: error" in answer.text
    assert StoreBusy.code in answer.text


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has many loopback addresses")
def test_a_newcomer_that_takes_the_place_of_its_own_address_is_counted() -> None:
    """The connection that makes room may be the only one of the newcomer's address."""
    most = 3

    async def talk() -> tuple[int, int, list[str]]:
        places = Connections(Limits(max_connections=most))
        placed = connection_class(places)
        config = uvicorn.Config(healthy, http=placed, ws="none")
        config.load()
        state = ServerState()
        server = await asyncio.get_running_loop().create_server(
            lambda: placed(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        _, port = server.sockets[0].getsockname()
        async with server, asyncio.timeout(30):
            opened = []
            for number in (1, 2, 3, 1, 1, 2, 3):
                address = (f"127.0.0.{number}", 0)
                opened.append(await asyncio.open_connection("127.0.0.1", port, local_addr=address))
                await asyncio.sleep(0.05)
            counted, really = places.open, len(state.connections)
            for _, writer in opened:
                writer.close()
            await asyncio.sleep(0.05)
        return counted, really, list(places._places)

    assert asyncio.run(talk()) == (most, most, [])
