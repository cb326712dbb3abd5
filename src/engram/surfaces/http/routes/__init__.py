"""
The routes of the API, one file for each family; `api_routes` puts them together.

Each is a word of the engine under /v1. `family` makes them, `conditions` serves those that change one memory.
"""

from typing import TYPE_CHECKING

from engram.surfaces.http.routes.agents import agent_routes
from engram.surfaces.http.routes.dreams import dream_routes, insight_routes
from engram.surfaces.http.routes.family import Family
from engram.surfaces.http.routes.life import life_routes
from engram.surfaces.http.routes.links import link_routes
from engram.surfaces.http.routes.memories import memory_routes
from engram.surfaces.http.routes.questions import question_routes
from engram.surfaces.http.routes.state import state_routes
from engram.surfaces.http.routes.turns import turn_routes

if TYPE_CHECKING:
    from engram.engine.engram import Engram


def api_routes(engram: "Engram") -> Family:
    """Return every route of the API."""
    whole = Family("all", prefix="")
    for family in (
        memory_routes(engram),
        link_routes(engram),
        turn_routes(engram),
        question_routes(engram),
        life_routes(engram),
        dream_routes(engram),
        insight_routes(engram),
        agent_routes(engram),
        state_routes(engram),
    ):
        whole.join(family)
    return whole
