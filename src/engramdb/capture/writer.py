"""
The way of a statement into the store, around the write pipeline: what every verb that writes goes through.

Notes of recalls are written first, failures are noted, and what could not be embedded at once is left to the
backlog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from msgspec.structs import asdict

from engramdb.capture.pipeline import observe
from engramdb.clock import Clock
from engramdb.health import Health
from engramdb.lifecycle.admission import WritePipeline, admit, correct, renew
from engramdb.lifecycle.answers import AnswerRequest, answer_question
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.write import Admission, refuse_forgotten
from engramdb.policy import Policy
from engramdb.store.contract import Store
from engramdb.values import Actor, Answered, CorrectedMemory, Memory, MemoryId, Scope, Turn
from engramdb.vault.finding import FindsPersonalData

BULK_ROWS = 256
"""Drafts per write of `remember_many`: large enough to be fast, small enough for others to get their turn."""


class WriterParts(Protocol):
    """What writing needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def store(self) -> Store: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def pipeline(self) -> WritePipeline: ...
    @property
    def text_guard(self) -> FindsPersonalData | None: ...
    @property
    def actor(self) -> Actor: ...
    def write_notes(self) -> None:
        """Write what recalls have noted, so that the write sees it."""

    def embed_later(self) -> None:
        """Have what waits embedded in the background, where there is one."""


class StatementWriter:
    """Writes statements and turns for one actor."""

    def __init__(self, parts: WriterParts) -> None:
        self._parts = parts

    def admit(
        self,
        drafts: Sequence[Draft],
        progress: Callable[[int], None] | None = None,
        *,
        is_explicit: bool = False,
        actor: Actor | None = None,
    ) -> Sequence[Memory]:
        """
        Store drafts in one write and return the memories; a bulk is enriched later.

        Raises `StatementForgotten`, with the others stored, where one says what the person asked to forget;
        a person who states it outright (`is_explicit`) brings it back.
        """
        admissions = self._admitted(drafts, progress, is_explicit=is_explicit, actor=actor)
        refuse_forgotten(admissions)
        return [admission.memory for admission in admissions]

    def _admitted(
        self,
        drafts: Sequence[Draft],
        progress: Callable[[int], None] | None,
        *,
        is_explicit: bool,
        actor: Actor | None = None,
    ) -> list[Admission]:
        self._parts.write_notes()
        is_bulk = len(drafts) >= BULK_ROWS
        with self._parts.health.watch("write"):
            admissions = admit(
                drafts,
                self._parts.pipeline,
                actor=actor or self._parts.actor,
                now=self._now(),
                enrich=not is_bulk,
                is_explicit=is_explicit,
            )
        if is_bulk or not all(one.is_embedded and one.is_judged for one in admissions):
            self._parts.embed_later()
        if progress is not None:
            progress(len(drafts))
        return admissions

    def admit_many(
        self, drafts: Iterable[Draft], progress: Callable[[int], None] | None = None
    ) -> Iterator[Memory]:
        """
        Store drafts as they come, some hundreds to a write, and yield each memory once it is durable.

        What the person asked to forget is left out, and told at the end.
        """
        left_out: list[Admission] = []
        for batch in _batches(drafts):
            admissions = self._admitted(batch, progress, is_explicit=True)
            left_out += [one for one in admissions if one.is_withheld]
            yield from (one.memory for one in admissions if not one.is_withheld)
        refuse_forgotten(left_out, is_bulk=True)

    def observe(
        self,
        content: str,
        *,
        role: str,
        speaker: str | None,
        session: str | None,
        occurred_at: datetime | None,
        scope: Scope,
    ) -> Turn:
        """Store one message as it was said."""
        return observe(
            content,
            role=role,
            speaker=speaker,
            session=session,
            occurred_at=occurred_at,
            scope=scope,
            store=self._parts.store,
            policy=self._parts.policy.capture,
            actor=self._parts.actor,
            now=self._now(),
            finder=self._parts.text_guard,
        )

    def correct(
        self,
        memory_id: MemoryId,
        content: str,
        *,
        scope: Scope,
        reason: str,
        reinstate: bool = False,
        expected_version: Memory | None,
        actor: Actor | None = None,
    ) -> CorrectedMemory:
        """Put a new statement in the place of an old one, or beside it."""
        corrected = correct(
            memory_id,
            content,
            self._parts.pipeline,
            scope=scope,
            reason=reason,
            actor=actor or self._parts.actor,
            now=self._now(),
            reinstate=reinstate,
            expected_version=expected_version,
            is_explicit=True,
        )
        return CorrectedMemory(**asdict(self._embedded(corrected)), disputed=corrected.disputed)

    def answer(self, question_id: str, answer: str, *, scope: Scope) -> Answered:
        """Answer an open question, and make true what follows from it."""
        self._parts.write_notes()
        request = AnswerRequest(
            pipeline=self._parts.pipeline, scope=scope, actor=self._parts.actor, now=self._now()
        )
        with self._parts.health.watch("write"):
            answered = answer_question(question_id, answer, request)
        self._parts.embed_later()
        return answered

    def renew(self, before: Memory, draft: Draft, *, reason: str) -> Memory:
        """Put a newer version in the place of a memory."""
        with self._parts.health.watch("write"):
            renewed = renew(
                before,
                draft,
                self._parts.pipeline,
                reason=reason,
                actor=self._parts.actor,
                now=self._now(),
            )
        refuse_forgotten([renewed])
        return self._embedded(renewed)

    def _embedded(self, admission: Admission) -> Memory:
        if not (admission.is_embedded and admission.is_judged):
            self._parts.embed_later()
        return admission.memory

    def _now(self) -> datetime:
        return self._parts.clock.now()


def _batches(drafts: Iterable[Draft]) -> Iterator[list[Draft]]:
    waiting: list[Draft] = []
    for draft in drafts:
        waiting.append(draft)
        if len(waiting) == BULK_ROWS:
            yield waiting
            waiting = []
    if waiting:
        yield waiting
