"""Derive a statement from memories of one scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.errors import EdgeNotAllowed, EmbeddingError, SecurityError
from engramdb.lifecycle.merging import Dropped, Result, Writing, joined, retire, strictest
from engramdb.store.contract import Transaction
from engramdb.text.normalize import clean, fingerprint
from engramdb.text.terms import index_terms, passage
from engramdb.values import (
    Action,
    ActorKind,
    AuditEvent,
    Edge,
    EmbedderIdentity,
    HistoryEvent,
    Layer,
    Memory,
    Provenance,
    Status,
    new_id,
)

if TYPE_CHECKING:
    from engramdb.dream.proposals import Derive

_PASSING = (Layer.WORKING, Layer.EPISODIC)
_FADED = (Status.ARCHIVED, Status.PRUNED)


class Pen(Struct, frozen=True, kw_only=True):
    """What it takes to state something as the write pipeline would."""

    screen: Callable[[Memory], Memory] = lambda memory: memory
    """Returns the memory with what is inferred from its words; raises `SecurityError` for an attack."""
    introduce: Callable[[Transaction, Memory], None] = lambda _tx, _memory: None
    """Registers whom and what the memory speaks of."""
    embed: Callable[[Sequence[str]], NDArray[np.float32]] | None = None
    identity: EmbedderIdentity | None = None


class DerivedDraft(Struct, frozen=True):
    """A statement that is ready to be written."""

    memory: Memory
    fingerprint: bytes
    vector: NDArray[np.float32] | None


def prepare(proposal: Derive, pen: Pen, *, now: datetime) -> DerivedDraft:
    """Return the memory that the proposal would make; raises `Dropped` where it may not be stated at all."""
    sources = proposal.sources
    if not sources or len({one.scope for one in sources}) != 1 or not clean(proposal.content):
        raise Dropped("its sources are none, or of several scopes")
    try:
        memory = pen.screen(_born(proposal, now))
    except SecurityError as exc:
        raise Dropped("the write pipeline would refuse it") from exc
    memory = memory.evolve(
        security=strictest((memory.security, *(one.security for one in sources))),
        flags=joined(memory.flags, *(one.flags for one in sources)),
    )
    return DerivedDraft(
        memory, fingerprint(memory.content, speaker=memory.provenance.speaker), _vector(memory, pen)
    )


def _born(proposal: Derive, now: datetime) -> Memory:
    sources = proposal.sources
    speakers = {one.provenance.speaker for one in sources}
    return Memory(
        id=new_id(now),
        content=clean(proposal.content),
        created_at=now,
        updated_at=now,
        scope=sources[0].scope,
        layer=proposal.layer,
        type=proposal.type,
        kind=proposal.kind,
        category=proposal.category,
        provenance=Provenance(
            source=min((one.provenance.source for one in sources), key=lambda source: source.trust),
            speaker=speakers.pop() if len(speakers) == 1 else None,
            episodes=joined(one.id for one in sources),
        ),
        valid_from=now,
        confidence=proposal.confidence,
        importance=max(one.importance for one in sources)
        if proposal.importance is None
        else proposal.importance,
        stability=proposal.stability,
        extractor=proposal.maker or None,
    )


def _vector(memory: Memory, pen: Pen) -> NDArray[np.float32] | None:
    if pen.embed is None or pen.identity is None:
        return None
    try:
        (row,) = pen.embed([passage(memory)])
    except EmbeddingError:  # noted by the engine's health; found by its words until it is embedded later
        return None
    return np.asarray(row, np.float32)


def state(writing: Writing, proposal: Derive, draft: DerivedDraft, pen: Pen) -> Result:
    """Store the statement, or give its evidence to the memory that says it already."""
    sources = writing.standing(*proposal.sources)
    old = None if proposal.replaces is None else writing.again(proposal.replaces, sources[0])[0]
    if old is not None and (old.status is not Status.ACTIVE or old.pinned):
        raise Dropped("what it replaces is pinned or gone")
    twin = writing.tx.memories.active_twin(draft.fingerprint, scope=draft.memory.scope)
    if twin is not None:
        return _given_evidence(writing, proposal, twin, sources, old)
    _refuse_what_was_taken_back(writing, draft, sources)
    memory = draft.memory
    if old is not None:
        memory = memory.evolve(supersedes=old.id, version=old.version + 1)
    _store(writing, memory, draft, pen, proposal.reason)
    if old is not None:
        retire(writing, old, memory, proposal.reason)
    _link(writing, proposal, memory, sources)
    return Result(is_changed=True, made=memory.id)


def _store(writing: Writing, memory: Memory, draft: DerivedDraft, pen: Pen, reason: str) -> None:
    tx = writing.tx
    key = tx.memories.add(memory, fingerprint=draft.fingerprint)
    tx.terms.put(key, index_terms(memory))
    tx.memories.mark_enriched(key)
    pen.introduce(tx, memory)
    if draft.vector is not None and pen.identity is not None:
        tx.vectors.put(tx.vectors.make_space(pen.identity), [key], np.stack([draft.vector]))
    tx.history.add(
        HistoryEvent(
            memory_id=memory.id,
            at=writing.now,
            action=Action.DERIVE,
            actor=writing.actor,
            new_status=Status.ACTIVE,
            reason=reason,
        )
    )
    detail = {"reason": reason, "sources": len(memory.provenance.episodes)}
    event = AuditEvent(
        at=writing.now, action=Action.DERIVE, actor=writing.actor, target=memory.id, detail=detail
    )
    tx.audit.add(event)


def _given_evidence(
    writing: Writing, proposal: Derive, twin: Memory, sources: Sequence[Memory], old: Memory | None
) -> Result:
    """Let the memory that says it already rest on the sources too; knowledge does not stay an episode."""
    others = [one for one in sources if one.id != twin.id]
    rises = twin.layer in _PASSING and proposal.layer not in _PASSING and not twin.layer_held
    changes: dict[str, Any] = {
        "provenance": replace(
            twin.provenance, episodes=joined(twin.provenance.episodes, (one.id for one in others))
        ),
        "security": strictest((twin.security, *(one.security for one in others))),
        "flags": joined(twin.flags, *(_warnings(one) for one in others)),
    }
    if rises and others:
        changes["layer"] = proposal.layer
    changed = writing.change(twin, Action.DERIVE, proposal.reason, **changes)
    linked = _link(writing, proposal, twin, others)
    if old is not None and old.id != twin.id:
        retire(writing, old, changed, proposal.reason)
        return Result(is_changed=True, made=twin.id)
    return Result(is_changed=changed is not twin or linked > 0, made=twin.id)


def _warnings(memory: Memory) -> tuple[str, ...]:
    return tuple(flag for flag in memory.flags if flag != "redundant")


def _link(writing: Writing, proposal: Derive, memory: Memory, sources: Sequence[Memory]) -> int:
    """Link the statement to its sources, and return how many links are new; circles are left out."""
    known = {(edge.target, edge.type) for edge in writing.tx.edges.of(memory.id) if edge.source == memory.id}
    added = 0
    for one in sources:
        if one.id == memory.id or (one.id, proposal.edge) in known:
            continue
        edge = Edge(source=memory.id, target=one.id, type=proposal.edge, weight=1.0, created_at=writing.now)
        try:
            writing.tx.edges.add(edge)
        except EdgeNotAllowed:
            continue
        added += 1
    return added


def _refuse_what_was_taken_back(writing: Writing, draft: DerivedDraft, sources: Sequence[Memory]) -> None:
    """Drop what was said once and taken back; what only faded may be said again on new ground."""
    for gone in writing.tx.dreams.taken_back(draft.fingerprint, scope=draft.memory.scope):
        if gone.status in _FADED and max(one.created_at for one in sources) > gone.updated_at:
            continue
        if not _left_by_a_dream(writing.tx, gone):
            raise Dropped("it was said before and taken back")


def _left_by_a_dream(tx: Transaction, memory: Memory) -> bool:
    """Say whether a dream stated it and a rule took it back, which a better ground may overrule."""
    if not memory.is_derived:
        return False
    moves = [event for event in tx.history.of(memory.id) if event.new_status is memory.status]
    return bool(moves) and moves[-1].actor.kind is ActorKind.RULE
