"""
Build the application of the server around an engine.

Called by `http.server` and by tests; whoever opened the engine closes it. Everything that the page loads
comes from here: FastAPI's own documentation pages would load from elsewhere and are left out, and
/openapi.json describes the API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fastapi import FastAPI

from engram import __version__
from engram.surfaces.http import failures
from engram.surfaces.http.guard import Guard
from engram.surfaces.http.headers import SafeHeaders
from engram.surfaces.http.recall import recall_routes
from engram.surfaces.http.routes import life_routes, memory_routes, state_routes
from engram.surfaces.web.page import page_routes, static_files

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.engine.engram import Engram

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")


def create_app(engram: Engram, *, hosts: Collection[str] = LOOPBACK_NAMES) -> FastAPI:
    """Return the application; `hosts` are the names that requests may call this server by."""
    app = FastAPI(
        title="Engram",
        description="Long-term memory for AI agents.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
    )
    app.include_router(state_routes(engram))
    app.include_router(memory_routes(engram))
    app.include_router(recall_routes(engram))
    app.include_router(life_routes(engram))
    app.include_router(page_routes(engram))
    app.mount("/static", static_files())
    # The last one added is the first to see a request.
    app.add_middleware(Guard, hosts=hosts)
    failures.install(app)
    app.add_middleware(SafeHeaders)
    return app
