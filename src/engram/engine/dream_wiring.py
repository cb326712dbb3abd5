"""
What a dream is handed, and how it is begun.

Called by the verbs of `dreaming`; loads the room `dream`. Hands it what it may not reach for itself: how
capture judges a contradiction, how the gate screens a statement, how it is embedded.
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
from engram.capture.extract import stated
from engram.dream.joining import unmerge
from engram.dream.run import Runner, dream
from engram.dream.stating import Pen
from engram.dream.step import Dreaming
from engram.dream.steps import STEPS, chosen
from engram.dream.writing import Writing
from engram.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.engine.assemble import Parts
    from engram.store.contract import Transaction
    from engram.values import Actor, DreamReport, EmbedderIdentity, Memory, MemoryId, Scope

PROFILES = "dream.profiles"


def dream_once(
    parts: Parts,
    *,
    steps: Sequence[str] | None,
    dry_run: bool,
    progress: Callable[[str, float], None] | None,
) -> DreamReport:
    """Dream once, all steps or those named."""
    taken = chosen(steps)
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
        writing = Writing(tx, parts.policy.dream, "unmerge", parts.clock.now())
        return unmerge(writing, memory, actor=actor, reason=reason)


def has_news(tx: Transaction) -> bool:
    """Say whether a memory has changed since the last dream, whichever process changed it."""
    mark = tx.dreams.mark(STEPS[0].name)
    return bool(tx.dreams.fresh_scopes(since=0 if mark is None else mark.cursor))


def contradict(new: Memory, old: Memory) -> bool:
    """Say whether a statement cannot hold beside an older one."""
    return conflict(_statement(new), _statement(old)) is not None


def says_more(one: Memory, other: Memory) -> bool:
    """Say whether one memory states more things than another."""
    return stated.says_more(one.content, other.content)


def dreaming_of(parts: Parts) -> Dreaming:
    """Return what every step of a dream is handed."""
    return Dreaming(
        store=parts.store,
        policy=parts.policy,
        now=parts.clock.now(),
        since=None,
        likeness=parts.gate.likeness,
        contradict=contradict,
        says_more=says_more,
        identity=_embedder_identity(parts),
        chat=parts.chat,
        calls=parts.calls,
        roots=_folders(parts.settings.dream_roots),
        is_stopped=parts.stop.is_set,
    )


def pen_of(parts: Parts) -> Pen:
    """Return what writes a statement of the dream as the gate would."""
    now = parts.clock.now()

    def known(tx: Transaction, memory: Memory) -> None:
        if not (memory.extractor or "").startswith(PROFILES):  # which links itself, and names nobody new
            introduce(tx, memory, now=now)

    return Pen(
        screen=lambda memory: _screened(parts, memory),
        introduce=known,
        embed=parts.embedder.embed_documents,
        identity=_embedder_identity(parts),
    )


def _screened(parts: Parts, memory: Memory) -> Memory:
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
    seen = candidate(draft, parts.gate.policy, now=memory.created_at).memory
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


def _embedder_identity(parts: Parts) -> EmbedderIdentity | None:
    try:
        return parts.embedder.identity
    except EmbeddingError:
        return None


def _statement(memory: Memory) -> Statement:
    found = stated.read_statement(memory.content, speaker=memory.provenance.speaker)
    if found is None:
        return Statement(memory, is_negated=is_negation(memory.content))
    return Statement(memory, is_negated=found.is_negated, replaces=found.replaces)


def _folders(named: str) -> tuple[Path, ...]:
    return tuple(Path(one).expanduser() for one in named.split(os.pathsep) if one)
