"""Servers: HTTP, MCP, tokens."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from engramdb.cli.options import Shared, moment_or_duration, shared_options
from engramdb.cli.output import bold, dim, out, present, talk
from engramdb.errors import InvalidSettings, MissingExtra, StorageError
from engramdb.hooks.project import chosen, working_folder
from engramdb.values import Action, Actor, ActorKind, Scope, Surface

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.http.telemetry import Spans
    from engramdb.http.tokens import Grant, NamedTokens, Tokens
    from engramdb.settings import Settings


_NEEDED = ("starlette", "uvicorn", "jinja2", "prometheus_client")


@click.option("--host", metavar="ADDRESS", help="Address to listen on; else the setting.")
@click.option("--port", type=int, metavar="PORT", help="Port to listen on; 0 picks a free one.")
@click.option("--no-token", is_flag=True, help="On this machine only: ask for no token.")
@click.option("--allow-remote", is_flag=True, help="Listen on an address that others can reach.")
@click.option("--open-metrics", is_flag=True, help="Show /metrics to everybody, without a token.")
@click.option(
    "--cors",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this site use the API, such as https://app.example.com (repeatable).",
)
@shared_options
def serve(
    shared: Shared,
    *,
    host: str | None,
    port: int | None,
    no_token: bool,
    allow_remote: bool,
    open_metrics: bool,
    cors: Sequence[str],
) -> None:
    """
    Open the engine with its background work, serve it, and close it when the server ends.

    It asks for a token unless told not to, which it can be on addresses of this machine only. The link with
    the token is shown on a terminal and never written to a file: a log must not hold it.
    """
    _require_server()
    from engramdb.engine.engram import Engram  # noqa: PLC0415
    from engramdb.http.app import Monitoring  # noqa: PLC0415
    from engramdb.http.server import Server, bind  # noqa: PLC0415

    settings = shared.settings()
    settings = replace(settings, host=host or settings.host, port=settings.port if port is None else port)
    _check_openness(settings.host, is_open=no_token)
    with ExitStack() as stack:
        listener = stack.enter_context(bind(settings.host, settings.port, allow_remote=allow_remote))
        tokens = None if no_token else _tokens(settings)
        monitoring = Monitoring(spans=_spans(settings, stack))
        engram = stack.enter_context(
            Engram.open(settings=settings, scope=shared.scope, actor=Actor(surface=Surface.HTTP), dream=True)
        )
        server = Server(
            engram,
            listener,
            host=settings.host,
            tokens=tokens,
            open_metrics=open_metrics,
            origins=cors,
            monitoring=monitoring,
        )
        server.run(ready=lambda url: _say_ready(url, tokens, settings.home))
    talk("Engram has stopped")


def _check_openness(host: str, *, is_open: bool) -> None:
    from engramdb.http.server import is_loopback  # noqa: PLC0415

    if is_open and not is_loopback(host):
        raise InvalidSettings(
            f"--no-token is for this machine only, and host={host!r} can be reached by others",
            hint="Leave out --no-token, or use 127.0.0.1.",
        )


def _tokens(settings: Settings) -> Tokens:
    from engramdb.http.tokens import OWN_FILE, NamedTokens, Tokens, stored_token  # noqa: PLC0415

    named = NamedTokens(settings.home)
    named.list()  # a file that cannot be read is told now, while a person may be looking
    return Tokens(stored_token(settings.home / OWN_FILE), named)


def _spans(settings: Settings, stack: ExitStack) -> Spans | None:
    """Return where spans go, if the settings ask for any; what waits is sent when the server has ended."""
    if not settings.telemetry:
        return None
    from engramdb.http.telemetry import open_spans  # noqa: PLC0415

    spans = open_spans(settings.telemetry)
    stack.callback(spans.close)
    return spans


def _say_ready(url: str, tokens: Tokens | None, home: Path) -> None:
    if tokens is None:
        talk(f"Engram listens on {url} and asks for no token: its page is for anyone on this machine")
        return
    talk(f"Engram listens on {url}")
    from engramdb.http.tokens import OWN_FILE  # noqa: PLC0415

    if sys.stderr.isatty():
        talk(f"Open {url}?token={tokens.own}")
    talk(f"Programs send Authorization: Bearer, with what {home / OWN_FILE} holds.")


def _require_server() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(f"the server needs {', '.join(missing)}", hint="pip install 'engramdb[server]'")


TOOL_SETS = ("core", "all")
"""Which tools a client is shown."""


@click.option(
    "--tools",
    type=click.Choice(TOOL_SETS),
    default="core",
    metavar="SET",
    help="core: the few that every model needs; all: every tool.",
)
@click.option(
    "--http", metavar="HOST:PORT", help="Serve streamable HTTP there instead; port 0 picks a free one."
)
@click.option("--no-token", is_flag=True, help="With --http on this machine only: ask for no bearer token.")
@click.option("--allow-remote", is_flag=True, help="With --http: listen on an address that others can reach.")
@shared_options
def mcp(shared: Shared, *, tools: str, http: str | None, no_token: bool, allow_remote: bool) -> None:
    """
    Serve standard input and output, or streamable HTTP.

    The scope and the agent's name come from the options, so that no model can choose whose memories it reads.
    The SDK is imported here and nowhere else.
    """
    if http is None:
        _require_mcp("mcp")
        _serve_stdio(shared, tools)
    else:
        _require_mcp("mcp", "starlette", "jinja2")
        _serve_http(shared, tools, place=_place(http), is_open=no_token, may_be_remote=allow_remote)


def _serve_stdio(shared: Shared, tools: str) -> None:
    open_engine = _opener(shared)
    if sys.stdin is None or sys.stdout is None:  # the next file to be opened would be taken for them
        raise InvalidSettings(
            "standard input or output is closed, and an MCP client talks over both",
            hint="Let the client start the command itself, or serve it with --http.",
        )
    if sys.stdin.isatty():
        talk("Engram waits for an MCP client on standard input; Ctrl-C ends it.")
    from engramdb.mcp.handshake import greet  # noqa: PLC0415
    from engramdb.mcp.tools import tool_set  # noqa: PLC0415

    with _ending_at_once():
        greeted = greet(0, 1, tools=tool_set(tools))
        from engramdb.mcp import startup as run  # noqa: PLC0415

    session = f"mcp-{uuid.uuid4().hex[:12]}"
    with suppress(KeyboardInterrupt):
        run.over_stdio(open_engine, tools=tool_set(tools), session=session, greeted=greeted)


@contextmanager
def _ending_at_once() -> Iterator[None]:
    """
    Let a signal end the process while the block runs: a client that was greeted may want no more.

    Nothing is open yet that would have to be closed, and an exception amid imports may be lost in them.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda _number, _frame: os._exit(0)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _serve_http(
    shared: Shared, tools: str, *, place: tuple[str, int], is_open: bool, may_be_remote: bool
) -> None:
    if is_open and may_be_remote:
        raise InvalidSettings("--no-token is for this machine only", hint="Leave out --allow-remote.")
    open_engine = _opener(shared, tells_secrets=False)
    from engramdb.mcp import startup as run  # noqa: PLC0415
    from engramdb.mcp.http import FILE_NAME, tokens_in  # noqa: PLC0415
    from engramdb.mcp.tools import tool_set  # noqa: PLC0415

    home = shared.settings().home
    path = home / FILE_NAME

    def ready(url: str) -> None:
        talk(f"Engram listens on {url}")
        talk(
            "It asks for no token."
            if is_open
            else f"Clients send Authorization: Bearer, with what {path} holds or `engram token create` gives."
        )

    run.over_http(
        open_engine,
        tools=tool_set(tools),
        place=run.Place(*place, may_be_remote),
        tokens=None if is_open else tokens_in(home),
        ready=ready,
    )
    talk("Engram has stopped")


def _place(text: str) -> tuple[str, int]:
    """Return host and port; a bare port is one of this machine."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) <= 65535):
        raise InvalidSettings(
            f"--http {text!r} names no port", hint="Write 127.0.0.1:7071, [::1]:7071 or 7071."
        )
    return host.strip("[]") or "127.0.0.1", int(port)


def _opener(shared: Shared, *, tells_secrets: bool = True) -> Callable[[], Engram]:
    """
    Return what opens the engine later; settings and scope are checked now, while a person may be
    looking. Over HTTP no secret is told to anyone.
    """
    settings, scope = shared.settings(), _scope(shared)
    if not tells_secrets:
        settings = replace(settings, secrets_for_agents="never")
    actor = Actor(name=shared.agent or "mcp", kind=ActorKind.AGENT, surface=Surface.MCP)

    def open_engine() -> Engram:
        from engramdb.engine.engram import Engram  # noqa: PLC0415

        return Engram.open(settings=settings, scope=scope, actor=actor, dream=True)

    return open_engine


def _scope(shared: Shared) -> Scope:
    """Return the scope; `--project auto` is the project that the server was started in."""
    return replace(shared.scope, project=chosen(shared.project, working_folder()))


def _require_mcp(*needed: str) -> None:
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        extras = "mcp" if missing == ["mcp"] else "mcp,server"
        raise MissingExtra(
            f"the MCP server needs {', '.join(missing)}", hint=f"pip install 'engramdb[{extras}]'"
        )


class Named(Struct, frozen=True):
    """One token as it may be shown."""

    id: str
    name: str
    kind: ActorKind
    scope: str
    read_only: bool
    narrower: bool
    secrets: bool
    created_at: str
    expires_at: str | None
    is_expired: bool
    last_used_at: str | None


class Made(Struct, frozen=True):
    """The answer of `token create`."""

    name: str
    token: str


class Revoked(Struct, frozen=True):
    """The answer of `token revoke`."""

    revoked: str


NEVER = "never"
_token_name = click.argument("name", metavar="NAME", help="What to call it: letters, digits, dots, dashes.")


@_token_name
@click.option(
    "--for",
    "kind",
    type=click.Choice([str(ActorKind.AGENT), str(ActorKind.PERSON)]),
    default=str(ActorKind.AGENT),
    metavar="WHO",
    help="agent or person; what an agent states never counts as a person's word.",
)
@click.option("--read-only", is_flag=True, help="It may ask, and change nothing.")
@click.option("--narrower", is_flag=True, help="Requests may add names below its scope, such as the user.")
@click.option("--secrets", is_flag=True, help="It is told a secret that it asks for by name.")
@click.option(
    "--expires", default="90d", metavar="WHEN", help="When it ends: 12h, 30d, 8w, a time, or never."
)
@shared_options
def create(
    shared: Shared, name: str, *, kind: str, read_only: bool, narrower: bool, secrets: bool, expires: str
) -> None:
    """
    Make a token; it is shown now and never again, since only its hash is stored.

    Where the audit cannot be written it is revoked at once, so that the audit knows every token.
    """
    now = datetime.now(UTC)
    life = None if expires == NEVER else moment_or_duration(expires) - now
    named = _named_tokens(shared)
    with shared.open_or_create() as engram:
        token = named.add(
            name,
            scope=shared.scope,
            kind=ActorKind(kind),
            read_only=read_only,
            narrower=narrower,
            sees_secrets=secrets,
            life=life,
            now=now,
        )
        try:
            _audit(engram, Action.CREATE_TOKEN, named.get(name))
        except StorageError:
            named.revoke(name, now=now)
            raise
    present(Made(name, token), _show_made, as_json=shared.json)


@shared_options
def list_tokens(shared: Shared) -> None:
    """Show the named tokens."""
    named, now = _named_tokens(shared), datetime.now(UTC)
    used = named.last_used()
    found = [
        Named(
            id=one.id,
            name=one.name,
            kind=one.kind,
            scope=str(Scope(**one.scope)),
            read_only=one.read_only,
            narrower=one.narrower,
            secrets=one.secrets,
            created_at=one.created_at,
            expires_at=one.expires_at,
            is_expired=one.is_expired(now),
            last_used_at=used.get(one.id),
        )
        for one in named.list()
    ]
    present(found, _show_list, as_json=shared.json)


@_token_name
@shared_options
def revoke(shared: Shared, name: str) -> None:
    """Revoke a token; a running server knows of it at the next request, whatever state the store is in."""
    gone = _named_tokens(shared).revoke(name, now=datetime.now(UTC))
    try:
        with shared.open_or_create() as engram:
            _audit(engram, Action.REVOKE_TOKEN, gone)
    except StorageError as exc:
        talk(f"The token is revoked, and the audit could not be written: {exc}")
    present(Revoked(name), lambda gone: out(f"Revoked: {gone.revoked}"), as_json=shared.json)


def _audit(engram: Engram, action: Action, grant: Grant) -> None:
    engram.note_token(
        action,
        grant.id,
        scope=Scope(**grant.scope),
        name=grant.name,
        kind=grant.kind,
        read_only=grant.read_only,
        narrower=grant.narrower,
        secrets=grant.secrets,
        expires_at=grant.expires_at,
    )


def _named_tokens(shared: Shared) -> NamedTokens:
    from engramdb.http.tokens import NamedTokens  # noqa: PLC0415

    return NamedTokens(shared.settings().home)


def _show_made(made: Made) -> None:
    out(made.token)
    talk(f"This is the only time that the token of {made.name!r} is shown.")


def _show_list(tokens: Sequence[Named]) -> None:
    for one in tokens:
        limits = [f"for {'a person' if one.kind is ActorKind.PERSON else 'an agent'}"]
        limits += [one.scope if one.scope != "global" else "every scope"]
        limits += ["and narrower"] * one.narrower + ["read only"] * one.read_only
        limits += ["secrets"] * one.secrets
        ends = "never expires" if one.expires_at is None else f"expires {one.expires_at}"
        ends = f"expired {one.expires_at}" if one.is_expired else ends
        used = "never used" if one.last_used_at is None else f"last used {one.last_used_at}"
        noted = dim(f"{one.id}, since {one.created_at}, {ends}, {used}")
        out(f"{bold(one.name)}  {', '.join(limits)}  {noted}")
    if not tokens:
        talk("There are no named tokens; the server's own is in http.token beside the settings file.")
