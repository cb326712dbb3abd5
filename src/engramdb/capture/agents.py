"""What agents produce besides talk: compactions, task results, findings, tool runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Protocol

from engramdb.capture.actions import (
    LOOKBACK_TURNS,
    command_lesson,
    reported_task,
    shipped,
    task_result,
    tool_run,
    tool_uses,
)
from engramdb.clock import Clock
from engramdb.errors import StatementForgotten
from engramdb.lifecycle.change import ChangeRequest, count_run
from engramdb.lifecycle.drafts import Draft
from engramdb.store.contract import Store
from engramdb.text.commands import CommandRun, parse_run
from engramdb.text.compactions import plain_summary
from engramdb.text.pii_patterns import without_credentials
from engramdb.values import (
    Actor,
    Memory,
    Provenance,
    Role,
    Scope,
    Source,
    TaskOutcome,
    Turn,
)
from engramdb.values.query import parse_enum


def finding(
    statement: str, *, urls: Sequence[str], topic: str | None, scope: Scope, occurred_at: datetime
) -> Draft:
    """Return a research finding with its sources."""
    sources = f" (source: {', '.join(urls)})" if urls else ""
    return Draft(
        content=f"{statement.strip()}{sources}",
        scope=scope,
        category="technical" if topic is None else "fact",
        provenance=Provenance(source=Source.INGEST),
        subject=topic,
        occurred_at=occurred_at,
        confidence=0.6 if urls else 0.4,
        extractor="finding-1",
    )


class AdmitsDrafts(Protocol):
    """Takes drafts to the write pipeline."""

    def admit(self, drafts: Sequence[Draft]) -> Sequence[Memory]: ...


class WritesTurns(AdmitsDrafts, Protocol):
    """Takes drafts to the write pipeline, and stores turns."""

    def observe(
        self,
        content: str,
        *,
        role: str,
        speaker: str | None,
        session: str | None,
        occurred_at: datetime | None,
        scope: Scope,
    ) -> Turn: ...


class ReadsTurns(Protocol):
    """Reads what waits of a conversation."""

    def flush(self, conversation: tuple[Scope, str | None] | None = None) -> int: ...


class LearnerParts(Protocol):
    """What learning from commands needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def store(self) -> Store: ...
    @property
    def writer(self) -> AdmitsDrafts: ...
    @property
    def actor(self) -> Actor: ...


class CommandLearner:
    """Learns from commands that were stored as turns: how often each works, what was shipped, lessons."""

    def __init__(self, parts: LearnerParts) -> None:
        self._parts = parts

    def learn(self, turns: Sequence[Turn]) -> None:
        """Learn from the commands among some turns, and keep how tasks of helpers ended."""
        for turn in turns:
            if (task := reported_task(turn)) is not None:
                self._keep(task)
            run = parse_run(turn.content) if turn.role is Role.TOOL else None
            if run is None:
                continue
            outcome = TaskOutcome.FAILED if run.is_failed else TaskOutcome.DONE
            for use in tool_uses(run):
                with suppress(StatementForgotten):
                    self.count_run(use.tool, use.purpose, outcome, session=turn.session, scope=turn.scope)
            if (draft := shipped(run, turn)) is not None:
                self._keep(draft)
            self.learn_lesson(turn)

    def learn_lesson(self, turn: Turn) -> None:
        """Keep what a command that worked teaches after one that failed in the same session."""
        with self._parts.store.read() as tx:
            before = tx.turns.list(
                scope=turn.scope, session=turn.session, limit=LOOKBACK_TURNS, before=turn.id
            )
        if turn.session is not None and (lesson := command_lesson([*before, turn])) is not None:
            self._keep(lesson)

    def _keep(self, draft: Draft) -> None:
        """Store what nobody has stated; what the person asked to forget stays away in silence."""
        with suppress(StatementForgotten):
            self._parts.writer.admit([draft])

    def count_run(
        self, tool: str, purpose: str, outcome: TaskOutcome, *, session: str | None, scope: Scope
    ) -> Memory:
        """Count a run of a tool for a purpose; one that was cancelled counts for nothing."""
        now = self._parts.clock.now()
        draft = tool_run(tool, purpose, outcome=outcome, session=session, scope=scope, occurred_at=now)
        memory = self._parts.writer.admit([draft])[0]
        request = ChangeRequest(store=self._parts.store, scope=memory.scope, actor=self._parts.actor, now=now)
        if outcome is TaskOutcome.CANCELLED:
            return memory
        is_success = outcome in (TaskOutcome.DONE, TaskOutcome.PARTIAL)
        return count_run(memory.id, request, is_success=is_success)


class AgentCapture:
    """What agents produce besides talk, as memories: `engram.capture`."""

    def __init__(
        self,
        writer: WritesTurns,
        *,
        reader: ReadsTurns,
        learner: CommandLearner,
        store: Store,
        clock: Clock,
        scope: Scope,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._learner = learner
        self._store = store
        self._clock = clock
        self._scope = scope

    def compaction(
        self, summary: str, *, session: str | None = None, scope: Scope | None = None
    ) -> Sequence[Memory]:
        """
        Keep what a summary states that took the place of older messages, and return it.

        It is stored as a turn of the assistant, without headings and plans, and read as any other.
        """
        place = scope or self._scope
        turn = self._writer.observe(
            plain_summary(summary) or summary,
            role=Role.ASSISTANT,
            speaker=None,
            session=session,
            occurred_at=None,
            scope=place,
        )
        self._reader.flush((place, session))
        with self._store.read() as tx:
            return tx.turns.memories_of([turn.id]).get(turn.id, [])

    def task_result(
        self,
        task: str,
        result: str,
        *,
        outcome: TaskOutcome = TaskOutcome.DONE,
        parent: str | None = None,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Keep how a task ended; `parent` is the larger task that it is part of."""
        draft = task_result(
            task,
            result,
            outcome=parse_enum(TaskOutcome, outcome),
            parent=parent,
            session=session,
            scope=scope or self._scope,
            occurred_at=self._clock.now(),
        )
        return self._writer.admit([draft])[0]

    def finding(
        self,
        statement: str,
        *,
        urls: Sequence[str] = (),
        topic: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Keep something that was found out, with where it was found."""
        place, now = scope or self._scope, self._clock.now()
        return self._writer.admit([finding(statement, urls=urls, topic=topic, scope=place, occurred_at=now)])[
            0
        ]

    def tool_run(
        self,
        tool: str,
        purpose: str,
        *,
        outcome: TaskOutcome = TaskOutcome.DONE,
        command: str | None = None,
        output: str | None = None,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """
        Count a run of a tool or a flow for a purpose, on one procedural memory.

        With the `command` and its `output`, what failed in the session and then worked is learned as well.
        """
        place, ended = scope or self._scope, parse_enum(TaskOutcome, outcome)
        if command is not None:
            run = CommandRun.of(command, output or "", is_failed=ended is TaskOutcome.FAILED)
            turn = self._writer.observe(
                without_credentials(run.told),
                role=Role.TOOL,
                speaker=None,
                session=session,
                occurred_at=None,
                scope=place,
            )
            self._learner.learn_lesson(turn)
        return self._learner.count_run(tool, purpose, ended, session=session, scope=place)
