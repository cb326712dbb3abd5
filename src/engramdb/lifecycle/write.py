"""Write one settled candidate: row, history, audit, indexes, links, entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.lifecycle.conflict import ComparesStatements, conflict
from engramdb.lifecycle.drafts import REDUNDANT, Candidate
from engramdb.lifecycle.echo import echoes
from engramdb.lifecycle.enrich import introduce
from engramdb.lifecycle.merging import INHERIT_CONFIDENCE
from engramdb.lifecycle.settle import Neighbour, Order, Settlement, Verdict, as_said, settle, surprise
from engramdb.policy import CapturePolicy
from engramdb.store.contract import Transaction
from engramdb.store.moves import differences, let_go_of_derived
from engramdb.text.terms import index_terms
from engramdb.text.topics import overlap
from engramdb.values import (
    Action,
    Actor,
    AuditEvent,
    Box,
    Edge,
    EdgeType,
    HistoryEvent,
    Memory,
    Provenance,
    Scope,
    Status,
    new_id,
)
from engramdb.values.memory import SHELVED

WEAKEN_BY = 0.2
"""What a contradiction takes from the confidence of a statement that stays (seed 003)."""
MIN_WEAKENED = 0.1
"""No contradiction takes confidence below this."""
BOX_OVERLAP = 0.35
"""A statement that shares less with the open box's topics starts a new box (seed 000)."""
BOX_MINUTES = 30.0
"""After so much silence a new box is started (seed 000)."""

# Let one statement take the place of another; the earlier one stays as history, with until when it held.
#
# Called by admission's write for both directions: `retire` where the new statement replaces a known one,
# `precede` where it was made before the one that is known and only comes in later. Either way the chain of
# what
# held is in the order of time, each link ending when the next one begins.


def retire(write: Write, old: Memory, new: Memory, reason: str) -> Memory:
    """Let the old memory be superseded by the new one, from the moment that the new one holds."""
    retired = old.evolve(
        status=Status.SUPERSEDED, superseded_by=new.id, valid_to=new.when, updated_at=write.now
    )
    write.tx.memories.replace(retired)
    changes = differences(old, retired)
    write.note(old, Action.SUPERSEDE, old=old.status, new=Status.SUPERSEDED, reason=reason, changes=changes)
    let_go_of_derived(write.tx, old, write.now)
    return retired


def precede(write: Write, memory: Memory, later: Memory, reason: str, *, said: datetime) -> Memory:
    """Put a memory that was just stored before the one that holds, into its place among what held earlier."""
    heir, before = _place(write, memory, later, said)
    retired = retire(write, memory, heir, reason)
    link(write, heir, retired)
    if before is not None and conflict(as_said(memory), as_said(before)) is not None:
        retired = retired.evolve(supersedes=before.id)
        write.tx.memories.replace(retired)
        ended = before.evolve(superseded_by=memory.id, valid_to=memory.when, updated_at=write.now)
        write.tx.edges.remove(heir.id, before.id, EdgeType.SUPERSEDES)
        _changed(write, before, ended)
        link(write, retired, ended)
    following = heir.evolve(supersedes=memory.id, updated_at=write.now)
    _changed(write, heir, following)
    return retired


def _place(write: Write, memory: Memory, later: Memory, said: datetime) -> tuple[Memory, Memory | None]:
    """Return the earliest that was stated after the memory and contradicts it, and what that replaced."""
    seen, heir = {later.id}, later
    while True:
        before = _replaced(write, heir)
        if before is None or before.id in seen:
            return heir, None
        if not write.order.is_later(before, said) or conflict(as_said(before), as_said(memory)) is None:
            return heir, before
        seen.add(before.id)
        heir = before


def _replaced(write: Write, memory: Memory) -> Memory | None:
    if memory.supersedes is None:
        return None
    found = write.tx.memories.get(memory.supersedes, scope=memory.scope)
    return found if found is not None and found.status is Status.SUPERSEDED else None


def _changed(write: Write, old: Memory, new: Memory) -> None:
    write.tx.memories.replace(new)
    changes = differences(old, new)
    if old.supersedes != new.supersedes:
        changes["supersedes"] = (old.supersedes, new.supersedes)
    write.note(old, Action.RELATE, changes=changes)


def link(write: Write, new: Memory, old: Memory) -> None:
    """Link a memory to the one whose place it takes."""
    edge = Edge(source=new.id, target=old.id, type=EdgeType.SUPERSEDES, weight=1.0, created_at=write.now)
    write.tx.edges.add(edge)


# Put memories of one topic into one box, and follow a topic from box to box.

_TRACED_BOXES = 50
_LATEST_BOXES = 5
"""Looked at first: a topic that comes back was mostly left a moment ago, and reading a box takes a while."""
_MOST_TOPICS = 60
_RECENT_STATEMENTS = 4  # one shared word means little in a box of fifty


def place(
    tx: Transaction, topics: frozenset[str], *, scope: Scope, policy: CapturePolicy, now: datetime
) -> str:
    """Return the id of the box that a memory with these topics belongs to, opened or sealed as needed."""
    current = tx.boxes.open_in(scope)
    if current is not None and _is_over(current, topics, policy, now):
        tx.boxes.put(replace(current, sealed_at=now, trace=_trace(tx, current)))
        current = None
    if current is None:
        box_id = new_id(now)
        current = Box(
            id=box_id, trace=box_id, topics=frozenset(), opened_at=now, last_at=now, memories=0, scope=scope
        )
    filled = replace(
        current,
        topics=frozenset(sorted(current.topics | topics)[:_MOST_TOPICS]),
        recent=(*current.recent, topics)[-_RECENT_STATEMENTS:],
        last_at=now,
        memories=current.memories + 1,
    )
    tx.boxes.put(filled)
    return filled.id


def _is_over(box: Box, topics: frozenset[str], policy: CapturePolicy, now: datetime) -> bool:
    if now - box.last_at > timedelta(minutes=BOX_MINUTES) or box.memories >= policy.box_memories:
        return True
    recent = frozenset[str]().union(*box.recent)
    return bool(topics and recent) and overlap(recent, topics) < BOX_OVERLAP


def _trace(tx: Transaction, box: Box) -> str:
    for most in (_LATEST_BOXES, _TRACED_BOXES):
        for earlier in tx.boxes.sealed(box.scope, limit=most):
            if overlap(earlier.topics, box.topics) >= BOX_OVERLAP:
                return earlier.trace
    return box.trace


# Write one settled candidate: the memory, its indexes, links, entities, box, history and audit.
#
# Called by admission for each candidate inside one write. What was prepared outside may be stale by now,
# so a neighbour is read again before it is changed.


class Outcome(StrEnum):
    """What became of a draft."""

    CREATED = "created"
    REINFORCED = "reinforced"
    REPLACED = "replaced"
    DISPUTED = "disputed"
    PRECEDED = "preceded"
    ECHOED = "echoed"


_OUTCOMES = {
    Verdict.SUPERSEDE: Outcome.REPLACED,
    Verdict.WEAKEN: Outcome.DISPUTED,
    Verdict.PRECEDE: Outcome.PRECEDED,
}


class Admission(Struct, frozen=True):
    """The memory that now stands for the draft, and what became of the draft."""

    memory: Memory
    outcome: Outcome
    is_embedded: bool = True
    """Whether its vector was stored with it; if not, the backfill has something to do."""


class Write(Struct):
    """One write of the write pipeline, and what it has stored so far."""

    tx: Transaction
    policy: CapturePolicy
    likeness: ComparesStatements
    actor: Actor
    now: datetime
    order: Order
    vectors: dict[int, NDArray[np.float32]] = field(default_factory=dict)
    fresh: dict[int, Memory] = field(default_factory=dict)
    """What this write has made of its candidates, by place: later ones are settled against them too."""

    def stacked_vectors(self) -> NDArray[np.float32]:
        """Return the vectors of what was stored, in order."""
        return np.stack(list(self.vectors.values()))

    def note(
        self,
        memory: Memory,
        action: Action,
        *,
        old: Status | None = None,
        new: Status | None = None,
        reason: str = "",
        changes: Mapping[str, tuple[Any, Any]] | None = None,
    ) -> None:
        """Record what happened to a memory, in its history and in the audit trail."""
        self.tx.history.add(
            HistoryEvent(
                memory_id=memory.id,
                at=self.now,
                action=action,
                actor=self.actor,
                old_status=old,
                new_status=new,
                reason=reason,
                changes=changes or {},
            )
        )
        self.tx.audit.add(AuditEvent(at=self.now, action=action, actor=self.actor, target=memory.id))


def store_candidate(
    write: Write,
    candidate: Candidate,
    number: int,
    *,
    neighbours: Sequence[Neighbour],
    far: int,
    siblings: Mapping[int, float],
    vector: NDArray[np.float32] | None,
) -> Admission:
    """Settle a candidate and write what follows; `number` is its place among the candidates of this write."""
    near = [*neighbours, *(Neighbour(write.fresh[place], alike) for place, alike in siblings.items())]
    admission = _settled(write, candidate, near, far=far, vector=vector)
    write.fresh[number] = admission.memory
    return admission


def _settled(
    write: Write,
    candidate: Candidate,
    near: Sequence[Neighbour],
    *,
    far: int,
    vector: NDArray[np.float32] | None,
) -> Admission:
    memory = candidate.memory
    echoed = echoes(write.tx, memory, write.likeness, now=write.now)
    if echoed is not None:
        return Admission(echoed, Outcome.ECHOED)
    twin = write.tx.memories.active_twin(candidate.fingerprint, scope=memory.scope)
    if twin is not None:
        return _reinforce(write, twin, candidate, reason="said again")
    settlement = _settle_with_active(write, candidate, near)
    if settlement.verdict is Verdict.REINFORCE and settlement.target is not None:
        return _reinforce(write, settlement.target, candidate, reason=settlement.reason)
    nearness = [one.similarity for one in near] + [0.0] * far
    return _create(write, candidate, settlement, nearness, vector)


def _settle_with_active(write: Write, candidate: Candidate, near: Sequence[Neighbour]) -> Settlement:
    """Settle against memories that are active now: one that has gone since it was found does not count."""
    left = list(near)
    while True:
        settlement = settle(
            candidate.statement,
            left,
            write.policy,
            likeness=write.likeness,
            is_later=lambda known: write.order.is_later(known, candidate.said_at),
        )
        if settlement.target is None:
            return settlement
        target = settlement.target
        current = write.tx.memories.get(target.id, scope=target.scope)
        if current is not None and current.status is Status.ACTIVE:
            return replace(settlement, target=current)
        left = [one for one in left if one.memory.id != target.id]


def _create(
    write: Write,
    candidate: Candidate,
    settlement: Settlement,
    nearness: Sequence[float],
    vector: NDArray[np.float32] | None,
) -> Admission:
    memory = candidate.memory
    learnt = _weights(candidate, nearness, write.policy)
    if memory.provenance.session is not None:  # a box is a stretch of talk; single statements have none
        learnt["box"] = place(
            write.tx, candidate.topics, scope=memory.scope, policy=write.policy, now=write.now
        )
    memory = memory.evolve(**learnt) if learnt else memory
    old = settlement.target
    if old is not None:
        memory = _inheriting(memory, old, settlement.verdict)
        if settlement.verdict is Verdict.SUPERSEDE:
            old = retire(write, old, memory, settlement.reason)
    key = write.tx.memories.add(memory, fingerprint=candidate.fingerprint)
    write.tx.terms.put(key, index_terms(memory))
    if vector is not None:
        write.vectors[key] = vector
    write.note(memory, Action.REMEMBER, new=Status.ACTIVE)
    if candidate.is_enriched:
        write.tx.memories.mark_enriched(key)
        introduce(write.tx, memory, names=candidate.entities, now=write.now)
    if old is not None:
        memory = _join(write, memory, old, settlement, said=candidate.said_at)
    _link(write, memory, settlement.links)
    became = _OUTCOMES.get(settlement.verdict, Outcome.CREATED)
    return Admission(memory, became, is_embedded=vector is not None)


def _weights(candidate: Candidate, nearness: Sequence[float], policy: CapturePolicy) -> dict[str, Any]:
    """Return the surprise of a memory, and the importance and flags that follow from it, where it has one."""
    memory = candidate.memory
    found = surprise(nearness)
    if found is None:
        return {}
    flags = memory.flags
    if max(nearness) > policy.same_above:
        flags = (*flags, REDUNDANT)
    importance = memory.importance
    if not candidate.has_importance and policy.novelty_boost:
        gain = policy.novelty_boost * (2 * found - 1) if found > 0.5 else 0.0
        loss = policy.novelty_boost / 3 if REDUNDANT in flags else 0.0
        importance = min(1.0, max(0.0, importance + gain - loss))
    return {"surprise": found, "flags": flags, "importance": importance}


def _inheriting(memory: Memory, old: Memory, verdict: Verdict) -> Memory:
    """Return the new memory with what it takes over from the one that it stands against."""
    if verdict is not Verdict.SUPERSEDE:
        return memory
    confidence = min(1.0, memory.confidence + INHERIT_CONFIDENCE * old.confidence)
    return memory.evolve(
        confidence=confidence,
        importance=max(memory.importance, old.importance),
        pinned=memory.pinned or old.pinned,
        supersedes=old.id,
        version=old.version + 1,
    )


def _join(write: Write, new: Memory, old: Memory, settlement: Settlement, *, said: datetime) -> Memory:
    """Link the new memory to the one that it replaces, disputes or precedes, and return it as it is then."""
    if settlement.verdict is Verdict.PRECEDE:
        return precede(write, new, old, settlement.reason, said=said)
    if settlement.verdict is Verdict.SUPERSEDE:
        link(write, new, old)
    else:
        _dispute(write, new, old, settlement.reason)
    return new


def _dispute(write: Write, new: Memory, old: Memory, reason: str) -> None:
    """Let both stand; the old one loses confidence."""
    weaker = max(min(MIN_WEAKENED, old.confidence), old.confidence - WEAKEN_BY)
    weakened = old.evolve(confidence=weaker, updated_at=write.now)
    write.tx.memories.replace(weakened)
    write.note(old, Action.WEAKEN, reason=reason, changes=differences(old, weakened))
    edge = EdgeType.CONTRADICTS
    write.tx.edges.add(Edge(source=new.id, target=old.id, type=edge, weight=1.0, created_at=write.now))


def _link(write: Write, memory: Memory, links: Sequence[Neighbour]) -> None:
    edges = [
        Edge(
            source=memory.id,
            target=one.memory.id,
            type=EdgeType.RELATED_TO,
            weight=min(1.0, one.similarity),
            created_at=write.now,
        )
        for one in links
    ]
    write.tx.edges.add_all(edges)


def _reinforce(write: Write, known: Memory, candidate: Candidate, *, reason: str) -> Admission:
    """Strengthen the memory that says the same, and keep the new evidence with it."""
    new = candidate.memory
    stronger = known.evolve(
        confidence=min(1.0, known.confidence + write.policy.reinforce_confidence_by),
        importance=max(known.importance, new.importance if candidate.has_importance else 0.0),
        reinforcements=known.reinforcements + 1,
        confirmed_at=_confirmed(known, candidate.said_at, write.now),
        pinned=known.pinned or new.pinned,
        provenance=_with_evidence(known.provenance, new.provenance),
        updated_at=write.now,
    )
    if known.extractor == SHELVED != new.extractor:
        stronger = _own_statement(stronger, new)
    write.tx.memories.replace(stronger)
    write.note(known, Action.REINFORCE, reason=reason, changes=differences(known, stronger))
    return Admission(stronger, Outcome.REINFORCED)


def _own_statement(memory: Memory, new: Memory) -> Memory:
    """Return a memory that only documents stated as one that somebody has: it no longer leaves with them."""
    said = new.provenance
    provenance = replace(
        memory.provenance, source=said.source, session=said.session or memory.provenance.session
    )
    return memory.evolve(extractor=new.extractor, forget_after=new.forget_after, provenance=provenance)


def _confirmed(known: Memory, said: datetime, now: datetime) -> datetime:
    """Return when it was last stated again: what is older than the memory itself does not make it fresh."""
    return now if said >= known.created_at else max(known.confirmed_at or said, said)


def _with_evidence(known: Provenance, new: Provenance) -> Provenance:
    return replace(
        known,
        turns=tuple(dict.fromkeys((*known.turns, *new.turns))),
        episodes=tuple(dict.fromkeys((*known.episodes, *new.episodes))),
    )
