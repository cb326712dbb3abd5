"""
What monitors ask: is the process alive, is it ready, and what are its numbers.

Built by `app` around the engine. The first two need no token and tell nothing of the store; the third
stands behind the token like everything else unless the server was told to open it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from engram import __version__
from engram.errors import EngramError
from engram.surfaces.http.metrics import MEDIA_TYPE, told
from engram.surfaces.http.replies import reply

if TYPE_CHECKING:
    from engram.engine.engram import Engram
    from engram.surfaces.http.events import Streams
    from engram.surfaces.http.metrics import Meter
    from engram.surfaces.http.pressure import Load

METRICS: Final = "/metrics"
PROBES: Final = ("/healthz", "/readyz", METRICS)
_TEXT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}


def probe_routes(
    engram: Engram, guarded: Engram, *, meter: Meter, load: Load, streams: Streams, open_metrics: bool
) -> APIRouter:
    """Return the routes for monitors; `guarded` is the engine as the caller may use it."""
    router = APIRouter(default_response_class=Response)

    @router.get("/healthz")
    async def healthz() -> Response:
        """Return `ok` while the process answers at all; needs no token."""
        return reply({"status": "ok"})

    @router.get("/readyz")
    def readyz() -> Response:
        """Return `ready` where the store answers and the server is not about to end, else 503; no token."""
        try:
            engram.changes()
        except EngramError as exc:
            return reply({"status": "not ready", "reason": f"the store fails with {exc.code}"}, status=503)
        if streams.is_leaving:
            return reply({"status": "not ready", "reason": "the server is about to end"}, status=503)
        return reply({"status": "ready"})

    @router.get(METRICS, responses=_TEXT)
    def metrics() -> Response:
        """Return counts of requests, memories, queues, failures and model calls as Prometheus reads them."""
        report = (engram if open_metrics else guarded).status()
        page = told(report, meter=meter, load=load, streams=streams, version=__version__)
        return PlainTextResponse(page, media_type=MEDIA_TYPE)

    return router
