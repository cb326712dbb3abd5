"""
Doors for what agents produce besides talk: `engram.capture`.

Held by `Engram`; each verb makes drafts of one such thing and hands them to the same gate as everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.capture import bridges
from engram.capture.change import count_run
from engram.capture.draft import chosen
from engram.text.affect import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.capture.draft import Draft
    from engram.engine.assemble import Parts
    from engram.values import Actor, Memory, Scope


class AgentDoors:
    """Compaction summaries, task results, findings and tool runs as memories."""

    def __init__(
        self,
        parts: Parts,
        admit: Callable[[Sequence[Draft]], Sequence[Memory]],
        *,
        scope: Scope,
        actor: Actor,
    ) -> None:
        self._parts = parts
        self._admit = admit
        self._scope = scope
        self._actor = actor

    def compaction(
        self, summary: str, *, session: str | None = None, scope: Scope | None = None
    ) -> Sequence[Memory]:
        """Keep the statements of a summary that took the place of older messages."""
        now = self._parts.clock.now()
        return self._admit(
            bridges.compaction(summary, session=session, scope=scope or self._scope, occurred_at=now)
        )

    def task_result(
        self,
        task: str,
        result: str,
        *,
        outcome: Outcome = Outcome.SUCCESS,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Keep how a task ended."""
        draft = bridges.task_result(
            task,
            result,
            outcome=chosen(Outcome, outcome),
            session=session,
            scope=scope or self._scope,
            occurred_at=self._parts.clock.now(),
        )
        return self._admit([draft])[0]

    def finding(
        self,
        statement: str,
        *,
        urls: Sequence[str] = (),
        topic: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Keep something that was found out, with where it was found."""
        now = self._parts.clock.now()
        draft = bridges.finding(
            statement, urls=urls, topic=topic, scope=scope or self._scope, occurred_at=now
        )
        return self._admit([draft])[0]

    def tool_run(
        self,
        tool: str,
        purpose: str,
        *,
        outcome: Outcome = Outcome.SUCCESS,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Count a run of a tool or a flow for a purpose, on one procedural memory."""
        now, ended = self._parts.clock.now(), chosen(Outcome, outcome)
        draft = bridges.tool_run(
            tool, purpose, outcome=ended, session=session, scope=scope or self._scope, occurred_at=now
        )
        memory = self._admit([draft])[0]
        return count_run(
            memory.id,
            is_success=ended in (Outcome.SUCCESS, Outcome.PARTIAL),
            store=self._parts.store,
            scope=memory.scope,
            actor=self._actor,
            now=now,
        )
