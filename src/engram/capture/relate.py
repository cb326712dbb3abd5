"""
Link two memories by hand, or take such a link away.

Called by the engine. The gate and the dream set links of their own, with other words (`supersedes`,
`derived_from`, …) that only they may use; a person or an agent says the ones in `SAID`. A link is written
with a row in the history of each end and one in the audit; recall follows it at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engram.capture.change import find, find_own
from engram.errors import EdgeNotAllowed
from engram.values import Action, AuditEvent, Edge, EdgeType, HistoryEvent, Status

if TYPE_CHECKING:
    from datetime import datetime

    from engram.store.contract import Store, Transaction
    from engram.values import Actor, Memory, MemoryId, Scope

SAID: Final = (
    EdgeType.RELATED_TO,
    EdgeType.SUPPORTS,
    EdgeType.CONTRADICTS,
    EdgeType.CAUSED_BY,
    EdgeType.INSTANCE_OF,
)
"""What may be said of two memories from outside."""
GONE = frozenset({Status.FORGOTTEN, Status.ERASED})
"""What is not linked to anything any more."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who links, from which scope, when, and why; maybe only if the memory still is as it was seen."""

    scope: Scope
    actor: Actor
    now: datetime
    reason: str = ""
    if_still: Memory | None = None


def relate(
    source: MemoryId, target: MemoryId, kind: EdgeType, *, weight: float, store: Store, speaker: Speaker
) -> Edge:
    """Link a memory of this scope to one that it may see; said again, it replaces the weight."""
    _check_kind(kind)
    with store.atomic() as tx:
        ends = _ends(tx, source, target, speaker)
        for memory in ends:
            if memory.status in GONE:
                raise EdgeNotAllowed(f"memory {memory.id} is {memory.status} and cannot be linked")
        edge = Edge(source=source, target=target, type=kind, weight=weight, created_at=speaker.now)
        tx.edges.add(edge)
        _note(tx, ends, Action.RELATE, kind, speaker)
        return edge


def unrelate(source: MemoryId, target: MemoryId, kind: EdgeType, *, store: Store, speaker: Speaker) -> bool:
    """Take away a link that was said; returns whether it was there."""
    _check_kind(kind)
    with store.atomic() as tx:
        ends = _ends(tx, source, target, speaker)
        said = {(edge.source, edge.target, edge.type) for edge in tx.edges.of(source)}
        if (source, target, kind) not in said:
            return False
        tx.edges.remove(source, target, kind)
        _note(tx, ends, Action.UNRELATE, kind, speaker)
        return True


def _check_kind(kind: EdgeType) -> None:
    if kind not in SAID:
        raise EdgeNotAllowed(
            f"{kind} is a link that only the engine sets", hint=f"Say one of {', '.join(SAID)}."
        )


def _ends(tx: Transaction, source: MemoryId, target: MemoryId, speaker: Speaker) -> tuple[Memory, Memory]:
    own = find_own(tx, source, speaker.scope, if_still=speaker.if_still)
    return own, find(tx, target, speaker.scope)


def _note(
    tx: Transaction, ends: tuple[Memory, Memory], action: Action, kind: EdgeType, speaker: Speaker
) -> None:
    """Write the link into the history of both ends, as far as they are this scope's, and into the audit."""
    source, target = ends
    for memory, other, name in ((source, target, "link_to"), (target, source, "link_from")):
        if memory.scope != speaker.scope:
            continue
        link = f"{kind} {other.id}"
        tx.history.add(
            HistoryEvent(
                memory_id=memory.id,
                at=speaker.now,
                action=action,
                actor=speaker.actor,
                reason=speaker.reason,
                changes={name: (None, link) if action is Action.RELATE else (link, None)},
            )
        )
    tx.audit.add(
        AuditEvent(
            at=speaker.now,
            action=action,
            actor=speaker.actor,
            target=source.id,
            detail={"other": target.id, "type": kind.value},
        )
    )
