"""
The MCP server over streamable HTTP on loopback: clients, the token, the guard, and an end by force.
"""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from surfaces.mcp_talk import COMMAND, environment, talking

from engramdb import Engram, Scope, Settings
from engramdb.errors import InvalidSettings
from engramdb.http.server import bind
from engramdb.http.tokens import NamedTokens, Tokens, stored_token
from engramdb.mcp.http import FILE_NAME, HttpServer
from engramdb.mcp.server import MemoryServer
from engramdb.mcp.startup import Opening
from engramdb.mcp.tools import CORE
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from surfaces.fixtures import Command
    from surfaces.mcp_talk import Talk

TOKEN = "a-token-of-the-tests"  # noqa: S105 - lives as long as the test
ENOUGH = 30
"""Writes that must have been acknowledged before the server is killed."""

pytestmark = pytest.mark.xdist_group("mcp-http")  # one server for all of them


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running server that asks for a token."""
    folder = tmp_path_factory.mktemp("mcp-http")
    with (
        Engram.open(settings=Settings(home=folder), embedder=TinyEmbedder(), background=False) as engram,
        bind("127.0.0.1", 0) as listener,
    ):
        server, is_ready = MemoryServer(Opening(lambda: engram), tools=CORE), threading.Event()
        served = HttpServer(server, listener, host="127.0.0.1", tokens=Tokens(TOKEN, NamedTokens(folder)))
        thread = threading.Thread(target=served.run, kwargs={"ready": lambda _url: is_ready.set()})
        thread.start()
        try:
            assert is_ready.wait(30)
            yield served.url
        finally:
            served.stop()
            thread.join()


@contextmanager
def visiting(url: str, token: str, *, mode: str = "auto") -> Iterator[Talk]:
    """Connect the official client to the address, showing a token."""
    with talking(_carried(url, token), mode=mode) as talk:
        yield talk


@asynccontextmanager
async def _carried(url: str, token: str) -> AsyncIterator[Any]:
    shown = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=shown, trust_env=False, timeout=30) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


def post(url: str, **headers: str) -> httpx.Response:
    """Post a request that any client may make first."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    shown = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream", **headers}
    with httpx.Client(trust_env=False, timeout=30) as client:
        return client.post(
            url, json=asked, headers={name.replace("_", "-"): text for name, text in shown.items()}
        )


@pytest.mark.parametrize(
    ("mode", "content"), [("legacy", "Grüße aus 東京 🎉"), ("auto", "Bees dance in the morning")]
)
def test_clients_of_both_protocols_are_served(url: str, mode: str, content: str) -> None:
    """The same tools with the same answers as over pipes."""
    with visiting(url, TOKEN, mode=mode) as talk:
        talk.values("remember", content=content)
        found = talk.values("recall", query=content)["hits"]

    assert found[0]["content"] == content


def test_many_clients_write_at_once(url: str) -> None:
    """Every acknowledged write of every client is there."""
    with visiting(url, TOKEN) as first, visiting(url, TOKEN, mode="legacy") as second:
        texts = [f"Crate {number} holds {number * 5 + 2} apples" for number in range(30)]
        waiting = [
            (first, second)[number % 2].start("remember", content=text) for number, text in enumerate(texts)
        ]
        assert not [one for one in waiting if one.result(60).is_error]

        listed = first.values("list", limit=100)["memories"]

    assert {one["content"] for one in listed if "Crate" in one["content"]} == set(texts)


@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
def test_without_the_token_nobody_comes_in(url: str, shown: str) -> None:
    """401 with the way to get in, whatever was asked."""
    answer = post(url, Authorization=shown)

    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert FILE_NAME in answer.json()["hint"]
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_pages_and_rebound_names_are_refused_before_the_token_is_looked_at(
    url: str, headers: dict[str, str]
) -> None:
    """A stranger's page on this machine reaches nothing, even if it knew the token."""
    assert post(url, **headers).status_code == 403


def test_a_body_without_end_is_cut_off(url: str) -> None:
    """The server stays up."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    with httpx.Client(trust_env=False, timeout=30) as client:
        answer = client.post(url, content=(b" " * 100_000 for _ in range(30)), headers=headers)

    assert answer.status_code == 413
    assert post(url).status_code < 500


def test_the_token_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    """A second server asks for the same one."""
    path = tmp_path / "home" / FILE_NAME

    first, second = stored_token(path), stored_token(path)

    assert first == second
    assert len(first) >= 40
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("held", [b"", b"short\n", b"\xff\xfe not ascii at all"])
def test_a_token_that_protects_nothing_is_refused(tmp_path: Path, held: bytes) -> None:
    """An empty file is not an open door."""
    (tmp_path / FILE_NAME).write_bytes(held)

    with pytest.raises(InvalidSettings):
        stored_token(tmp_path / FILE_NAME)


def test_a_killed_server_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    """`kill -9` in the middle of writes from three clients: every acknowledged one is in the store."""
    with subprocess.Popen(
        [sys.executable, *COMMAND, "--http", "127.0.0.1:0", "--project", "harvest"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(tmp_path),
        cwd=tmp_path,
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        url = process.stderr.readline().decode().split()[-1]
        acknowledged = _write_until_killed(url, stored_token(tmp_path / FILE_NAME), process)
        said = process.stdout.read()

    with Engram.open(tmp_path / "memory.db", must_exist=True, background=False) as engram:
        kept = {memory.content for memory in engram.list(limit=1000, scope=Scope(project="harvest"))}
        is_sound = engram.doctor().ok
    assert len(acknowledged) >= ENOUGH
    assert acknowledged <= kept
    assert is_sound
    assert said == b""


def _write_until_killed(url: str, token: str, process: subprocess.Popen[bytes]) -> set[str]:
    """Write from three clients, kill the server in the midst of it, and return what was acknowledged."""
    acknowledged: set[str] = set()
    is_enough = threading.Event()

    def write(name: str) -> None:
        with visiting(url, token) as talk:
            for number in range(10_000):
                text = f"Client {name} counted {number} sheep"
                if not talk.call("remember", content=text).is_error:
                    acknowledged.add(text)
                if len(acknowledged) >= ENOUGH:
                    is_enough.set()

    def until_the_end(name: str) -> None:
        with suppress(BaseException):  # the server is gone, and how the client says so is not looked at
            write(name)

    clients = [
        threading.Thread(target=until_the_end, args=(name,), daemon=True) for name in ("Ada", "Bo", "Cy")
    ]
    for client in clients:
        client.start()
    assert is_enough.wait(60)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    for client in clients:
        client.join(30)
    return acknowledged


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--http", "0.0.0.0:0"), "--allow-remote"),
        (("--http", "0.0.0.0:0", "--allow-remote", "--no-token"), "--no-token"),
        (("--http", "nowhere"), "names no port"),
        (("--http", "127.0.0.1:70000"), "names no port"),
        (("--agent", " "), "scope agent"),
    ],
)
def test_leaving_this_machine_needs_a_word_and_a_token(
    engram_command: Command, options: tuple[str, ...], told: str
) -> None:
    """An address that others can reach must be allowed by name, and is never served without a token."""
    done = engram_command("mcp", *options)

    assert done.exit_code == 2
    assert told in done.stderr


LIMIT = 5
"""Searches a minute in the test below."""


@pytest.mark.parametrize(("whose", "is_limited"), [("agent", True), ("owner", False)])
def test_searches_are_counted_over_all_calls_of_a_token(
    tmp_path: Path, whose: str, *, is_limited: bool
) -> None:
    """One count for the server: an agent's token that asks too often is refused; the owner's is not."""
    named = NamedTokens(tmp_path)
    token = TOKEN if whose == "owner" else named.add("bot", scope=Scope(), now=datetime.now(UTC))
    settings = Settings(home=tmp_path, searches_per_minute=LIMIT)
    with (
        Engram.open(settings=settings, embedder=TinyEmbedder(), background=False) as engram,
        bind("127.0.0.1", 0) as listener,
    ):
        server, is_ready = MemoryServer(Opening(lambda: engram), tools=CORE), threading.Event()
        served = HttpServer(server, listener, host="127.0.0.1", tokens=Tokens(TOKEN, named))
        thread = threading.Thread(target=served.run, kwargs={"ready": lambda _url: is_ready.set()})
        thread.start()
        try:
            assert is_ready.wait(30)
            with visiting(served.url, token) as talk:
                answers = [talk.call("recall", query="tea") for _ in range(3 * LIMIT)]
        finally:
            served.stop()
            thread.join()

    refused = [one for one in answers if one.is_error]
    assert bool(refused) is is_limited
    assert all("E5020" in str(one) for one in refused)
    assert len(refused) <= 2 * LIMIT
