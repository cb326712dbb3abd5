"""
The verbs around an agent's turns: `turn`, `suspend`, `resume`, `working_memory`.

Part of `Engram`; wires attention to recall, to the window and to the store. An agent is part of its
scope: two users of one agent, and two agents of one user, have minds of their own. What happens in a
turn is in `lifecycle`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram import capture, engine, text
from engram.engine.built import built, is_built
from engram.engine.contexts import TURNS_MOST, Contexts, fixed_text
from engram.errors import EngramError, InvalidScope
from engram.values import new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.engine.agent_turn import AgentTurn
    from engram.engine.agents import Agents
    from engram.engine.assemble import Parts
    from engram.engine.turn_shapes import Expected, TurnRequest
    from engram.values import Actor, Item, Recall, Scope, Turn, Window, WorkingLine, WorkingMemory


class Turns(Contexts):
    """Verbs for whoever runs an agent."""

    def __init__(self, parts: Parts, *, scope: Scope, actor: Actor) -> None:
        super().__init__(parts, scope=scope, actor=actor)
        self._after_turn: Callable[[Scope], object] | None = None
        """Told the scope of every turn that ended well; whoever schedules consolidation sets it."""

    @built
    def _agents(self) -> Agents:
        return engine.agents.Agents(
            self._parts,
            self._listener,
            engine.agents.Surroundings(
                room=self._working_room,
                count=lambda request: self._counter(request.model).most,
                window=self._turn_window,
                given=self._note_given,
                keep_result=self._keep_result,
                look_ahead=self._look_ahead,
                ended=self._turn_ended,
            ),
            actor=self._actor,
        )

    def _let_go(self) -> None:
        super()._let_go()
        if is_built(self, "_agents"):
            self._agents.let_go()

    def turn(
        self,
        message: str,
        *,
        agent: str | None = None,
        model: str | None = None,
        session: str | None = None,
        kind: str = "chat",
        speaker: str | None = None,
        history: Sequence[Turn | Mapping[str, str]] | None = None,
        fixed: str | Sequence[str] = (),
        reserve: int | None = None,
        scope: Scope | None = None,
    ) -> AgentTurn:
        """
        Return one turn of an agent, to be used as `with engram.turn(…) as turn:`, or `async with`.

        On the way in the message is stored, what fits it is recalled, and `turn.window` holds the prompt
        for the `model`. Inside, run the model and hand over what it says with `turn.reply`. On the way out
        that is stored, the agent's working memory is brought up to date and kept, and what follows is
        scheduled. A block that raises, or that replies nothing, leaves the agent's mind as it was. `kind`
        says who calls: chat, task, cron, orchestrator, swarm or flow; the result of all but a chat is
        remembered as well.
        """
        who = capture.draft.chosen(engine.agents.TurnKind, kind)
        place = self._of_agent(agent, scope)
        if session is None and who is not engine.agents.TurnKind.CHAT:
            session = f"{who}-{new_id(self._now())}"
        request = engine.agents.TurnRequest(
            message=message,
            scope=place,
            kind=who,
            agent=place.agent,
            model=model,
            session=session,
            speaker=speaker,
            history=history,
            fixed=fixed,
            reserve=reserve,
        )
        return self._agents.turn(request)

    def suspend(self, agent: str | None = None, *, scope: Scope | None = None) -> WorkingMemory:
        """Keep what an agent has in mind and let go of it here; returns what was kept."""
        place = self._of_agent(agent, scope)
        held = self._agents.in_mind(place)
        self._agents.put_away(place)
        return held

    def resume(self, agent: str | None = None, *, scope: Scope | None = None) -> WorkingMemory:
        """
        Bring an agent's working memory back, and say in what state.

        After less than four hours it is as it was, after less than a day fainter; after longer the agent
        begins anew with what matters most. What was forgotten meanwhile does not come back. A turn does
        this by itself.
        """
        return self._agents.in_mind(self._of_agent(agent, scope))

    def working_memory(self, agent: str | None = None, *, scope: Scope | None = None) -> WorkingMemory:
        """Return what an agent has in mind now, the most active first."""
        return self._agents.in_mind(self._of_agent(agent, scope))

    def close(self) -> None:
        """Close the turns that are open, put every mind away, and let go of the store."""
        if is_built(self, "_agents"):
            self._agents.close()
        super().close()

    def _of_agent(self, agent: str | None, scope: Scope | None) -> Scope:
        """Return the scope of an agent inside the one given."""
        place = self._in(scope)
        if agent is None or agent == place.agent:
            return place
        if place.agent is not None:
            raise InvalidScope(
                f"agent={agent[:40]!r} is not the agent of the scope, {place.agent[:40]!r}",
                hint="Name the agent once.",
            )
        return replace(place, agent=agent)

    def _working_room(self, request: TurnRequest) -> int:
        """Return how many tokens of the model's window working memory may take."""
        taken = self._taken(request.message, fixed_text(request.fixed), self._counter(request.model))
        budget = self._budget(request.model, budget=None, taken=taken, reserve=request.reserve)
        return int(budget * self._parts.policy.context.working_share)

    def _turn_window(
        self, request: TurnRequest, turn: Turn, told: Sequence[WorkingLine], answer: Callable[[int], Recall]
    ) -> Window:
        history = request.history
        if history is None and request.session is not None:
            with self._parts.store.read() as tx:
                said = tx.turns.list(scope=request.scope, session=request.session, limit=TURNS_MOST)
            history = [one for one in said if one.id != turn.id]
        return self.context(
            request.message,
            model=request.model,
            history=history or (),
            fixed=request.fixed,
            reserve=request.reserve,
            working=told,
            session=request.session,
            scope=request.scope,
            recalled=answer,
        )

    def _note_given(self, request: TurnRequest, held: Sequence[Item]) -> None:
        """Note that the agent was given these memories, so that its echo of one is not taken for news."""
        self._reads.note(
            [item.memory.id for item in held if item.memory is not None],
            fitting=set(),
            scope=request.scope,
            session=request.session,
            at=self._now(),
            in_background=self._loader is not None,
        )

    def _keep_result(self, request: TurnRequest, result: str) -> None:
        """Remember how a task ended; what the gate refuses is noted, for the turn itself is stored."""
        draft = capture.bridges.task_result(
            request.message,
            result,
            outcome=text.affect.Outcome.SUCCESS,
            session=request.session,
            scope=request.scope,
            occurred_at=self._now(),
        )
        try:
            self._admit([draft])
        except EngramError as exc:
            self._parts.health.failed(engine.lifecycle.TURNS, exc)

    def _look_ahead(self, scope: Scope, expected: Expected) -> None:
        if self._loader is not None:
            self._agents.look_ahead(scope, expected)

    def _turn_ended(self, scope: Scope) -> None:
        if self._after_turn is not None:
            self._after_turn(scope)
