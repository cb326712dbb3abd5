"""
`engram serve`: the HTTP API and the page.

Opens the engine with its background work, hands it to `http.server`, and closes it when the server ends.
It asks for a token unless told not to, which it can be on addresses of this machine only. The link with
the token is shown on a terminal and never written to a file: whoever reads a log must not find it there.
"""

import importlib.util
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import InvalidSettings, MissingExtra
from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import talk

if TYPE_CHECKING:
    from engram.settings import Settings
    from engram.surfaces.http.telemetry import Spans
    from engram.surfaces.http.tokens import Tokens

_NEEDED = ("fastapi", "uvicorn", "jinja2", "python_multipart")


def serve(
    shared: Shared,
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on; else the setting.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 picks a free one.")] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="On this machine only: ask for no token.")
    ] = False,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Listen on an address that others can reach.")
    ] = False,
    open_metrics: Annotated[
        bool, typer.Option("--open-metrics", help="Show /metrics to whoever asks, without a token.")
    ] = False,
) -> None:
    """
    Serve the HTTP API and the page until Ctrl-C; on this machine unless told otherwise.

    Example: engram serve --port 7070
    """
    _require_extra()
    from engram.engine.engram import Engram  # noqa: PLC0415 - heavy
    from engram.surfaces.http.app import Watch  # noqa: PLC0415 - heavy and optional
    from engram.surfaces.http.server import Server, bind  # noqa: PLC0415 - heavy and optional

    settings = shared.settings()
    settings = replace(settings, host=host or settings.host, port=settings.port if port is None else port)
    _check_openness(settings.host, is_open=no_token)
    with ExitStack() as stack:
        listener = stack.enter_context(bind(settings.host, settings.port, allow_remote=allow_remote))
        tokens = None if no_token else _tokens(settings)
        watch = Watch(spans=_spans(settings, stack))
        engram = stack.enter_context(Engram.open(settings=settings, scope=shared.scope, dream=True))
        server = Server(
            engram, listener, host=settings.host, tokens=tokens, open_metrics=open_metrics, watch=watch
        )
        server.run(ready=lambda url: _say_ready(url, tokens, settings.home))
    talk("Engram has stopped")


def _check_openness(host: str, *, is_open: bool) -> None:
    from engram.surfaces.http.server import is_loopback  # noqa: PLC0415 - heavy and optional

    if is_open and not is_loopback(host):
        raise InvalidSettings(
            f"--no-token is for this machine only, and host={host!r} can be reached by others",
            hint="Leave out --no-token, or use 127.0.0.1.",
        )


def _tokens(settings: "Settings") -> "Tokens":
    from engram.surfaces.http.tokens import OWN_FILE, NamedTokens, Tokens, kept_token  # noqa: PLC0415

    named = NamedTokens(settings.home)
    named.list()  # a file that cannot be read is told now, while a person may be looking
    return Tokens(kept_token(settings.home / OWN_FILE), named)


def _spans(settings: "Settings", stack: ExitStack) -> "Spans | None":
    """Return where spans go, if the settings ask for any; what waits is sent when the server has ended."""
    if not settings.telemetry:
        return None
    from engram.surfaces.http.telemetry import open_spans  # noqa: PLC0415 - optional

    spans = open_spans(settings.telemetry)
    stack.callback(spans.close)
    return spans


def _say_ready(url: str, tokens: "Tokens | None", home: Path) -> None:
    talk(f"Engram listens on {url}")
    if tokens is None:
        talk("It asks for no token: whoever is on this machine may use it.")
        return
    from engram.surfaces.http.tokens import OWN_FILE  # noqa: PLC0415

    if sys.stderr.isatty():
        talk(f"Open {url}?token={tokens.own}")
    talk(f"Programs send Authorization: Bearer, with what {home / OWN_FILE} holds.")


def _require_extra() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"the server needs {', '.join(missing)}", hint="pip install 'engram-memory[server]'"
        )
