"""
One dream over the whole store, begun for the engine: what it is given, and how a merge is taken back.

Hands the steps what the engine holds: how the write pipeline screens a statement, how it is embedded.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from engramdb.clock import Clock
from engramdb.dream.apply import StatementTools
from engramdb.dream.run import STEPS, DreamRunner, dream, select_steps
from engramdb.dream.step import Dreaming
from engramdb.errors import EmbeddingError, StatementForgotten
from engramdb.health import Health
from engramdb.lifecycle.admission import WritePipeline
from engramdb.lifecycle.candidates import candidate
from engramdb.lifecycle.change import find_own
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.forgotten import Wordings
from engramdb.lifecycle.merging import unmerge
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.models.chat import CallLog, ChatModel
from engramdb.models.embedder import Embedder
from engramdb.policy import Policy
from engramdb.settings import Settings
from engramdb.store.contract import Store, Transaction
from engramdb.values import Actor, DreamReport, EmbedderIdentity, Memory, MemoryId, Scope


class DreamParts(Protocol):
    """What a dream needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def store(self) -> Store: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def pipeline(self) -> WritePipeline: ...
    @property
    def chat(self) -> ChatModel | None: ...
    @property
    def calls(self) -> CallLog: ...
    @property
    def stop(self) -> threading.Event: ...


def dream_once(
    parts: DreamParts,
    *,
    scope: Scope | None,
    steps: Sequence[str] | None,
    dry_run: bool,
    progress: Callable[[str, float], None] | None,
) -> DreamReport:
    """Dream once of a scope or of the whole store, all steps or those named."""
    taken = select_steps(steps)
    with parts.health.watch("dream"), parts.store.background_writes():
        return dream(
            DreamRunner(
                dreaming=replace(dreaming_of(parts), scope=scope),
                steps=taken,
                policy_name=parts.policy.name,
                clock=parts.clock.now,
                tools=statement_tools(parts),
                dry_run=dry_run,
                progress=progress,
            )
        )


def take_apart(
    parts: DreamParts,
    memory_id: MemoryId,
    *,
    scope: Scope,
    actor: Actor,
    reason: str,
    expected_version: Memory | None = None,
) -> Sequence[Memory]:
    """Take back the merges into a memory, or the one by which it was merged, and return what came back."""
    with parts.store.atomic() as tx:
        memory = find_own(tx, memory_id, scope, expected_version=expected_version)
        return unmerge(MemoryWriter(tx, actor, parts.clock.now()), memory, reason=reason)


def has_news(tx: Transaction) -> bool:
    """Return whether a memory has changed since the last dream, in any process."""
    mark = tx.dreams.mark(STEPS[0].name)
    return bool(tx.dreams.fresh_scopes(since=0 if mark is None else mark.cursor))


def dreaming_of(parts: DreamParts) -> Dreaming:
    """Return what every step of a dream is handed."""
    return Dreaming(
        store=parts.store,
        policy=parts.policy,
        now=parts.clock.now(),
        since=None,
        likeness=parts.pipeline.likeness,
        identity=_embedder_identity(parts),
        similarity_floor=parts.embedder.similarity_floor,
        judge=parts.pipeline.judge,
        chat=parts.chat,
        calls=parts.calls,
        roots=_folders(parts.settings.dream_roots),
        is_stopped=parts.stop.is_set,
    )


def statement_tools(parts: DreamParts) -> StatementTools:
    """Return what writes a statement of the dream as the write pipeline would."""
    return StatementTools(
        screen=lambda memory: _screen(parts, memory),
        embed=parts.embedder.embed_documents,
        identity=_embedder_identity(parts),
    )


def _screen(parts: DreamParts, memory: Memory) -> Memory:
    """Return a statement of the dream as admission sees it; raises where admission would refuse it."""
    _refuse_forgotten(parts, memory)
    draft = Draft(
        content=memory.content,
        scope=memory.scope,
        category=memory.category,
        provenance=memory.provenance,
        confidence=memory.confidence,
        importance=memory.importance,
        extractor=memory.extractor,
    )
    pipeline = parts.pipeline
    seen = candidate(draft, pipeline.policy, now=memory.created_at, screen=pipeline.screen).memory
    return memory.evolve(
        content=seen.content,
        subject=seen.subject,
        predicate=seen.predicate,
        object=seen.object,
        is_negated=seen.is_negated,
        replaces=seen.replaces,
        flags=seen.flags,
        security=seen.security,
        private=seen.private,
        affect=seen.affect,
        traits=seen.traits,
        detail=seen.detail,
    )


def _refuse_forgotten(parts: DreamParts, memory: Memory) -> None:
    """Raise where a statement says what the person asked to forget, but for the words of its sources."""
    known = parts.pipeline.forgotten
    if known is None:
        return
    with parts.store.read() as tx:
        sources = [tx.memories.get(one, scope=memory.scope) for one in memory.provenance.episodes]
        said = [one.content for one in sources if one is not None and not one.status.is_terminal]
        if known.recognize(tx, [Wordings.of(memory, besides=said)])[0] is not None:
            raise StatementForgotten("not stated: the person asked to forget this")


def _embedder_identity(parts: DreamParts) -> EmbedderIdentity | None:
    try:
        return parts.embedder.identity
    except EmbeddingError:
        return None


def _folders(named: str) -> tuple[tuple[str | None, Path], ...]:
    """Return the folders of a setting such as `~/notes:falcon=~/src/falcon`, each with its project."""
    return tuple(_folder(one) for one in named.split(os.pathsep) if one)


def _folder(named: str) -> tuple[str | None, Path]:
    project, equals, path = named.partition("=")
    is_of_project = bool(equals and path and project and "/" not in project and "\\" not in project)
    return (project, Path(path).expanduser()) if is_of_project else (None, Path(named).expanduser())
