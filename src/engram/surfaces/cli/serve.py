"""
`engram serve`: the HTTP API and the page.

Opens the engine with its background work, hands it to `http.server`, and closes it when the server ends.
Without authentication the server is for this machine: another address needs `--allow-remote`.
"""

import importlib.util
from dataclasses import replace
from typing import Annotated

import typer

from engram.errors import MissingExtra
from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import talk

_NEEDED = ("fastapi", "uvicorn", "jinja2", "python_multipart")


def serve(
    shared: Shared,
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on; else the setting.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 picks a free one.")] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Listen on an address that others can reach.")
    ] = False,
) -> None:
    """
    Serve the HTTP API and the page on this machine until Ctrl-C.

    Example: engram serve --port 7070
    """
    _require_extra()
    from engram.engine.engram import Engram  # noqa: PLC0415 - heavy
    from engram.surfaces.http.server import Server, bind  # noqa: PLC0415 - heavy and optional

    settings = shared.settings()
    settings = replace(settings, host=host or settings.host, port=settings.port if port is None else port)
    with (
        bind(settings.host, settings.port, allow_remote=allow_remote) as listener,
        Engram.open(settings=settings, scope=shared.scope, dream=True) as engram,
    ):
        Server(engram, listener, host=settings.host).run(ready=lambda url: talk(f"Engram listens on {url}"))
    talk("Engram has stopped")


def _require_extra() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"the server needs {', '.join(missing)}", hint="pip install 'engram-memory[server]'"
        )
