"""
The gate: validate → fingerprint → embed → settle → save, for every memory from every door.

Called by the engine for one draft or many. `prepare` does what takes long, outside any write, so that a slow
model never holds up other writers; `save` does the rest inside one. A memory whose embedder is unavailable
is saved all the same, found by its words at once, and embedded later by the backfill.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from engram.capture.draft import born, checked
from engram.errors import EmbeddingError
from engram.text.normal import fingerprint
from engram.text.passage import passage
from engram.text.terms import terms
from engram.values import Action, AuditEvent, HistoryEvent, Memory, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from engram.capture.draft import Draft
    from engram.policy import CapturePolicy
    from engram.store.contract import Store, Transaction
    from engram.values import Actor, EmbedderIdentity, MemoryId, Provenance, Scope


class EmbedsDocuments(Protocol):
    """The part of an embedder that the gate needs."""

    @property
    def identity(self) -> EmbedderIdentity: ...
    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What the gate needs to do its work."""

    store: Store
    embedder: EmbedsDocuments
    policy: CapturePolicy


class Outcome(StrEnum):
    """What became of a draft."""

    CREATED = "created"
    REINFORCED = "reinforced"


@dataclass(frozen=True, slots=True)
class Admission:
    """The memory that is now stored, whether it is new, and whether its vector is there too."""

    memory: Memory
    outcome: Outcome
    is_embedded: bool = True


@dataclass(frozen=True, slots=True)
class Candidate:
    """A checked draft on its way through; `importance` is what the door asked for, if it did."""

    memory: Memory
    fingerprint: bytes
    importance: float | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """Candidates, and the vectors of those that seemed new, by place."""

    candidates: list[Candidate]
    identity: EmbedderIdentity | None
    vectors: dict[int, NDArray[np.float32]]


def admit(drafts: Sequence[Draft], gate: Gate, *, actor: Actor, now: datetime) -> list[Admission]:
    """Store all drafts in one write, in their order; if one is not valid, raises and writes none."""
    prepared = prepare(drafts, gate, now=now)
    with gate.store.atomic() as tx:
        return save(tx, prepared, gate.policy, actor=actor, now=now)


def prepare(
    drafts: Sequence[Draft], gate: Gate, *, now: datetime, leaving: MemoryId | None = None
) -> Prepared:
    """Check the drafts and embed what is not stored yet, or only in a memory that is about to leave."""
    candidates = [_candidate(draft, gate.policy, now=now) for draft in drafts]
    places = _novel(candidates, gate.store, leaving)
    if not places:
        return Prepared(candidates, None, {})
    try:
        vectors = gate.embedder.embed_documents([passage(candidates[place].memory) for place in places])
        return Prepared(candidates, gate.embedder.identity, dict(zip(places, vectors, strict=True)))
    except EmbeddingError:  # counted by the engine, shown by `status` and by every recall until mended
        return Prepared(candidates, None, {})


def save(
    tx: Transaction, prepared: Prepared, policy: CapturePolicy, *, actor: Actor, now: datetime
) -> list[Admission]:
    """Write the candidates; one that is already known reinforces instead."""
    admissions: list[Admission] = []
    embedded: dict[int, NDArray[np.float32]] = {}
    for place, candidate in enumerate(prepared.candidates):
        twin = tx.memories.active_twin(candidate.fingerprint, scope=candidate.memory.scope)
        if twin is not None:
            admissions.append(_reinforce(tx, twin, candidate, policy, actor=actor, now=now))
            continue
        key = _create(tx, candidate, actor=actor, now=now)
        if place in prepared.vectors:
            embedded[key] = prepared.vectors[place]
        admissions.append(Admission(candidate.memory, Outcome.CREATED, is_embedded=key in embedded))
    if embedded and prepared.identity is not None:
        space = tx.vectors.make_space(prepared.identity)
        tx.vectors.put(space, list(embedded), _stack(embedded))
    return admissions


def _candidate(draft: Draft, policy: CapturePolicy, *, now: datetime) -> Candidate:
    memory = born(draft, checked(draft, policy), policy, now=now)
    mark = fingerprint(memory.content, speaker=memory.provenance.speaker)
    return Candidate(memory, mark, draft.importance)


def _novel(candidates: Sequence[Candidate], store: Store, leaving: MemoryId | None) -> list[int]:
    """Return the places of candidates that neither an earlier candidate nor a memory that stays holds."""
    first: dict[tuple[Scope, bytes], int] = {}
    for place, candidate in enumerate(candidates):
        first.setdefault((candidate.memory.scope, candidate.fingerprint), place)
    with store.read() as tx:
        twins = {place: tx.memories.active_twin(mark, scope=scope) for (scope, mark), place in first.items()}
    return [place for place, twin in twins.items() if twin is None or twin.id == leaving]


def _create(tx: Transaction, candidate: Candidate, *, actor: Actor, now: datetime) -> int:
    memory = candidate.memory
    key = tx.memories.add(memory, fingerprint=candidate.fingerprint)
    tx.terms.put(key, index_terms(memory))
    tx.history.add(
        HistoryEvent(
            memory_id=memory.id, at=now, action=Action.REMEMBER, actor=actor, new_status=Status.ACTIVE
        )
    )
    tx.audit.add(AuditEvent(at=now, action=Action.REMEMBER, actor=actor, target=memory.id))
    return key


def _reinforce(
    tx: Transaction,
    twin: Memory,
    candidate: Candidate,
    policy: CapturePolicy,
    *,
    actor: Actor,
    now: datetime,
) -> Admission:
    """Strengthen the memory that says the same, and keep the new evidence with it."""
    stronger = twin.evolve(
        confidence=min(1.0, twin.confidence + policy.reinforce_confidence_by),
        importance=max(twin.importance, candidate.importance or 0.0),
        reinforcements=twin.reinforcements + 1,
        pinned=twin.pinned or candidate.memory.pinned,
        provenance=_with_evidence(twin, candidate.memory),
        updated_at=now,
    )
    tx.memories.replace(stronger)
    changed = {
        name: (getattr(twin, name), getattr(stronger, name))
        for name in ("confidence", "importance", "reinforcements", "pinned")
        if getattr(twin, name) != getattr(stronger, name)
    }
    tx.history.add(
        HistoryEvent(memory_id=twin.id, at=now, action=Action.REINFORCE, actor=actor, changes=changed)
    )
    tx.audit.add(AuditEvent(at=now, action=Action.REINFORCE, actor=actor, target=twin.id))
    return Admission(stronger, Outcome.REINFORCED)


def _with_evidence(twin: Memory, other: Memory) -> Provenance:
    mine, theirs = twin.provenance, other.provenance
    return replace(
        mine,
        turns=tuple(dict.fromkeys((*mine.turns, *theirs.turns))),
        episodes=tuple(dict.fromkeys((*mine.episodes, *theirs.episodes))),
    )


def index_terms(memory: Memory) -> list[str]:
    """Return what the text index should find the memory by: its words and who said them."""
    return terms(passage(memory))


def _stack(vectors: dict[int, NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.stack(list(vectors.values()))
