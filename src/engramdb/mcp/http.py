"""The streamable HTTP transport."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from engramdb.http.auth import BearerAuthentication
from engramdb.http.guard import Guard, WholeBody
from engramdb.http.server import own_names
from engramdb.http.tokens import NamedTokens, Tokens, stored_token
from engramdb.mcp.server import UNNAMED
from engramdb.values import Actor, ActorKind, Surface

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp

    from engramdb.mcp.server import MemoryServer


# The bearer tokens of the MCP server over HTTP; its own is made once, in a file that only its owner can read.

FILE_NAME: Final = "mcp.token"
HINT: Final = f"Send Authorization: Bearer, with what {FILE_NAME} holds or `engram token create` gives."


def tokens_in(home: Path) -> Tokens:
    """Return the tokens that the server takes: its own, and the named ones of the HTTP API."""
    owner = Actor(name=UNNAMED, kind=ActorKind.AGENT, surface=Surface.MCP)
    return Tokens(stored_token(home / FILE_NAME), NamedTokens(home), owner=owner)


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


def guarded_app(server: MemoryServer, *, tokens: Tokens | None, hosts: Collection[str]) -> ASGIApp:
    """Return the application; without tokens, anybody on this machine may use it."""
    app: ASGIApp = server.sdk.streamable_http_app(
        streamable_http_path=PATH,
        max_sessions=MOST_SESSIONS,
        # The guard looks at Host and Origin, more strictly: the SDK lets every page of localhost in.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app = WholeBody(app)
    if tokens is not None:
        app = BearerAuthentication(app, tokens=tokens, hint=HINT, on_refusal=server.note_refusal)
    return Guard(app, hosts=hosts)


class HttpServer:
    """One application on one socket; run in the main thread it ends on Ctrl-C, elsewhere by `stop`."""

    def __init__(
        self, server: MemoryServer, listener: socket.socket, *, host: str, tokens: Tokens | None
    ) -> None:
        port = listener.getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
        self._listener = listener
        self._server = _ReadyServer(
            uvicorn.Config(
                guarded_app(server, tokens=tokens, hosts=own_names(host)),
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
