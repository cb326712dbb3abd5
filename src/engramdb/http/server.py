"""
Run the application: bind the address, say when it is ready, end in good order.

Called by `engram serve`. The address is bound before anything else is opened, so that a port that is
taken is one clear line. Nothing is logged per request, because addresses hold questions.
"""

from __future__ import annotations

import ipaddress
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

import uvicorn

from engramdb.errors import InvalidSettings
from engramdb.http.app import LOOPBACK_NAMES, Access, Monitoring, create_app
from engramdb.http.connections import Connections, connection_class
from engramdb.http.guard import EVERYWHERE
from engramdb.http.limits import Limits

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from engramdb.engine.engram import Engram
    from engramdb.http.auth import TokenVerifier

SHUTDOWN_SECONDS = 10
"""How long requests under way may take to finish after the server is told to stop."""
TURN_SECONDS = 0.0005
"""How long a thread may compute before another one's turn comes: docs/lab/0061-load-and-linear-time.md."""
_WAITING_CONNECTIONS = 128
_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")


def bind(host: str, port: int, *, allow_remote: bool = False) -> socket.socket:
    """Return a socket that is bound to the address; one that others can reach must be allowed."""
    if not allow_remote and not is_loopback(host):
        raise InvalidSettings(
            f"host={host!r} can be reached by others",
            hint="Use 127.0.0.1, or --allow-remote if that is meant; what is sent is not encrypted.",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Without its protocol, asyncio does not know it for TCP and leaves Nagle's delay on: 40 ms an answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_WAITING_CONNECTIONS)
    except (OSError, UnicodeError) as exc:
        listener.close()
        raise InvalidSettings(
            f"cannot listen on {host}:{port}: {exc}",
            hint="Is it running already? Another port: `serve --port`, `mcp --http`; 0 is any free one.",
        ) from exc
    return listener


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_origin(origin: str) -> str:
    """Return an origin as browsers send it; raises for what is none, and for all of them at once."""
    if not _ORIGIN.fullmatch(origin):
        raise InvalidSettings(
            f"--cors {origin[:80]!r} is no origin",
            hint="Write scheme, host and port: https://app.example.com",
        )
    return origin.lower()


def own_names(host: str) -> set[str]:
    """Return the names that requests to this address may use as their Host."""
    names = {*LOOPBACK_NAMES, f"[{host}]" if ":" in host else host}
    if host in EVERYWHERE:
        machine = socket.gethostname()
        names |= {machine, f"{machine}.local"}
    return names


def server_config(
    app: ASGIApp, *, limits: Limits, connections: Connections, shutdown_seconds: int, **options: Any
) -> uvicorn.Config:
    """Return how every server of ours runs: with these limits, and nothing logged per request."""
    return uvicorn.Config(
        app,
        http=connection_class(connections),
        access_log=False,
        log_level="error",  # a warning for each malformed request would let strangers fill the disk
        server_header=False,
        ws="none",
        backlog=_WAITING_CONNECTIONS,  # what is taken from the system at once: each costs a file
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=shutdown_seconds,
        h11_max_incomplete_event_size=limits.max_header_bytes,
        **options,
    )


class Server:
    """One application on one socket; run in the main thread it ends on Ctrl-C, elsewhere by `stop`."""

    def __init__(
        self,
        engram: Engram,
        listener: socket.socket,
        *,
        host: str,
        tokens: TokenVerifier | None = None,
        open_metrics: bool = False,
        origins: Collection[str] = (),
        monitoring: Monitoring | None = None,
    ) -> None:
        port = listener.getsockname()[1]
        monitoring = monitoring or Monitoring()
        load = monitoring.load
        access = Access(
            hosts=own_names(host),
            tokens=tokens,
            is_local=is_loopback(host),
            open_metrics=open_metrics,
            origins=tuple(checked_origin(one) for one in origins),
        )
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        self._listener = listener
        self._server = _AnnouncingServer(
            server_config(
                create_app(engram, access=access, monitoring=monitoring),
                limits=load.limits,
                connections=Connections(load.limits, load.refused),
                shutdown_seconds=SHUTDOWN_SECONDS,
            )
        )
        self._server.leaving = monitoring.streams.leave

    def run(self, *, ready: Callable[[str], None]) -> None:
        """Serve until told to end; `ready` hears the address once requests are answered."""
        self._server.ready = lambda: ready(self.url)
        with short_turns(), _ending_in_order(), suppress(KeyboardInterrupt):
            self._server.run(sockets=[self._listener])

    def stop(self) -> None:
        """Let requests under way finish, then end `run`."""
        self._server.should_exit = True


class _AnnouncingServer(uvicorn.Server):
    """A server that says when it is ready, and when it is about to end."""

    ready: Callable[[], None]
    leaving: Callable[[], None]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.leaving()  # a stream would otherwise keep the server from ending
        await super().shutdown(sockets=sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self.ready()


@contextmanager
def short_turns() -> Iterator[None]:
    """
    Let threads take short turns while the block runs.

    A write is many short statements, and after each of them it waits for its turn again: beside eight
    readers and a dream, turns of Python's five milliseconds made it wait for seconds.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """
    Turn a signal to end into the same as Ctrl-C while the block runs.

    uvicorn raises the signal once more after its own shutdown, which would end the process before the
    engine is closed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
