"""The streamable HTTP transport."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from msgspec import Struct

from engramdb.http.auth import OWNER, BearerAuthentication
from engramdb.http.guard import ForeignGuard, WholeBody
from engramdb.http.server import own_names
from engramdb.http.tokens import Caller, digest_of, stored_token

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from engramdb.mcp.server import MemoryServer


# The bearer token of the MCP server over HTTP: made once, kept in a file that only its owner can read.

__all__ = ["FILE_NAME", "HINT", "OneToken", "stored_token"]

FILE_NAME: Final = "mcp.token"
HINT: Final = f"Send Authorization: Bearer, with what {FILE_NAME} holds."


class OneToken(Struct, frozen=True):
    """Knows a caller who shows the one token."""

    token: str

    def by_token(self, shown: str) -> Caller | None:
        """Return the owner for the token, and nobody for anything else."""
        return OWNER if hmac.compare_digest(digest_of(shown), digest_of(self.token)) else None

    def by_cookie(self, _shown: str) -> Caller | None:
        """Return nobody: there is no page to sign in on."""
        return None


# Carry the server over streamable HTTP.
#
# Called by `run`. The guard of the HTTP API stands in front, with the same rules: a Host that is ours, no
# other site's page. Behind it a bearer token is asked for, in the same way as there, and then the body is
# read up to a limit. Nothing is logged per request.

PATH: Final = "/mcp"
MOST_SESSIONS: Final = 1_000
"""
Clients of the older protocol that may be connected at once; an idle one is let go after half an hour.
"""
_SHUTDOWN_SECONDS = 2
"""How long requests under way may take to finish; a listening client would hold the server for ever."""


def guarded_app(server: MemoryServer, *, token: str | None, hosts: Collection[str]) -> ASGIApp:
    """Return the application; without a token, anybody on this machine may use it."""
    app: ASGIApp = server.sdk.streamable_http_app(
        streamable_http_path=PATH,
        max_sessions=MOST_SESSIONS,
        # The guard looks at Host and Origin, more strictly: the SDK lets every page of localhost in.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app = WholeBody(app)
    if token is not None:
        app = BearerAuthentication(app, tokens=OneToken(token), hint=HINT)
    return ForeignGuard(app, hosts=hosts)


class HttpServer:
    """One application on one socket; run in the main thread it ends on Ctrl-C, elsewhere by `stop`."""

    def __init__(
        self, server: MemoryServer, listener: socket.socket, *, host: str, token: str | None
    ) -> None:
        port = listener.getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
        self._listener = listener
        self._server = _ReadyServer(
            uvicorn.Config(
                guarded_app(server, token=token, hosts=own_names(host)),
                access_log=False,
                log_config=None,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            )
        )

    def run(self, *, ready: Callable[[str], None]) -> None:
        """Serve until told to end; `ready` hears the address once requests are answered."""
        self._server.ready = lambda: ready(self.url)
        self._server.run(sockets=[self._listener])

    def stop(self) -> None:
        """Let requests under way finish, then end `run`."""
        self._server.should_exit = True


class _ReadyServer(uvicorn.Server):
    """A server that says when it is ready."""

    ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self.ready()
