"""
Move a memory to another status, layer or out of the file, with its indexes and its history in the same write.

Called by every room that changes what is stored: `capture` for people, the sweep and the dream for rules. The
one place that knows which indexes a status belongs to, so a forgotten memory is gone from all of them at the
moment that it is forgotten. Speaks to a store by its contract alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from engramdb.errors import StatusNotAllowed
from engramdb.store.contract import Transaction
from engramdb.text.terms import index_terms
from engramdb.values import (
    Action,
    Actor,
    ActorKind,
    AuditEvent,
    EdgeType,
    HistoryEvent,
    Layer,
    Memory,
    Status,
    check_move,
)

WITHDRAWN = "something that it was made of was forgotten"
SHAKEN = "something that it was made of no longer holds"
_STANDING = (Status.ACTIVE, Status.CHALLENGED)
WITHDRAWING = Actor(name="forgetting", kind=ActorKind.RULE)
RECORDED = (
    *("layer", "layer_held", "pinned", "confidence", "importance", "reinforcements"),
    *("successes", "failures", "helped", "unhelpful"),
    *("confirmed_at", "valid_to", "forget_after", "superseded_by"),
)
"""What a memory's history notes of a change: enough to undo it, and never a word of text."""


def differences(old: Memory, new: Memory) -> dict[str, tuple[Any, Any]]:
    """Return what the history says of a change; of the evidence, how many pieces there were and are."""
    found = {
        name: (getattr(old, name), getattr(new, name))
        for name in RECORDED
        if getattr(old, name) != getattr(new, name)
    }
    for name in ("turns", "episodes"):
        before, after = (len(getattr(one.provenance, name)) for one in (old, new))
        if before != after:
            found[name] = (before, after)
    return found


def move(
    tx: Transaction, memory: Memory, new: Status, *, action: Action, reason: str, actor: Actor, now: datetime
) -> Memory:
    """Change the status with its history, and put the memory into or out of the indexes to match."""
    check_move(memory.status, new, actor=actor, reason=reason)
    if new is Status.ERASED:
        return erase(tx, memory, reason=reason, actor=actor, now=now)
    if new is Status.ACTIVE and tx.memories.has_active_twin(memory.id):
        raise StatusNotAllowed(
            f"memory {memory.id} cannot become active: another active memory says the same",
            hint="Use the other one.",
        )
    changed = memory.evolve(status=new, updated_at=now)
    if new is Status.ACTIVE:
        changed = _brought_back(tx, changed, now)
    key = tx.memories.replace(changed)
    if memory.status.is_indexed and not new.is_indexed:
        tx.terms.remove(key)
        tx.vectors.remove(key)
    elif new.is_indexed and not memory.status.is_indexed:
        tx.terms.put(key, index_terms(changed))
    note_move(tx, memory, changed, action=action, reason=reason, actor=actor, now=now)
    if new is Status.FORGOTTEN:
        let_go_of_derived(tx, memory, now, is_gone=True)
    elif new is Status.INVALIDATED and actor.kind is not ActorKind.RULE:
        let_go_of_derived(tx, memory, now)
    return changed


def move_layer(
    tx: Transaction, memory: Memory, layer: Layer, *, reason: str, held: bool, actor: Actor, now: datetime
) -> Memory:
    """Put a memory into another layer; `held` keeps rules from moving it again."""
    order = list(type(layer))
    action = Action.PROMOTE if order.index(layer) > order.index(memory.layer) else Action.DEMOTE
    changed = memory.evolve(layer=layer, layer_held=held, updated_at=now)
    tx.memories.replace(changed)
    tx.history.add(
        HistoryEvent(
            memory_id=memory.id,
            at=now,
            action=action,
            actor=actor,
            reason=reason,
            changes=differences(memory, changed),
        )
    )
    return changed


def erase(tx: Transaction, memory: Memory, *, reason: str, actor: Actor, now: datetime) -> Memory:
    """Take the words of a memory out of the file; the row and its history stay and hold no text."""
    gone = memory.evolve(status=Status.ERASED, content="", updated_at=now)
    key = tx.memories.replace(gone)
    tx.terms.remove(key)
    tx.vectors.remove(key)
    tx.entities.unlink(memory.id)
    for derived in _derived_from(tx, memory):
        erase(tx, derived, reason=WITHDRAWN, actor=WITHDRAWING, now=now)
    for edge in tx.edges.of(memory.id):
        tx.edges.remove(edge.source, edge.target, edge.type)
    tx.memories.blank(memory.id)
    note_move(tx, memory, gone, action=Action.ERASE, reason=reason, actor=actor, now=now)
    return gone


def let_go_of_derived(tx: Transaction, memory: Memory, now: datetime, *, is_gone: bool = False) -> None:
    """
    Take back what dreams made of a memory that no longer holds; the next dream makes it of what is left.

    Of one that `is_gone` for good nothing may be found any more, older versions included.
    """
    new = Status.PRUNED if is_gone else Status.INVALIDATED
    for derived in _derived_from(tx, memory):
        is_found = derived.status.is_indexed if is_gone else derived.status in _STANDING
        if is_found and not derived.pinned:
            reason = WITHDRAWN if is_gone else SHAKEN
            move(tx, derived, new, action=Action.SET_STATUS, reason=reason, actor=WITHDRAWING, now=now)


def _derived_from(tx: Transaction, memory: Memory) -> list[Memory]:
    """Return what dreams have stated because of a memory; derived memories are of the same scope."""
    made = [
        tx.memories.get(edge.source, scope=memory.scope)
        for edge in tx.edges.of(memory.id)
        if edge.target == memory.id and edge.type in (EdgeType.DERIVED_FROM, EdgeType.INFERRED_FROM)
    ]
    return [one for one in made if one is not None and one.status is not Status.ERASED and one.is_derived]


def _brought_back(tx: Transaction, memory: Memory, now: datetime) -> Memory:
    """Return a memory that counts again from now on: nothing replaces it, no date lets go of it at once."""
    if memory.superseded_by is not None:
        tx.edges.remove(memory.superseded_by, memory.id, EdgeType.SUPERSEDES)
    is_over = memory.forget_after is not None and memory.forget_after <= now
    return memory.evolve(
        superseded_by=None,
        valid_to=None,
        confirmed_at=now,
        forget_after=None if is_over else memory.forget_after,
    )


def note_move(
    tx: Transaction, old: Memory, new: Memory, *, action: Action, reason: str, actor: Actor, now: datetime
) -> None:
    """Record that a memory has another status, with all that changed along with it."""
    tx.history.add(
        HistoryEvent(
            memory_id=old.id,
            at=now,
            action=action,
            actor=actor,
            old_status=old.status,
            new_status=new.status,
            reason=reason,
            changes=differences(old, new),
        )
    )
    detail = {"status": new.status}
    tx.audit.add(AuditEvent(at=now, action=action, actor=actor, target=old.id, detail=detail))
