"""
The routes of agents: what one has in mind, and what it produces beside talk.

Built by `api_routes` around one engine; one engine call each. A whole agent's turn, which lasts while a model
thinks, is for the library: over HTTP it is `context` before and `observe` after.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fastapi import Query
from starlette.responses import Response

from engram.surfaces.http.bodies.turns import (
    CompactionBody,
    FindingBody,
    MindBody,
    TaskResultBody,
    ToolRunBody,
)
from engram.surfaces.http.parameters import ScopeParameters
from engram.surfaces.http.replies import reply, reply_memory
from engram.surfaces.http.routes.family import Family
from engram.values import GLOBAL, Memory, Scope, WorkingMemory

if TYPE_CHECKING:
    from engram.engine.engram import Engram


def agent_routes(engram: "Engram") -> Family:
    """Return the routes of working memory, and the doors for what agents produce."""
    family = Family("agents")

    @family.read("/working_memory", gives=WorkingMemory, takes=ScopeParameters)
    def working_memory(asked: Annotated[ScopeParameters, Query()]) -> Response:
        """Return the WorkingMemory of an agent: what it has in mind now, the most active first."""
        return reply(engram.working_memory(asked.agent, scope=_around_agent(asked)))

    @family.write("/suspend", gives=WorkingMemory)
    def suspend(body: MindBody) -> Response:
        """Keep what an agent has in mind, let go of it here, and return the WorkingMemory that was kept."""
        return reply(engram.suspend(body.agent, scope=body.chosen_scope()))

    @family.write("/resume", gives=WorkingMemory)
    def resume(body: MindBody) -> Response:
        """Bring an agent's WorkingMemory back; `restored` says in what state, `fresh` after long."""
        return reply(engram.resume(body.agent, scope=body.chosen_scope()))

    @family.write("/capture/compaction", gives=list[Memory])
    def capture_compaction(body: CompactionBody) -> Response:
        """Keep the statements of a summary that took the place of older messages; return each Memory."""
        return reply(engram.capture.compaction(body.summary, session=body.session, scope=body.chosen_scope()))

    @family.write("/capture/task_result", gives=Memory, is_tagged=True)
    def capture_task_result(body: TaskResultBody) -> Response:
        """Keep how a task ended and return the Memory."""
        return reply_memory(
            engram.capture.task_result(
                body.task,
                body.result,
                outcome=body.outcome,
                session=body.session,
                scope=body.chosen_scope(),
            )
        )

    @family.write("/capture/finding", gives=Memory, is_tagged=True)
    def capture_finding(body: FindingBody) -> Response:
        """Keep something that was found out, with where, and return the Memory."""
        return reply_memory(
            engram.capture.finding(
                body.statement, urls=body.urls, topic=body.topic, scope=body.chosen_scope()
            )
        )

    @family.write("/capture/tool_run", gives=Memory, is_tagged=True)
    def capture_tool_run(body: ToolRunBody) -> Response:
        """Count a run of a tool for a purpose and return the procedural Memory that counts them."""
        return reply_memory(
            engram.capture.tool_run(
                body.tool,
                body.purpose,
                outcome=body.outcome,
                session=body.session,
                scope=body.chosen_scope(),
            )
        )

    return family


def _around_agent(asked: ScopeParameters) -> Scope | None:
    """Return the scope around the agent; one that is named alone is an agent of the server's own scope."""
    around = replace(asked.chosen_scope() or GLOBAL, agent=None)
    return None if around == GLOBAL else around
