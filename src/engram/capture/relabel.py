"""
Change what a memory is filed under: its category and how important it is.

Called by the engine for a person who says so, such as in the notebook. One write with the memory, its history
and the audit row; the words stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.capture.change import find_own
from engram.capture.draft import Draft, checked
from engram.errors import StatusNotAllowed
from engram.values import Action, AuditEvent, HistoryEvent

if TYPE_CHECKING:
    from datetime import datetime

    from engram.policy import CapturePolicy
    from engram.store.contract import Store
    from engram.values import Actor, Memory, MemoryId, Scope


def relabel(
    memory_id: MemoryId,
    *,
    category: str | None = None,
    importance: float | None = None,
    store: Store,
    policy: CapturePolicy,
    scope: Scope,
    reason: str,
    actor: Actor,
    now: datetime,
) -> Memory:
    """Give a memory another category, another importance or both, and return it as it is now."""
    with store.atomic() as tx:
        memory = find_own(tx, memory_id, scope)
        if memory.status.is_terminal:
            raise StatusNotAllowed(f"memory {memory_id} is {memory.status} and cannot be relabelled")
        wanted = {"category": category, "importance": importance}
        new: dict[str, Any] = {
            name: value
            for name, value in wanted.items()
            if value is not None and value != getattr(memory, name)
        }
        if not new:
            return memory
        changed = memory.evolve(**new, updated_at=now)
        checked(Draft(content="-", category=changed.category, importance=changed.importance), policy)
        tx.memories.replace(changed)
        changes = {name: (getattr(memory, name), value) for name, value in new.items()}
        tx.history.add(
            HistoryEvent(
                memory_id=memory_id,
                at=now,
                action=Action.RELABEL,
                actor=actor,
                reason=reason,
                changes=changes,
            )
        )
        tx.audit.add(AuditEvent(at=now, action=Action.RELABEL, actor=actor, target=memory_id))
        return changed
