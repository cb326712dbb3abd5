"""
What a memory has displaced by superseding it, and how that is reinstated when the memory was wrong.

Exactly what the displacement changed is taken back: status, end of validity, successor and the link. What was
only disputed holds again by itself as soon as nothing disputes it any more.
"""

from __future__ import annotations

from typing import Any

from engramdb.lifecycle.recorded import without_event
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Transaction
from engramdb.values import Action, EdgeType, HistoryEvent, Memory, MemoryId, Status

REINSTATED = "what displaced it was taken back"


def displaced_by(tx: Transaction, memory: Memory) -> list[Memory]:
    """Return what does not count any more because a memory superseded it."""
    edges = [one for one in tx.edges.of(memory.id) if one.source == memory.id]
    found = (
        tx.memories.get(one.target, scope=memory.scope) for one in edges if one.type is EdgeType.SUPERSEDES
    )
    return [
        one
        for one in found
        if one is not None
        and one.scope == memory.scope
        and one.status is Status.SUPERSEDED
        and one.superseded_by == memory.id
    ]


def reinstate_displaced(writer: MemoryWriter, memory: Memory, *, reason: str = REINSTATED) -> list[Memory]:
    """Let what a memory has displaced count again as before, and return it as it is now."""
    return [reinstate(writer, one, reason=reason) for one in displaced_by(writer.tx, memory)]


def reinstate(writer: MemoryWriter, memory: Memory, *, reason: str, **changes: Any) -> Memory:
    """Let a memory count again that was superseded; raises `StatusNotAllowed` where another says the same."""
    writer.refuse_active_twin(memory)
    successor = memory.superseded_by
    before = memory
    for event in reversed(writer.tx.history.of(memory.id)):
        if _is_displacement(event, successor):
            before = without_event(before, event)
    if successor is not None:
        writer.unlink(successor, memory.id, EdgeType.SUPERSEDES)
    if before.superseded_by == successor:  # rows of the first versions do not say what was there before
        changes |= {"superseded_by": None, "valid_to": None}
    back = before.evolve(status=Status.ACTIVE, updated_at=writer.now, **changes)
    return writer.write(memory, back, action=Action.RESTORE, reason=reason)


def _is_displacement(event: HistoryEvent, successor: MemoryId | None) -> bool:
    _, named = event.changes.get("superseded_by", (None, None))
    return named is not None and bool(named == successor)
