"""
The verbs of the slow path: dream, see what dreams did, and take a merge back.

Part of `Engram`; hands the dream what it may not reach for itself: how capture judges a contradiction, how
the gate screens a statement, how it is embedded. A dream concerns the whole store whatever the scope, and its
report names memories by id alone; undoing is for who may change the memory.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from engram.capture.candidate import candidate
from engram.capture.change import find_own
from engram.capture.conflict import Statement, conflict, is_negation
from engram.capture.draft import Draft
from engram.capture.enrich import introduce
from engram.capture.extract.stated import read_statement
from engram.dream.joining import unmerge
from engram.dream.run import Runner, dream
from engram.dream.stating import Pen
from engram.dream.step import Dreaming
from engram.dream.steps import chosen
from engram.dream.writing import Writing
from engram.engine.handle import Handle
from engram.errors import EmbeddingError, InvalidQuery
from engram.values.query import MAX_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.store.contract import Transaction
    from engram.values import DreamReport, EmbedderIdentity, Memory, MemoryId, Scope


PROFILES = "dream.profiles"


class Dreams(Handle):
    """Verbs that consolidate."""

    def dream(
        self,
        *,
        dry_run: bool = False,
        steps: Sequence[str] | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> DreamReport:
        """
        Consolidate the whole store once: merge, settle, conclude, connect, ask; all steps or those named.

        Works in small writes beside everything else, one dream at a time; an interrupted one goes on where it
        stopped. With `dry_run` it only tells what it would do first. `progress` is told each step and the
        share of them that is done.
        """
        taken = chosen(steps)
        self._reads.write(self._now())
        with self._parts.health.watch("dream"):
            return dream(
                Runner(
                    dreaming=self._dreaming(),
                    steps=taken,
                    policy_name=self._parts.policy.name,
                    clock=self._now,
                    pen=self._pen(),
                    dry_run=dry_run,
                    progress=progress,
                )
            )

    def dreams(self, *, limit: int = 10) -> Sequence[DreamReport]:
        """Return the reports of the latest dreams, newest first; an unfinished one tells how far it came."""
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidQuery(f"limit={limit} is outside 1 to {MAX_LIMIT}")
        with self._parts.store.read() as tx:
            return [run.report for run in tx.dreams.recent(limit=limit)]

    def unmerge(
        self, memory_id: MemoryId, *, reason: str = "", scope: Scope | None = None
    ) -> Sequence[Memory]:
        """
        Take back every merge into a memory, or the one by which it was merged itself; no dream repeats it.

        What was merged is active again with its own evidence, which the other one gives back. Returns what
        was brought back.
        """
        target = self._resolve(memory_id, scope)
        with self._parts.store.atomic() as tx:
            memory = find_own(tx, target, self._in(scope))
            writing = Writing(tx, self._parts.policy.dream, "unmerge", self._now())
            back = unmerge(writing, memory, actor=self._actor, reason=reason or "taken apart")
        self._embed_later()
        return back

    def _dreaming(self) -> Dreaming:
        parts = self._parts
        return Dreaming(
            store=parts.store,
            policy=parts.policy,
            now=self._now(),
            since=None,
            likeness=parts.gate.likeness,
            contradict=_contradict,
            identity=self._embedder_identity(),
            chat=parts.chat,
            calls=parts.calls,
            roots=_folders(parts.settings.dream_roots),
            is_stopped=parts.stop.is_set,
        )

    def _pen(self) -> Pen:
        now = self._now()

        def known(tx: Transaction, memory: Memory) -> None:
            if not (memory.extractor or "").startswith(PROFILES):  # which links itself, and names nobody new
                introduce(tx, memory, now=now)

        return Pen(
            screen=self._screened,
            introduce=known,
            embed=self._parts.embedder.embed_documents,
            identity=self._embedder_identity(),
        )

    def _screened(self, memory: Memory) -> Memory:
        """Return a statement of the dream as the gate sees it; raises where the gate would refuse it."""
        draft = Draft(
            content=memory.content,
            scope=memory.scope,
            category=memory.category,
            provenance=memory.provenance,
            confidence=memory.confidence,
            importance=memory.importance,
            extractor=memory.extractor,
        )
        seen = candidate(draft, self._parts.gate.policy, now=memory.created_at).memory
        return memory.evolve(
            content=seen.content,
            subject=seen.subject,
            predicate=seen.predicate,
            object=seen.object,
            flags=seen.flags,
            security=seen.security,
            affect=seen.affect,
            traits=seen.traits,
            detail=seen.detail,
        )

    def _embedder_identity(self) -> EmbedderIdentity | None:
        try:
            return self._parts.embedder.identity
        except EmbeddingError:
            return None


def _contradict(new: Memory, old: Memory) -> bool:
    """Say whether a statement cannot hold beside an older one."""
    return conflict(_statement(new), _statement(old)) is not None


def _statement(memory: Memory) -> Statement:
    found = read_statement(memory.content, speaker=memory.provenance.speaker)
    if found is None:
        return Statement(memory, is_negated=is_negation(memory.content))
    return Statement(memory, is_negated=found.is_negated, replaces=found.replaces)


def _folders(named: str) -> tuple[Path, ...]:
    return tuple(Path(one).expanduser() for one in named.split(os.pathsep) if one)
