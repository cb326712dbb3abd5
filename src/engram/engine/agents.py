"""
The minds of agents and the turns that are open, together.

Held by the verbs of `turns` and loaded when the first of them is used: most processes run no agent. Puts
together who attends (`attending`), what happens in a turn (`lifecycle`) and who looks ahead (`anticipating`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.attention.contents import items
from engram.engine.agent_turn import AgentTurn
from engram.engine.anticipating import Anticipator
from engram.engine.attending import Attending
from engram.engine.lifecycle import Surroundings, TurnLifecycle, working_memory
from engram.engine.scheduler import IN_BACKGROUND
from engram.engine.turn_recall import anticipate
from engram.engine.turn_shapes import Expected, TurnKind, TurnRequest

if TYPE_CHECKING:
    from engram.engine.assemble import Parts
    from engram.engine.listening import Listener
    from engram.values import Actor, Scope, WorkingMemory

__all__ = ["Agents", "Surroundings", "TurnKind", "TurnRequest"]

ANTICIPATION = f"anticipation{IN_BACKGROUND}"
"""What health calls this part; it is at work without anybody waiting for it."""


class Agents:
    """What the agents of this process have in mind, and their turns."""

    def __init__(self, parts: Parts, listener: Listener, around: Surroundings, *, actor: Actor) -> None:
        self._parts = parts
        self._attending = Attending(
            parts.store,
            parts.embedder,
            policy=parts.policy.attention,
            clock=parts.clock,
            health=parts.health,
        )
        self._anticipator = Anticipator[Expected](self._prepare, self._attending.sweep)
        self._lifecycle = TurnLifecycle(parts, self._attending, listener, around, actor=actor)

    def turn(self, request: TurnRequest) -> AgentTurn:
        """Return a turn that has not begun yet."""
        return AgentTurn(self._lifecycle, request)

    def in_mind(self, place: Scope) -> WorkingMemory:
        """Return what an agent has in mind, brought back if need be."""
        self._lifecycle.bury()
        mind, restored = self._attending.look(place)
        with self._parts.store.read() as tx:
            held = items(tx, mind.slots, scope=place, now=self._parts.clock.now())
        return working_memory(place, held, mind, restored)

    def put_away(self, place: Scope) -> None:
        """Keep what an agent has in mind, and let go of it here."""
        self._attending.put_away(place)

    def look_ahead(self, scope: Scope, expected: Expected) -> None:
        """Prepare in the background what an agent will ask for next."""
        self._anticipator.start()
        if self._parts.policy.attention.anticipates:
            self._anticipator.wish(scope, expected)

    def let_go(self) -> None:
        """Hold no words of any mind; the store has them."""
        self._attending.let_go()

    def close(self) -> None:
        """Close the turns that are open, and put every mind away."""
        self._lifecycle.close_all()
        self._anticipator.close()
        self._attending.close()

    def _prepare(self, scope: Scope, expected: Expected) -> None:
        with self._parts.health.watch(ANTICIPATION):
            self._attending.prepare(scope, anticipate(self._parts, scope, expected))
