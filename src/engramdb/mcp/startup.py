"""Answer the handshake before the SDK is loaded, then run the server."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct

from engramdb.errors import EngramError, StoreClosed
from engramdb.mcp import stdio
from engramdb.mcp.render import foreseen
from engramdb.mcp.server import MemoryServer

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.http.tokens import Tokens
    from engramdb.mcp.handshake import Greeted
    from engramdb.mcp.tool import Tool


# What the server writes to stderr: one line for each trouble, and never what anybody said.

OURS = "engramdb"


class NamesOnly(logging.Formatter):
    """Writes our lines as they are, and of all others where they were logged."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line for a record."""
        start = f"{record.levelname.lower()}: {record.name}"
        if record.name.partition(".")[0] == OURS:
            return f"{start}: {record.getMessage()}"
        kind = record.exc_info[0] if record.exc_info else None
        return f"{start}, line {record.lineno}" + (f": {kind.__name__}" if kind else "")


def is_trouble(record: logging.LogRecord) -> bool:
    """Return whether a record is worth a line: that listening clients are let go at the end is not."""
    return not (record.name == "uvicorn.error" and str(record.msg).startswith("Cancel "))


def to_stderr() -> None:
    """Send every warning and error of this process to stderr, and nothing else anywhere."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(is_trouble)
    handler.setFormatter(NamesOnly())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)


# The engine of the server, opened when the client has been greeted and not before.


class Opening:
    """An engine that is opened once, by the first that comes, and closed once."""

    def __init__(self, open_engine: Callable[[], Engram]) -> None:
        self._open_engine = open_engine
        self._lock = threading.Lock()
        self._engram: Engram | None = None
        self._is_closed = False

    def begin(self) -> None:
        """Open it in the background, unless it is open or being opened."""
        if self._engram is None and not self._lock.locked():
            threading.Thread(target=self._try, name="engram-opening", daemon=True).start()

    def engram(self) -> Engram:
        """Return the engine, opened if need be; raises why it cannot be."""
        with self._lock:
            if self._is_closed:
                raise StoreClosed("the server is ending")
            if self._engram is None:
                self._engram = self._open_engine()
            return self._engram

    def close(self) -> None:
        """Close the engine if it was opened; no call opens it again."""
        with self._lock:
            self._is_closed = True
            if self._engram is not None:
                self._engram.close()
                self._engram = None

    def _try(self) -> None:
        with suppress(EngramError):  # the next call meets the same and answers with it
            foreseen(self.engram, what="opening")


# Run the server from its beginning to its end.
#
# Called by `engram mcp`, which has checked the options; the first to import the SDK. A signal to end is
# the same as Ctrl-C: what is under way is given up, the engine is closed, and the process ends. Should the
# end itself hang, such as on a client that neither reads nor leaves, the process is ended without it:
# nothing acknowledged can be lost.

ENDING_SECONDS = 8.0
"""How long the end may take before the process is ended by force."""


class Place(Struct, frozen=True):
    """Where to listen."""

    host: str
    port: int
    may_be_remote: bool = False


def over_stdio(
    open_engine: Callable[[], Engram],
    *,
    tools: Sequence[Tool],
    session: str,
    greeted: Greeted = stdio.NOTHING_SAID,
) -> None:
    """Serve one client over standard input and output until it leaves."""
    to_stderr()
    opening = Opening(open_engine)
    server = MemoryServer(opening, tools=tools, session=session)
    with ending_in_time(), suppress(KeyboardInterrupt):
        try:
            anyio.run(stdio.serve, server.sdk, greeted)
        finally:
            begin_to_end()
            opening.close()


def over_http(
    open_engine: Callable[[], Engram],
    *,
    tools: Sequence[Tool],
    place: Place,
    tokens: Tokens | None,
    ready: Callable[[str], None],
) -> None:
    """Serve many clients over HTTP until Ctrl-C."""
    from engramdb.http.server import bind  # noqa: PLC0415
    from engramdb.mcp.http import HttpServer  # noqa: PLC0415

    with bind(place.host, place.port, allow_remote=place.may_be_remote) as listener:
        to_stderr()
        opening = Opening(open_engine)
        server = MemoryServer(opening, tools=tools)
        opening.begin()
        with ending_in_time(), suppress(KeyboardInterrupt):
            try:
                HttpServer(server, listener, host=place.host, tokens=tokens).run(ready=ready)
            finally:
                begin_to_end()
                opening.close()


@contextmanager
def ending_in_time() -> Iterator[None]:
    """
    Turn a signal to end into Ctrl-C while the block runs.

    A background job is started with Ctrl-C ignored: without the usual handler no signal would end the server.
    """
    ended = signal.signal(signal.SIGTERM, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
    interrupted = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, ended)
        signal.signal(signal.SIGINT, interrupted)


def begin_to_end() -> None:
    """From now on, the process has so many seconds to live."""
    killer = threading.Timer(ENDING_SECONDS, os._exit, args=(0,))
    killer.daemon = True
    killer.start()
