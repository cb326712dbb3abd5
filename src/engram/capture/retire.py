"""
Let one statement take the place of another; the earlier one stays as history, with until when it held.

Called by the gate's write for both directions: `retire` where the new statement replaces a known one,
`precede` where it was made before the one that is known and only comes in later. Either way the chain of what
held is in the order of time, each link ending when the next one begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.capture.conflict import conflict
from engram.capture.settle import as_said
from engram.store.moves import differences, let_go_of_derived
from engram.values import Action, Edge, EdgeType, Status

if TYPE_CHECKING:
    from datetime import datetime

    from engram.capture.apply import Write
    from engram.values import Memory


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
