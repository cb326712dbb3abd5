"""
A client of the MCP server that tests can talk to without being asynchronous themselves.

The official client runs on a loop of its own in a thread; every call waits for its answer, for so long
at most.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from engramdb.mcp.server import VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from anyio.from_thread import BlockingPortal
    from mcp import types

COMMAND = ("-m", "engramdb", "mcp")
MOST_SECONDS = 60
GREETING = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
"""What a client of the older protocol says first."""


class Talk:
    """An open conversation with a server."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.client = client
        self._portal = portal

    def ask(self, verb: str, *given: Any) -> Any:
        """Return what the client's own method returns."""
        return self._portal.call(self._bounded, verb, *given)

    def call(self, tool: str, /, **arguments: Any) -> types.CallToolResult:
        """Call a tool and return the whole result."""
        result: types.CallToolResult = self.ask("call_tool", tool, arguments)
        return result

    def start(self, tool: str, /, **arguments: Any) -> Future[types.CallToolResult]:
        """Call a tool without waiting for it."""
        return self._portal.start_task_soon(self._bounded, "call_tool", tool, arguments)

    def values(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed and return its values."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return values_of(result)

    def told(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that must succeed and return its words."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    def refused(self, tool: str, /, **arguments: Any) -> dict[str, str]:
        """Call a tool that must fail and return the error's values."""
        result = self.call(tool, **arguments)
        assert result.is_error, text_of(result)
        found: dict[str, str] = values_of(result)["error"]
        return found

    async def _bounded(self, verb: str, *given: Any) -> Any:
        with anyio.fail_after(MOST_SECONDS):
            return await getattr(self.client, verb)(*given)


@contextmanager
def talking(server: Any, *, mode: str = "auto") -> Iterator[Talk]:
    """Connect the official client to a server, an address or a command, and leave in good order."""
    with start_blocking_portal("asyncio") as portal:
        client = Client(server, mode=mode)
        with portal.wrap_async_context_manager(client):
            yield Talk(portal, client)


def command(home: Path, *options: str) -> StdioServerParameters:
    """Return the command `engram mcp` on a home of its own."""
    return StdioServerParameters(
        command=sys.executable, args=[*COMMAND, *options], env=environment(home), cwd=str(home)
    )


def environment(home: Path) -> dict[str, str]:
    """
    Return the environment of the command: the built-in embedder and nothing of the machine's own Engram.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ENGRAM_")}
    return {**kept, "ENGRAM_HOME": str(home), "ENGRAM_EMBEDDER": "static", "HOME": str(home)}


def text_of(result: types.CallToolResult) -> str:
    """Return the words of a result."""
    (block,) = result.content
    assert block.type == "text"
    return block.text


def values_of(result: types.CallToolResult) -> dict[str, Any]:
    """Return the values of a result, which only programs look for."""
    assert result.meta is not None
    found: dict[str, Any] = result.meta[VALUES]
    return found
