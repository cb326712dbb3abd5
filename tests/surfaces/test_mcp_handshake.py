"""A client is greeted before the SDK is loaded, and cannot tell the difference."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from engramdb import Engram, Settings
from engramdb.mcp.handshake import VERSIONS, Greeted, greet
from engramdb.mcp.server import MemoryServer
from engramdb.mcp.startup import Opening
from engramdb.mcp.stdio import serve_on
from engramdb.mcp.tools import CORE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import TinyEmbedder

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
SHOW_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
RECALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "recall", "arguments": {"query": "tea"}},
}


def hello(version: str = "2025-06-18", number: int | str = 0, **params: Any) -> dict[str, Any]:
    """Return the first word of a client."""
    told = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": {**told, **params}}


def lines(*told: dict[str, Any]) -> bytes:
    """Return messages as they stand on the wire."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in told)


@contextmanager
def pipe(said: bytes = b"") -> Iterator[tuple[int, int]]:
    """A pipe in which something lies already, and whose writer has left."""
    reading, writing = os.pipe()
    os.write(writing, said)
    os.close(writing)
    try:
        yield reading, writing
    finally:
        os.close(reading)


def greeted(said: bytes) -> tuple[Greeted, list[dict[str, Any]]]:
    """Return what is left to be heard of what a client says, and the answers that it has."""
    back, target = os.pipe()
    with pipe(said) as (source, _), os.fdopen(back, "rb") as answers:
        left = greet(source, target, tools=CORE)
        os.close(target)
        return left, [json.loads(line) for line in answers]


def served(said: bytes, memory: Engram, left: Greeted | None = None) -> list[dict[str, Any]]:
    """Return what the SDK answers to what a client says, after it was greeted."""
    back, target = os.pipe()
    server = MemoryServer(Opening(lambda: memory), tools=CORE)
    with pipe(said) as (source, _), os.fdopen(back, "rb") as answers:
        given = (server.sdk, source, target, *([] if left is None else [left]))
        thread = threading.Thread(target=anyio.run, args=(serve_on, *given), daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        os.close(target)
        return [json.loads(line) for line in answers]


@pytest.fixture
def memory(tmp_path: Path, embedder: TinyEmbedder) -> Iterator[Engram]:
    """A memory in which there is something."""
    with Engram.open(settings=Settings(home=tmp_path), embedder=embedder, background=False) as opened:
        opened.remember("Tea is served at four")
        yield opened


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_the_early_answers_are_those_of_the_sdk(version: str, memory: Engram) -> None:
    """Greeting and tools are the same to the letter, in every version of the protocol that has a greeting."""
    said = lines(hello(version), INITIALIZED, SHOW_TOOLS)

    _, early = greeted(said)
    late = served(said, memory)

    assert early == late
    assert early[0]["result"]["protocolVersion"] == version


def test_the_sdk_goes_on_where_the_greeting_ended(memory: Engram) -> None:
    """It hears what it must know, says nothing twice, and answers what came in between."""
    left, early = greeted(lines(hello(), INITIALIZED, SHOW_TOOLS, RECALL))

    late = served(lines({**RECALL, "id": 3}), memory, left)

    assert [one["id"] for one in early] == [0, 1]
    assert sorted(one["id"] for one in late) == [2, 3]
    assert all("Tea is served at four" in json.dumps(one) for one in late)


def test_a_number_that_a_client_uses_again_is_answered_again(memory: Engram) -> None:
    """Only the one answer that it has already is kept back."""
    left, _ = greeted(lines(hello(), INITIALIZED, SHOW_TOOLS))

    late = served(lines({**RECALL, "id": 0}), memory, left)

    assert [one["id"] for one in late] == [0]


@pytest.mark.parametrize(
    "said",
    [
        lines(hello("2031-01-01"), INITIALIZED, SHOW_TOOLS),
        lines(hello(clientInfo={"name": 7})),
        lines(hello(capabilities=None)),
        lines(hello(number=True)),
        lines(SHOW_TOOLS, hello()),
        b"[" + lines(hello()).strip() + b"]\n",
        b"rubbish\n\n",
        b"[" * 60_000,
        b'{"jsonrpc": "2.0", "id": 0, "method": "initi',
        b"",
    ],
    ids=["newer", "unnamed", "odd", "true", "no-greeting", "several", "rubbish", "deep", "cut", "silent"],
)
def test_what_is_not_the_usual_greeting_is_left_to_the_sdk(said: bytes) -> None:
    """Word for word: nothing of it is answered, and nothing is lost."""
    left, early = greeted(said)

    assert early == []
    assert left == Greeted(said)


def test_other_questions_wait_for_the_sdk(memory: Engram) -> None:
    """A page of tools, or what else a client asks between, is no business of the greeting."""
    page = {**SHOW_TOOLS, "params": {"cursor": "2"}}
    prompts = {"jsonrpc": "2.0", "id": "p", "method": "prompts/list"}

    left, early = greeted(lines(hello(), INITIALIZED, page, prompts))

    assert [one["id"] for one in early] == [0]
    assert left == Greeted(lines(hello(), INITIALIZED, page, prompts), frozenset({0}))


def test_the_greeting_needs_no_sdk() -> None:
    """That is what it is for."""
    code = "import sys, engramdb.mcp.handshake, engramdb.mcp.tools; print('mcp' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert done.stdout.strip() == b"False"
