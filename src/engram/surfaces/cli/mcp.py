"""
`engram mcp`: memory for a model, over the Model Context Protocol.

Serves standard input and output, or streamable HTTP with `--http`. The scope and the agent's name come
from the options, so that no model can choose whose memories it reads. The SDK is imported here and
nowhere else.
"""

import importlib.util
import os
import signal
import sys
import uuid
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import InvalidSettings, MissingExtra
from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import talk
from engram.surfaces.hooks.project import chosen, working_folder
from engram.values import Actor, ActorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engram.engine.engram import Engram
    from engram.values import Scope


class ToolSet(StrEnum):
    """Which tools a client is shown."""

    CORE = "core"
    ALL = "all"


def mcp(
    shared: Shared,
    *,
    tools: Annotated[
        ToolSet, typer.Option(metavar="SET", help="core: the few that every model needs; all: every tool.")
    ] = ToolSet.CORE,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Serve streamable HTTP there instead; port 0 picks a free one."
        ),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="With --http on this machine only: ask for no bearer token.")
    ] = False,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="With --http: listen on an address that others can reach.")
    ] = False,
) -> None:
    """
    Serve this memory over the Model Context Protocol, on standard input and output or over HTTP.

    Example: engram mcp --project harvest --agent claude
    """
    if http is None:
        _require_extra("mcp")
        _serve_stdio(shared, tools)
    else:
        _require_extra("mcp", "fastapi", "jinja2")
        _serve_http(shared, tools, place=_place(http), is_open=no_token, may_be_remote=allow_remote)


def _serve_stdio(shared: Shared, tools: ToolSet) -> None:
    open_engine = _opener(shared)
    if sys.stdin is None or sys.stdout is None:  # the next file to be opened would be taken for them
        raise InvalidSettings(
            "standard input or output is closed, and an MCP client talks over both",
            hint="Let the client start the command itself, or serve it with --http.",
        )
    if sys.stdin.isatty():
        talk("Engram waits for an MCP client on standard input; Ctrl-C ends it.")
    from engram.surfaces.mcp.greeting import greet  # noqa: PLC0415
    from engram.surfaces.mcp.table import SETS  # noqa: PLC0415

    with _ending_at_once():
        greeted = greet(0, 1, tools=SETS[tools])
        from engram.surfaces.mcp import run  # noqa: PLC0415 - a second of imports, and optional

    session = f"mcp-{uuid.uuid4().hex[:12]}"
    with suppress(KeyboardInterrupt):
        run.over_stdio(open_engine, tools=SETS[tools], session=session, greeted=greeted)


@contextmanager
def _ending_at_once() -> "Iterator[None]":
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
    shared: Shared, tools: ToolSet, *, place: tuple[str, int], is_open: bool, may_be_remote: bool
) -> None:
    if is_open and may_be_remote:
        raise InvalidSettings("--no-token is for this machine only", hint="Leave out --allow-remote.")
    open_engine = _opener(shared)
    from engram.surfaces.mcp import run  # noqa: PLC0415 - a second of imports, and optional
    from engram.surfaces.mcp.table import SETS  # noqa: PLC0415
    from engram.surfaces.mcp.token import FILE_NAME, kept_token  # noqa: PLC0415

    path = shared.settings().home / FILE_NAME

    def ready(url: str) -> None:
        talk(f"Engram listens on {url}")
        talk(
            "It asks for no token."
            if is_open
            else f"Clients send Authorization: Bearer, with what {path} holds."
        )

    run.over_http(
        open_engine,
        tools=SETS[tools],
        place=run.Place(*place, may_be_remote),
        token=None if is_open else kept_token(path),
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


def _opener(shared: Shared) -> "Callable[[], Engram]":
    """
    Return what opens the engine later; settings and scope are checked now, while a person may be
    looking.
    """
    settings, scope = shared.settings(), _scope(shared)
    actor = Actor(shared.agent or "mcp", ActorKind.AGENT)

    def open_engine() -> "Engram":
        from engram.engine.engram import Engram  # noqa: PLC0415 - heavy

        return Engram.open(settings=settings, scope=scope, actor=actor, dream=True)

    return open_engine


def _scope(shared: Shared) -> "Scope":
    """Return the scope; `--project auto` is the project that the server was started in."""
    return replace(shared.scope, project=chosen(shared.project, working_folder()))


def _require_extra(*needed: str) -> None:
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        extras = "mcp" if missing == ["mcp"] else "mcp,server"
        raise MissingExtra(
            f"the MCP server needs {', '.join(missing)}", hint=f"pip install 'engram-memory[{extras}]'"
        )
