"""
Carry the server over standard input and output.

Called by `engram mcp`. The SDK's own carrier reads in threads that cannot be given up, so Ctrl-C would
wait for the client's next word; here both ends are daemon threads. While serving, file 1 leads to stderr
and file 0 to nothing, so that a stray print of any library cannot break the protocol. When the client
has said its last word, what it asked is still answered; then the server ends.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from engramdb.mcp.frames import MOST_BYTES, Lines, TooLong, has_odd_id, mended, messages, request_id
from engramdb.mcp.handshake import Greeted

LAST_ANSWERS_SECONDS = 10.0
"""How long the answers to what was asked may take after the client's last word."""
NOTHING_SAID = Greeted()
_PIECE = 65_536
_TAKEN_BACK = "notifications/cancelled"


async def serve(server: Server[Any], greeted: Greeted = NOTHING_SAID) -> None:
    """Serve the client on standard input and output until its last word."""
    with claimed_streams() as (source, target):
        await serve_on(server, source, target, greeted)


async def serve_on(server: Server[Any], source: int, target: int, greeted: Greeted = NOTHING_SAID) -> None:
    """Serve one client that writes to one file and reads another, and may have been greeted already."""
    read_in, read_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_in, write_out = anyio.create_memory_object_stream[SessionMessage](0)
    wire = Wire(source, target, read_in, write_in.clone(), write_out, greeted=greeted)
    wire.start()
    try:
        await server.run(read_out, write_in, server.create_initialization_options())
    finally:
        with anyio.CancelScope(shield=True):
            await wire.aclose()


class Wire:
    """Two threads between the files of the process and the streams of the SDK."""

    def __init__(
        self,
        source: int,
        target: int,
        heard: MemoryObjectSendStream[SessionMessage | Exception],
        refusals: MemoryObjectSendStream[SessionMessage],
        said: MemoryObjectReceiveStream[SessionMessage],
        *,
        greeted: Greeted,
    ) -> None:
        self._source, self._target = source, target
        self._heard, self._refusals, self._said = heard, refusals, said
        self._loop = asyncio.get_running_loop()
        self._before, self._answered = greeted.heard, set(greeted.answered)
        self._open_requests: set[int | str] = set()
        self._settled = threading.Condition()
        self._writer = threading.Thread(target=self._write, name="engram-mcp-writer", daemon=True)
        self._reader = threading.Thread(target=self._read, name="engram-mcp-reader", daemon=True)

    def start(self) -> None:
        """Begin to read and to write."""
        self._reader.start()
        self._writer.start()

    async def aclose(self) -> None:
        """Wait until what was said is written, unless nobody reads it."""
        self._refusals.close()
        with anyio.move_on_after(1):
            while self._writer.is_alive():
                await anyio.sleep(0.005)
        self._heard.close()
        self._said.close()

    # --- reading, in its thread -----------------------------------------------------------------------------

    def _read(self) -> None:
        lines = Lines()
        try:
            with suppress(_Gone):
                while piece := self._next_piece():
                    for line in lines.feed(piece):
                        self._hear(line)
                for line in lines.rest():
                    self._hear(line)
                self._await_answers()
        finally:
            with suppress(_Gone):
                self._on_loop(self._heard.aclose())

    def _next_piece(self) -> bytes:
        if self._before:
            piece, self._before = self._before, b""
            return piece
        try:
            return os.read(self._source, _PIECE)
        except OSError:  # a pipe whose other end was torn off has no more to say
            return b""

    def _hear(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            text = f"E4004 a message of more than {MOST_BYTES} bytes is too large"
            self._refuse(request_id(line.start, line.end), types.INVALID_REQUEST, text)
        elif line.strip():
            for one in messages(line):
                self._hear_one(mended(one))

    def _hear_one(self, line: bytes) -> None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            self._refuse(request_id(line), types.PARSE_ERROR, "the line is no JSON-RPC message")
            return
        if isinstance(message, types.JSONRPCNotification) and has_odd_id(line):
            self._refuse(None, types.INVALID_REQUEST, "the id of a request is a whole number or a text")
            return
        self._note(message)
        self._on_loop(self._heard.send(SessionMessage(message)))

    def _refuse(self, number: int | str | None, code: int, text: str) -> None:
        error = types.JSONRPCError(jsonrpc="2.0", id=number, error=types.ErrorData(code=code, message=text))
        self._on_loop(self._refusals.send(SessionMessage(error)))

    def _note(self, message: types.JSONRPCMessage) -> None:
        """Keep in mind what has to be answered before the end."""
        with self._settled:
            if isinstance(message, types.JSONRPCRequest):
                self._open_requests.add(message.id)
            elif isinstance(message, types.JSONRPCNotification) and message.method == _TAKEN_BACK:
                number = (message.params or {}).get("requestId")
                self._open_requests -= {number} if isinstance(number, int | str) else set()

    def _await_answers(self) -> None:
        with self._settled:
            self._settled.wait_for(lambda: not self._open_requests, LAST_ANSWERS_SECONDS)

    # --- writing, in its thread -----------------------------------------------------------------------------

    def _write(self) -> None:
        try:
            with suppress(_Gone):
                while self._put(self._on_loop(self._said.receive()).message):
                    pass
        finally:
            with suppress(_Gone):
                self._on_loop(self._leave())

    async def _leave(self) -> None:
        """Take no more answers and hear no more questions: nobody is there for either."""
        self._said.close()
        self._heard.close()

    def _settle(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            with self._settled:
                self._open_requests.discard(message.id)
                self._settled.notify_all()

    def _put(self, message: types.JSONRPCMessage) -> bool:
        """Write a message; False when nobody reads any more."""
        if isinstance(message, types.JSONRPCResponse) and message.id in self._answered:
            self._answered.discard(message.id)  # a client may use the number again
            self._settle(message)
            return True
        written = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            while written:
                written = written[os.write(self._target, written) :]
        except OSError:
            return False
        self._settle(message)
        return True

    def _on_loop(self, waiting: Coroutine[Any, Any, Any]) -> Any:
        """Run it on the server's loop and wait for it; raises `_Gone` when the other side has ended."""
        try:
            return asyncio.run_coroutine_threadsafe(waiting, self._loop).result()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream) as exc:
            raise _Gone from exc
        except (RuntimeError, concurrent.futures.CancelledError) as exc:  # the loop itself has ended
            waiting.close()
            raise _Gone from exc


class _Gone(Exception):
    """The other side of a stream has ended; nothing is wrong."""


@contextmanager
def claimed_streams() -> Iterator[tuple[int, int]]:
    """
    Give the wire to us alone: yield private files for it while 0 reads nothing and 1 writes to stderr.
    """
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield source, target
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(target, 1)
        os.close(nothing)
        # `source` and `target` stay open: a daemon thread may still wait on them, and a number that was
        # given back could be given out again under it.
