"""What agents produce besides talk: compactions, task results, findings, tool runs, sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from engramdb.clock import Clock
from engramdb.lifecycle.change import ChangeRequest, count_run
from engramdb.lifecycle.drafts import Draft
from engramdb.store.contract import Store
from engramdb.text.sentences import sentences
from engramdb.values import (
    Actor,
    Kind,
    Layer,
    Memory,
    MemoryType,
    Provenance,
    Role,
    Scope,
    Source,
    TaskOutcome,
    Turn,
)
from engramdb.values.query import parse_enum

COMPACTION_IMPORTANCE = 0.6
"""What survived a compaction mattered to the one who wrote the summary."""
SUMMARY_TURNS = 4
"""A shorter session is no story."""
SUMMARY_STATEMENTS = 3
_LEAST_WORDS = 3
_MOST_CHARACTERS = 4000


def compaction(summary: str, *, session: str | None, scope: Scope, occurred_at: datetime) -> list[Draft]:
    """Return the statements of a compaction summary."""
    made = Provenance(source=Source.ASSISTANT, session=session)
    return [
        Draft(
            content=sentence,
            scope=scope,
            category="context",
            kind=Kind.EPISODE,
            provenance=made,
            occurred_at=occurred_at,
            confidence=0.7,
            importance=COMPACTION_IMPORTANCE,
            extractor="compaction-1",
        )
        for sentence in _statements(summary)
    ]


def task_result(
    task: str, result: str, *, outcome: TaskOutcome, session: str | None, scope: Scope, occurred_at: datetime
) -> Draft:
    """Return one statement of how a task ended."""
    told = {
        TaskOutcome.SUCCESS: "succeeded",
        TaskOutcome.PARTIAL: "partly succeeded",
        TaskOutcome.FAILURE: "failed",
        TaskOutcome.RETRY: "was tried again",
    }
    content = f"Task “{_short(task)}” {told[outcome]}: {_short(result)}"
    return Draft(
        content=content,
        scope=scope,
        type=MemoryType.NARRATIVE,
        category="context",
        kind=Kind.EPISODE,
        provenance=Provenance(source=Source.ASSISTANT, session=session),
        occurred_at=occurred_at,
        confidence=0.8,
        outcome=outcome,
        extractor="task-1",
    )


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


def tool_run(
    tool: str, purpose: str, *, outcome: TaskOutcome, session: str | None, scope: Scope, occurred_at: datetime
) -> Draft:
    """Return what a tool is good for, as procedural memory; further runs are counted on the same memory."""
    return Draft(
        content=f"Tool {tool}: {_short(purpose)}",
        scope=scope,
        layer=Layer.PROCEDURAL,
        type=MemoryType.PROCEDURE,
        category="procedure",
        provenance=Provenance(source=Source.ASSISTANT, session=session),
        occurred_at=None,
        valid_from=occurred_at,
        confidence=0.7,
        outcome=outcome,
        extractor="tool-1",
        entities=(tool,),
    )


def session_summary(
    turns: Sequence[Turn], stated: Sequence[str], *, session: str, scope: Scope, occurred_at: datetime
) -> list[Draft]:
    """Return a summary of a session out of what was stated in it; a short or trivial one gives none."""
    spoken = [turn for turn in turns if turn.role in (Role.USER, Role.ASSISTANT)]
    if len(spoken) < SUMMARY_TURNS or not stated:
        return []
    once = list(dict.fromkeys(stated))
    first = once[:SUMMARY_STATEMENTS]
    more = f" and {len(once) - len(first)} more" if len(once) > len(first) else ""
    content = f"Session {session}, {len(spoken)} turns: " + "; ".join(_short(one) for one in first) + more
    return [
        Draft(
            content=content,
            scope=scope,
            type=MemoryType.NARRATIVE,
            category="context",
            kind=Kind.EPISODE,
            provenance=Provenance(
                source=Source.INGEST, session=session, turns=tuple(turn.id for turn in turns)
            ),
            occurred_at=occurred_at,
            confidence=0.7,
            extractor="session-1",
        )
    ]


def _statements(text: str) -> list[str]:
    return [one for one in sentences(text[: 16 * _MOST_CHARACTERS]) if len(one.split()) >= _LEAST_WORDS]


def _short(text: str, most: int = 400) -> str:
    whole = " ".join(text.split())
    return whole if len(whole) <= most else whole[:most].rsplit(" ", 1)[0] + " …"


class AdmitsDrafts(Protocol):
    """Takes drafts to the write pipeline."""

    def admit(self, drafts: Sequence[Draft]) -> Sequence[Memory]: ...


class AgentCapture:
    """What agents produce besides talk, as memories: `engram.capture`."""

    def __init__(
        self, writer: AdmitsDrafts, *, store: Store, clock: Clock, scope: Scope, actor: Actor
    ) -> None:
        self._writer = writer
        self._store = store
        self._clock = clock
        self._scope = scope
        self._actor = actor

    def compaction(
        self, summary: str, *, session: str | None = None, scope: Scope | None = None
    ) -> Sequence[Memory]:
        """Keep the statements of a summary that took the place of older messages."""
        place = scope or self._scope
        return self._writer.admit(
            compaction(summary, session=session, scope=place, occurred_at=self._clock.now())
        )

    def task_result(
        self,
        task: str,
        result: str,
        *,
        outcome: TaskOutcome = TaskOutcome.SUCCESS,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Keep how a task ended."""
        draft = task_result(
            task,
            result,
            outcome=parse_enum(TaskOutcome, outcome),
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
        outcome: TaskOutcome = TaskOutcome.SUCCESS,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Count a run of a tool or a flow for a purpose, on one procedural memory."""
        now, ended = self._clock.now(), parse_enum(TaskOutcome, outcome)
        draft = tool_run(
            tool, purpose, outcome=ended, session=session, scope=scope or self._scope, occurred_at=now
        )
        memory = self._writer.admit([draft])[0]
        request = ChangeRequest(store=self._store, scope=memory.scope, actor=self._actor, now=now)
        is_success = ended in (TaskOutcome.SUCCESS, TaskOutcome.PARTIAL)
        return count_run(memory.id, request, is_success=is_success)
