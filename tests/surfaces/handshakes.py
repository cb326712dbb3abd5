"""How a client of the MCP server shakes hands: what it says, and what it is answered."""

from __future__ import annotations

import json
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from engramdb import Engram, Settings
from engramdb.mcp.handshake import Greeted, greet
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
