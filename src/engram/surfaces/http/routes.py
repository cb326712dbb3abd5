"""
The routes of the API that keep and change memories and tell how they fare, each a word of the engine.

Built by `app` around one engine; those that answer questions are in `recall`. A route parses, makes one
engine call and answers with the engine's value; errors travel on to `failures`. Plain functions, so that the
framework runs them in worker threads.
"""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from engram import __version__
from engram.errors import EngramError
from engram.surfaces.http.bodies import (
    AgeBody,
    CorrectBody,
    ForgetBody,
    LayerBody,
    RememberBody,
    RestoreBody,
)
from engram.surfaces.http.parameters import (
    CompareParameters,
    ForecastParameters,
    ListParameters,
    ScopeParameters,
)
from engram.surfaces.http.replies import reply

if TYPE_CHECKING:
    from engram.engine.engram import Engram


def memory_routes(engram: "Engram") -> APIRouter:
    """Return the routes that read and write memories."""
    router = APIRouter(prefix="/v1", default_response_class=Response)

    @router.post("/remember")
    def remember(body: RememberBody) -> Response:
        """Store one statement and return the Memory; one that is already known becomes stronger."""
        options: Any = body.options()
        return reply(engram.remember(body.content, scope=body.chosen_scope(), **options))

    @router.post("/correct")
    def correct(body: CorrectBody) -> Response:
        """Put a new statement in the place of an old one and return the new Memory."""
        return reply(engram.correct(body.id, body.content, reason=body.reason, scope=body.chosen_scope()))

    @router.post("/forget")
    def forget(body: ForgetBody) -> Response:
        """Take a memory out of every index and return the Memory as it is now."""
        return reply(engram.forget(body.id, reason=body.reason, scope=body.chosen_scope()))

    @router.get("/memories")
    def list_memories(asked: Annotated[ListParameters, Query()]) -> Response:
        """Return a list of Memory, newest first; `before` a memory's id gives the page after it."""
        return reply(
            engram.list(
                limit=asked.limit, before=asked.before, filters=asked.filters(), scope=asked.chosen_scope()
            )
        )

    @router.get("/memories/{memory_id}")
    def get(
        memory_id: Annotated[str, Path(description="The memory's id, or its last 8 characters.")],
        asked: Annotated[ScopeParameters, Query()],
    ) -> Response:
        """Return one Memory by its id or the last eight characters of it."""
        return reply(engram.get(memory_id, scope=asked.chosen_scope()))

    return router


def life_routes(engram: "Engram") -> APIRouter:
    """Return the routes of ageing: what leaves, what will, and how a person decides otherwise."""
    router = APIRouter(prefix="/v1", default_response_class=Response)

    @router.post("/restore")
    def restore(body: RestoreBody) -> Response:
        """Bring back what a rule removed and return the Memory as it is now."""
        return reply(engram.restore(body.id, reason=body.reason, scope=body.chosen_scope()))

    @router.post("/promote")
    def promote(body: LayerBody) -> Response:
        """Put a memory one layer up, or into the layer named, and return the Memory as it is now."""
        return reply(engram.promote(body.id, layer=body.layer, reason=body.reason, scope=body.chosen_scope()))

    @router.post("/demote")
    def demote(body: LayerBody) -> Response:
        """Put a memory one layer down, or into the layer named, and return the Memory as it is now."""
        return reply(engram.demote(body.id, layer=body.layer, reason=body.reason, scope=body.chosen_scope()))

    @router.post("/age")
    def age(body: AgeBody) -> Response:
        """Let the whole store age once and return an AgeReport; `dry_run` only tells what it would do."""
        return reply(engram.age(dry_run=body.dry_run))

    @router.get("/forecast")
    def forecast(asked: Annotated[ForecastParameters, Query()]) -> Response:
        """Return a Forecast: what fades, moves and leaves if nothing happens, of one memory or all."""
        asked.check()
        return reply(
            engram.forecast(
                asked.memory_id, days=asked.days, everywhere=asked.everywhere, scope=asked.chosen_scope()
            )
        )

    @router.get("/policies/compare")
    def compare_policies(asked: Annotated[CompareParameters, Query()]) -> Response:
        """Return a list of Census by preset: what each would keep of this store after so many days."""
        return reply(
            engram.compare_policies(days=asked.days, everywhere=asked.everywhere, scope=asked.chosen_scope())
        )

    return router


def state_routes(engram: "Engram") -> APIRouter:
    """Return the routes that tell how the server and the store fare."""
    router = APIRouter(default_response_class=Response)

    @router.get("/health")
    def health() -> Response:
        """Return `ok` or `degraded`, the version and what fails; 503 when the store does not answer."""
        try:
            report = engram.status()
        except EngramError as exc:
            failing = [{"name": "store", "failure": f"{exc.code} {exc.message}"}]
            return reply(_health("degraded", failing), status=503)
        failing = [
            {"name": part.name, "failure": part.failure or ""} for part in report.parts if part.is_failing
        ]
        return reply(_health("degraded" if failing else "ok", failing))

    @router.get("/v1/status")
    def status() -> Response:
        """Return a StatusReport: counts, sizes, what waits, what fails."""
        return reply(engram.status())

    return router


def _health(state: str, failing: list[dict[str, str]]) -> dict[str, object]:
    return {"status": state, "version": __version__, "failing": failing}
