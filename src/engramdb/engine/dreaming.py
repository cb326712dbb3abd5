"""Verbs of the dream, and what a dream is handed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from engramdb.dream.apply import Pen
from engramdb.dream.run import STEPS, Runner, dream, select_steps
from engramdb.dream.step import Dreaming
from engramdb.engine.assemble import Parts
from engramdb.engine.handle import Handle
from engramdb.errors import EmbeddingError
from engramdb.lifecycle.change import find_own
from engramdb.lifecycle.conflict import conflict, understood
from engramdb.lifecycle.drafts import Draft, candidate
from engramdb.lifecycle.merging import unmerge
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Transaction
from engramdb.text import relations
from engramdb.values import Actor, DreamReport, EmbedderIdentity, Memory, MemoryId, Scope
from engramdb.values.query import check_limit, check_number

# The verbs of the slow path: dream, see what dreams did, and take a merge back.


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
        self._reads.write(self._now())
        return dream_once(self._parts, steps=steps, dry_run=dry_run, progress=progress)

    def dreams(self, *, limit: int = 10, before: int | None = None) -> Sequence[DreamReport]:
        """
        Return the reports of the latest dreams, newest first; an unfinished one tells how far it came.

        `before` a report's `number` gives the page after it.
        """
        check_limit(limit)
        if before is not None:
            check_number("before", before)
        with self._parts.store.read() as tx:
            return [run.report for run in tx.dreams.recent(limit=limit, before=before)]

    def unmerge(
        self,
        memory_id: MemoryId,
        *,
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Sequence[Memory]:
        """
        Take back every merge into a memory, or the one by which it was merged itself; no dream repeats it.

        What was merged is active again with its own evidence, which the other one gives back. Returns what
        was brought back.
        """
        target, why = self._resolve(memory_id, scope), reason or "taken apart"
        back = take_apart(
            self._parts,
            target,
            scope=self._in(scope),
            actor=self._actor,
            reason=why,
            if_still=if_still,
        )
        self._embed_later()
        return back


# What a dream is handed, and how it is begun.
#
# Called by the verbs of `dreaming`; loads the room `dream`. Hands it what it may not reach for itself: how
# capture judges a contradiction, how the write pipeline screens a statement, how it is embedded.


def dream_once(
    parts: Parts,
    *,
    steps: Sequence[str] | None,
    dry_run: bool,
    progress: Callable[[str, float], None] | None,
) -> DreamReport:
    """Dream once, all steps or those named."""
    taken = select_steps(steps)
    with parts.health.watch("dream"):
        return dream(
            Runner(
                dreaming=dreaming_of(parts),
                steps=taken,
                policy_name=parts.policy.name,
                clock=parts.clock.now,
                pen=pen_of(parts),
                dry_run=dry_run,
                progress=progress,
            )
        )


def take_apart(
    parts: Parts,
    memory_id: MemoryId,
    *,
    scope: Scope,
    actor: Actor,
    reason: str,
    if_still: Memory | None = None,
) -> Sequence[Memory]:
    """Take back the merges into a memory, or the one by which it was merged, and return what came back."""
    with parts.store.atomic() as tx:
        memory = find_own(tx, memory_id, scope, if_still=if_still)
        return unmerge(MemoryWriter(tx, actor, parts.clock.now()), memory, reason=reason)


def has_news(tx: Transaction) -> bool:
    """Say whether a memory has changed since the last dream, whichever process changed it."""
    mark = tx.dreams.mark(STEPS[0].name)
    return bool(tx.dreams.fresh_scopes(since=0 if mark is None else mark.cursor))


def contradict(new: Memory, old: Memory) -> bool:
    """Say whether a statement cannot hold beside an older one."""
    return conflict(understood(new), understood(old)) is not None


def says_more(one: Memory, other: Memory) -> bool:
    """Say whether one memory states more things than another."""
    return relations.says_more(one.content, other.content)


def dreaming_of(parts: Parts) -> Dreaming:
    """Return what every step of a dream is handed."""
    return Dreaming(
        store=parts.store,
        policy=parts.policy,
        now=parts.clock.now(),
        since=None,
        likeness=parts.pipeline.likeness,
        contradict=contradict,
        says_more=says_more,
        identity=_embedder_identity(parts),
        chat=parts.chat,
        calls=parts.calls,
        roots=_folders(parts.settings.dream_roots),
        is_stopped=parts.stop.is_set,
    )


def pen_of(parts: Parts) -> Pen:
    """Return what writes a statement of the dream as the write pipeline would."""
    return Pen(
        screen=lambda memory: _screened(parts, memory),
        embed=parts.embedder.embed_documents,
        identity=_embedder_identity(parts),
    )


def _screened(parts: Parts, memory: Memory) -> Memory:
    """Return a statement of the dream as admission sees it; raises where admission would refuse it."""
    draft = Draft(
        content=memory.content,
        scope=memory.scope,
        category=memory.category,
        provenance=memory.provenance,
        confidence=memory.confidence,
        importance=memory.importance,
        extractor=memory.extractor,
    )
    seen = candidate(draft, parts.pipeline.policy, now=memory.created_at).memory
    return memory.evolve(
        content=seen.content,
        subject=seen.subject,
        predicate=seen.predicate,
        object=seen.object,
        is_negated=seen.is_negated,
        replaces=seen.replaces,
        flags=seen.flags,
        security=seen.security,
        affect=seen.affect,
        traits=seen.traits,
        detail=seen.detail,
    )


def _embedder_identity(parts: Parts) -> EmbedderIdentity | None:
    try:
        return parts.embedder.identity
    except EmbeddingError:
        return None


def _folders(named: str) -> tuple[Path, ...]:
    return tuple(Path(one).expanduser() for one in named.split(os.pathsep) if one)
