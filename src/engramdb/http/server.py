"""
Run the application: bind the address, say when it is ready, end in good order.

Called by `engram serve`. The address is bound before anything else is opened, so that a port that is
taken is one clear line. Nothing is logged per request, because addresses hold questions.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NoReturn

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from engramdb.errors import InvalidSettings
from engramdb.http.app import LOOPBACK_NAMES, Access, Monitoring, create_app
from engramdb.http.guard import EVERYWHERE

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.http.auth import TokenVerifier

SHUTDOWN_SECONDS = 10
"""How long requests under way may take to finish after the server is told to stop."""
MAX_CONNECTIONS = 500
"""Connections at once, also of those who say nothing; a process may usually hold about a thousand files."""
HEAD_SECONDS: Final = 20.0
"""How long the headers of a request may take: as long as a body."""
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


class PromptConnection(H11Protocol):
    """A connection that is closed where no request comes."""

    head_seconds = HEAD_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what has come; wait on where that is no whole request yet, also after an earlier one."""
        super().data_received(data)
        if not self._is_idle:
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._is_idle:
            self.transport.close()


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
            uvicorn.Config(
                create_app(engram, access=access, monitoring=monitoring),
                http=PromptConnection,
                access_log=False,
                log_level="warning",
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
                limit_concurrency=MAX_CONNECTIONS,
            )
        )
        self._server.leaving = monitoring.streams.leave

    def run(self, *, ready: Callable[[str], None]) -> None:
        """Serve until told to end; `ready` hears the address once requests are answered."""
        self._server.ready = lambda: ready(self.url)
        with _ending_in_order(), suppress(KeyboardInterrupt):
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
