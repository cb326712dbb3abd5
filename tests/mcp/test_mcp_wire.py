"""
The wire between pipes and the server, in this process: last words, long lines, rubbish, clients that
leave.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from surfaces.mcp_talk import GREETING

from engramdb import Engram, Settings
from engramdb.mcp.server import VALUES, MemoryServer
from engramdb.mcp.startup import Opening
from engramdb.mcp.stdio import serve_on
from engramdb.mcp.tools import CORE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import TinyEmbedder


class Pipes:
    """A server in a thread, and the far ends of its two pipes."""

    def __init__(self, server: MemoryServer) -> None:
        self.source, self._to_server = os.pipe()
        self._from_server, self.target = os.pipe()
        self._thread = threading.Thread(
            target=anyio.run, args=(serve_on, server.sdk, self.source, self.target), daemon=True
        )
        self._thread.start()

    def say(self, *lines: bytes) -> None:
        """Write lines."""
        whole = b"".join(line + b"\n" for line in lines)
        while whole:
            whole = whole[os.write(self._to_server, whole) :]

    def leave(self) -> None:
        """Say no more."""
        os.close(self._to_server)

    def stop_reading(self) -> None:
        """Tear off the answers."""
        os.close(self._from_server)

    def ends(self) -> bool:
        """Return whether the server ends by itself."""
        self._thread.join(30)
        return not self._thread.is_alive()

    def let_go(self) -> None:
        """Close the near ends, which the server leaves to whoever made them."""
        for number in (self.source, self.target):
            with suppress(OSError):
                os.close(number)

    def answers(self) -> list[dict[str, Any]]:
        """Return every answer until the server has ended."""
        assert self.ends()
        os.close(self.target)
        with os.fdopen(self._from_server, "rb") as file:
            return [json.loads(line) for line in file]


@pytest.fixture
def pipes(tmp_path: Path, embedder: TinyEmbedder) -> Iterator[Pipes]:
    """A server on a fresh store, with hands shaken."""
    with Engram.open(settings=Settings(home=tmp_path), embedder=embedder, background=False) as engram:
        opened = Pipes(MemoryServer(Opening(lambda: engram), tools=CORE))
        opened.say(*(json.dumps(one).encode() for one in GREETING))
        yield opened
        assert opened.ends()
        opened.let_go()


def call(number: int | str, tool: str, **arguments: Any) -> bytes:
    """Return a request to call a tool."""
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()


def test_the_last_word_is_answered_whatever_came_before(pipes: Pipes) -> None:
    """A client that writes and leaves gets every answer: also for what is too long, cut or rubbish."""
    cut = call("cut", "remember", content="CUT").replace(b"CUT", rb"An emoji \ud83d cut in half")
    long = call(2, "remember", content="LONG").replace(b"LONG", b"y" * 4_100_000)

    pipes.say(cut, call(1, "list"), long, b"rubbish", b"", call(0, "recall", query="emoji"))
    pipes.leave()

    answers = {answer["id"]: answer for answer in pipes.answers()[1:]}
    assert set(answers) == {"cut", 1, 2, None, 0}
    assert "\ufffd cut in half" in answers["cut"]["result"]["_meta"][VALUES]["memory"]["content"]
    assert answers[2]["error"]["message"].startswith("E4004")
    assert answers[None]["error"]["code"] == -32700
    assert "result" in answers[0]


def test_a_line_without_an_end_is_read_when_the_client_leaves(pipes: Pipes) -> None:
    """The last line need not be ended."""
    pipes.say(call(1, "list").rstrip())
    pipes.leave()

    assert [answer["id"] for answer in pipes.answers()] == [0, 1]


def test_a_client_that_reads_no_more_ends_the_server(pipes: Pipes) -> None:
    """
    No server is left behind when the reader of the answers is torn off, although the writer is still
    there.
    """
    pipes.stop_reading()

    pipes.say(call(1, "list"))

    assert pipes.ends()
    pipes.leave()


def test_a_request_that_was_taken_back_does_not_hold_up_the_end(pipes: Pipes) -> None:
    """It is never answered, and the server does not wait for that."""
    back = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}

    pipes.say(call(5, "recall", query="tea"), json.dumps(back).encode(), call(6, "list"))
    pipes.leave()

    assert {answer["id"] for answer in pipes.answers()} >= {0, 6}
