"""The streamable HTTP transport."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import MutableHeaders

from engramdb.http.auth import BearerAuthentication
from engramdb.http.connections import Connections
from engramdb.http.guard import Guard
from engramdb.http.limits import RETRY_SECONDS, Limits
from engramdb.http.load_shedding import Load, LoadShedding, busy
from engramdb.http.server import own_names, server_config, short_turns
from engramdb.http.tokens import NamedTokens, Tokens, stored_token
from engramdb.mcp.server import UNNAMED
from engramdb.values import Actor, ActorKind, Surface

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Send
    from starlette.types import Scope as AsgiScope

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
# other site's page. Behind it a bearer token is asked for, in the same way as there; then the
# limits of the API hold, which are declared once. Nothing is logged per request.

PATH: Final = "/mcp"
_SHUTDOWN_SECONDS = 2
"""How long requests under way may take to finish; a listening client would hold the server for ever."""


class ListeningClients:
    """ASGI middleware that bounds how many clients listen, beside the requests that are carried out."""

    def __init__(self, app: ASGIApp, *, load: Load) -> None:
        self._app = app
        self._load = load
        self._shedding = LoadShedding(app, load=load)
        self._listening = 0

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass a request on when its turn comes; one that only listens takes no slot."""
        send = _with_retry_time(send)
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._shedding(scope, receive, send)
        elif self._listening >= self._load.limits.max_streams:
            self._load.refused["streams"] += 1
            await busy("too many clients listen")(scope, receive, send)
        else:
            self._listening += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._listening -= 1


def _with_retry_time(send: Send) -> Send:
    """Return a `send` that tells whoever is sent away when to come again, which the SDK leaves out."""

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 503:
            MutableHeaders(scope=message).setdefault("Retry-After", str(RETRY_SECONDS))
        await send(message)

    return told


def guarded_app(
    server: MemoryServer, *, tokens: Tokens | None, hosts: Collection[str], load: Load | None = None
) -> ASGIApp:
    """Return the application; without tokens, anybody on this machine may use it."""
    load = load or Load()
    app: ASGIApp = server.sdk.streamable_http_app(
        streamable_http_path=PATH,
        max_sessions=load.limits.max_sessions,
        session_idle_timeout=load.limits.session_idle_seconds,
        max_request_body_size=load.limits.max_body_bytes,
        # The guard looks at Host and Origin, more strictly: the SDK lets every page of localhost in.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app = ListeningClients(app, load=load)
    if tokens is not None:
        app = BearerAuthentication(app, tokens=tokens, hint=HINT, on_refusal=server.note_refusal)
    return Guard(app, hosts=hosts)


class HttpServer:
    """One application on one socket; run in the main thread it ends on Ctrl-C, elsewhere by `stop`."""

    def __init__(
        self,
        server: MemoryServer,
        listener: socket.socket,
        *,
        host: str,
        tokens: Tokens | None,
        limits: Limits = Limits(),
    ) -> None:
        port = listener.getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
        self.load = Load(limits)
        self._listener = listener
        self._server = _ReadyServer(
            server_config(
                guarded_app(server, tokens=tokens, hosts=own_names(host), load=self.load),
                limits=limits,
                connections=Connections(limits, self.load.refused),
                shutdown_seconds=_SHUTDOWN_SECONDS,
                log_config=None,
            )
        )

    def run(self, *, ready: Callable[[str], None]) -> None:
        """Serve until told to end; `ready` hears the address once requests are answered."""
        self._server.ready = lambda: ready(self.url)
        with short_turns():
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
