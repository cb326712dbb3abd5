"""
The routes of ageing: what leaves, what will, and how a person decides otherwise.

Built by `api_routes` around one engine; one engine call each. Those that change one memory take `If-Match`.
"""

from typing import TYPE_CHECKING, Annotated

from fastapi import Query
from starlette.responses import Response

from engram.surfaces.http.bodies.life import AgeBody, LayerBody, PinBody, RestoreBody, StatusBody
from engram.surfaces.http.parameters import CompareParameters, ForecastParameters
from engram.surfaces.http.replies import reply, reply_memory
from engram.surfaces.http.routes.conditions import IfMatch, meant
from engram.surfaces.http.routes.family import Family
from engram.surfaces.http.routes.memories import ABSENT, ONE
from engram.values import AgeReport, Census, Forecast, Memory

if TYPE_CHECKING:
    from engram.engine.engram import Engram


def life_routes(engram: "Engram") -> Family:
    """Return the routes that decide how long memories live."""
    family = Family("life")

    @family.write("/pin", gives=Memory, refusals=ONE, is_tagged=True)
    def pin(body: PinBody, if_match: IfMatch = None) -> Response:
        """Make a memory immune to every automatic loss and return the Memory as it is now."""
        place = body.chosen_scope()
        return reply_memory(engram.pin(**meant(engram, body.id, if_match, place), scope=place))

    @family.write("/unpin", gives=Memory, refusals=ONE, is_tagged=True)
    def unpin(body: PinBody, if_match: IfMatch = None) -> Response:
        """Let a memory age again and return the Memory as it is now."""
        place = body.chosen_scope()
        return reply_memory(engram.unpin(**meant(engram, body.id, if_match, place), scope=place))

    @family.write("/restore", gives=Memory, refusals=ONE, is_tagged=True)
    def restore(body: RestoreBody, if_match: IfMatch = None) -> Response:
        """Bring back what a rule removed and return the Memory as it is now."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.restore(**aim, reason=body.reason, scope=place))

    @family.write("/promote", gives=Memory, refusals=ONE, is_tagged=True)
    def promote(body: LayerBody, if_match: IfMatch = None) -> Response:
        """Put a memory one layer up, or into the layer named, and return the Memory as it is now."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.promote(**aim, layer=body.layer, reason=body.reason, scope=place))

    @family.write("/demote", gives=Memory, refusals=ONE, is_tagged=True)
    def demote(body: LayerBody, if_match: IfMatch = None) -> Response:
        """Put a memory one layer down, or into the layer named, and return the Memory as it is now."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.demote(**aim, layer=body.layer, reason=body.reason, scope=place))

    @family.write("/set_status", gives=Memory, refusals=ONE, is_tagged=True)
    def set_status(body: StatusBody, if_match: IfMatch = None) -> Response:
        """Move a memory to another status and return the Memory as it is now."""
        place = body.chosen_scope()
        aim = meant(engram, body.id, if_match, place)
        return reply_memory(engram.set_status(**aim, status=body.status, reason=body.reason, scope=place))

    family.join(_ageing(engram))
    return family


def _ageing(engram: "Engram") -> Family:
    """Return the routes of many memories at once."""
    family = Family("life")

    @family.write("/age", gives=AgeReport)
    def age(body: AgeBody) -> Response:
        """Let the whole store age once and return an AgeReport; `dry_run` only tells what it would do."""
        return reply(engram.age(dry_run=body.dry_run))

    @family.read("/forecast", gives=Forecast, takes=ForecastParameters, refusals=ABSENT)
    def forecast(asked: Annotated[ForecastParameters, Query()]) -> Response:
        """Return a Forecast: what fades, moves and leaves if nothing happens, of one memory or all."""
        asked.check()
        return reply(
            engram.forecast(
                asked.memory_id, days=asked.days, everywhere=asked.everywhere, scope=asked.chosen_scope()
            )
        )

    @family.read("/policies/compare", gives=dict[str, list[Census]], takes=CompareParameters)
    def compare_policies(asked: Annotated[CompareParameters, Query()]) -> Response:
        """Return a list of Census by preset: what each would keep of this store after so many days."""
        return reply(
            engram.compare_policies(days=asked.days, everywhere=asked.everywhere, scope=asked.chosen_scope())
        )

    return family
