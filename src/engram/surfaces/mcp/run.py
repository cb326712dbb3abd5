"""
Run the server from its beginning to its end.

Called by `engram mcp`, which has checked the options; the first to import the SDK. A signal to end is
the same as Ctrl-C: what is under way is given up, the engine is closed, and the process ends. Should the
end itself hang, such as on a client that neither reads nor leaves, the process is ended without it:
nothing acknowledged can be lost.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from engram.surfaces.mcp import logs, stdio
from engram.surfaces.mcp.opening import Opening
from engram.surfaces.mcp.server import MemoryServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engram.engine.engram import Engram
    from engram.surfaces.mcp.greeting import Greeted
    from engram.surfaces.mcp.tool import Tool

ENDING_SECONDS = 8.0
"""How long the end may take before the process is ended by force."""


@dataclass(frozen=True, slots=True)
class Place:
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
    logs.to_stderr()
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
    token: str | None,
    ready: Callable[[str], None],
) -> None:
    """Serve many clients over HTTP until Ctrl-C."""
    from engram.surfaces.http.server import bind  # noqa: PLC0415 - of another extra
    from engram.surfaces.mcp.http import HttpServer  # noqa: PLC0415 - not needed for stdio

    with bind(place.host, place.port, allow_remote=place.may_be_remote) as listener:
        logs.to_stderr()
        opening = Opening(open_engine)
        server = MemoryServer(opening, tools=tools)
        opening.begin()
        with ending_in_time(), suppress(KeyboardInterrupt):
            try:
                HttpServer(server, listener, host=place.host, token=token).run(ready=ready)
            finally:
                begin_to_end()
                opening.close()


@contextmanager
def ending_in_time() -> Iterator[None]:
    """Turn a signal to end into Ctrl-C while the block runs."""
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def begin_to_end() -> None:
    """From now on, the process has so many seconds to live."""
    killer = threading.Timer(ENDING_SECONDS, os._exit, args=(0,))
    killer.daemon = True
    killer.start()
