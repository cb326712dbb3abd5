"""
Change a stored memory on somebody's word: its status, layer, pin, labels and links.

Each change is one write. With `expected_version`, the memory as the caller read it, the write first checks
that it is unchanged. A new text in place of an old one is `admission.correct`.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from engramdb.errors import (
    AccessDenied,
    EdgeNotAllowed,
    InvalidQuery,
    MemoryChanged,
    MemoryNotFound,
    StatusNotAllowed,
)
from engramdb.lifecycle.drafts import check_category, check_share
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Store, Transaction
from engramdb.values import (
    Action,
    Actor,
    ActorKind,
    Edge,
    EdgeType,
    EmbedderIdentity,
    Layer,
    Memory,
    MemoryId,
    Scope,
    Status,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_LADDER = (Layer.WORKING, Layer.EPISODIC, Layer.SEMANTIC)


def find(tx: Transaction, memory_id: MemoryId, scope: Scope) -> Memory:
    """Return the memory; raises `MemoryNotFound` where this scope may not see it."""
    memory = tx.memories.get(memory_id, scope=scope)
    if memory is None:
        raise MemoryNotFound(f"no memory {memory_id!r} is visible in scope {scope}")
    return memory


def find_own(
    tx: Transaction, memory_id: MemoryId, scope: Scope, *, expected_version: Memory | None = None
) -> Memory:
    """
    Return a memory of exactly this scope; raises `AccessDenied` for one that may only be seen.

    With `expected_version` it must be unchanged since, else `MemoryChanged`.
    """
    memory = find(tx, memory_id, scope)
    if memory.scope != scope:
        raise AccessDenied(f"memory {memory_id} belongs to scope {memory.scope}, not to {scope}")
    if expected_version is not None:
        _check_still(memory, expected_version)
    return memory


def _check_still(memory: Memory, seen: Memory) -> None:
    if not isinstance(seen, Memory):
        raise InvalidQuery(
            f"expected_version takes a Memory, not {type(seen).__name__}",
            hint="Pass the memory as you read it.",
        )
    if seen.id != memory.id:
        raise InvalidQuery(f"expected_version is memory {seen.id}, and {memory.id} is to be changed")
    if seen.stated != memory.stated:
        raise MemoryChanged(f"memory {memory.id} is no longer as it was seen")


def set_status(
    memory_id: MemoryId,
    status: Status,
    *,
    store: Store,
    scope: Scope,
    reason: str,
    action: Action,
    actor: Actor,
    now: datetime,
    expected_version: Memory | None = None,
) -> Memory:
    """Move a memory to another status and return it as it is now."""
    with store.atomic() as tx:
        memory = find_own(tx, memory_id, scope, expected_version=expected_version)
        if status is Status.ERASED:
            raise StatusNotAllowed("erasing is more than a status", hint="Use `erase`.")
        return MemoryWriter(tx, actor, now).set_status(memory, status, action=action, reason=reason)


def restore(
    memory_id: MemoryId,
    *,
    store: Store,
    scope: Scope,
    reason: str,
    actor: Actor,
    now: datetime,
    expected_version: Memory | None = None,
) -> Memory:
    """Bring back what a rule removed; what a person removed needs `set_status` and a reason of its own."""
    with store.atomic() as tx:
        memory = find_own(tx, memory_id, scope, expected_version=expected_version)
        if not memory.status.is_terminal:
            raise StatusNotAllowed(f"memory {memory_id} is {memory.status}: nothing is to be restored")
        moves = [event for event in tx.history.of(memory_id) if event.new_status is memory.status]
        if moves and moves[-1].actor.kind is not ActorKind.RULE:
            raise StatusNotAllowed(
                f"memory {memory_id} was not removed by a rule but by {moves[-1].actor.name!r}",
                hint="Set its status to active instead, with a reason: `engram set-status`.",
            )
        writer = MemoryWriter(tx, actor, now)
        return writer.set_status(memory, Status.ACTIVE, action=Action.RESTORE, reason=reason)


def set_layer(
    memory_id: MemoryId,
    layer: Layer | None,
    *,
    up: bool,
    store: Store,
    scope: Scope,
    reason: str,
    actor: Actor,
    now: datetime,
    expected_version: Memory | None = None,
) -> Memory:
    """Put a memory into a layer, or one step up or down, where rules then leave it."""
    with store.atomic() as tx:
        memory = find_own(tx, memory_id, scope, expected_version=expected_version)
        wanted = layer or _next_layer(memory.layer, up=up)
        if wanted is memory.layer:
            raise StatusNotAllowed(f"memory {memory_id} is in the {wanted} layer already")
        return MemoryWriter(tx, actor, now).set_layer(memory, wanted, reason=reason, is_held=True)


def _next_layer(layer: Layer, *, up: bool) -> Layer:
    """Return the layer above or below on the way from working memory to knowledge; the ends stay."""
    if layer not in _LADDER:
        return layer if up else Layer.EPISODIC
    place = _LADDER.index(layer) + (1 if up else -1)
    return _LADDER[min(max(place, 0), len(_LADDER) - 1)]


def give_feedback(
    memory_id: MemoryId,
    *,
    is_helpful: bool,
    question: bytes | None,
    vector: NDArray[np.float32] | None,
    identity: EmbedderIdentity | None,
    store: Store,
    scope: Scope,
    actor: Actor,
    now: datetime,
    expected_version: Memory | None = None,
) -> Memory:
    """Note that a memory helped or did not, for a question of which only fingerprint and vector are kept."""
    with store.atomic() as tx:
        memory = find_own(tx, memory_id, scope, expected_version=expected_version)
        changed, key = MemoryWriter(tx, actor, now).count_feedback(memory, is_helpful=is_helpful)
        space = None if identity is None else tx.vectors.space(identity)
        tx.feedback.add(key, at=now, is_helpful=is_helpful, question=question, space=space, vector=vector)
        return changed


def set_pinned(
    memory_id: MemoryId,
    *,
    pinned: bool,
    store: Store,
    scope: Scope,
    actor: Actor,
    now: datetime,
    expected_version: Memory | None = None,
) -> Memory:
    """Make a memory immune to every automatic loss, or no longer so."""
    with store.atomic() as tx:
        memory = find_own(tx, memory_id, scope, expected_version=expected_version)
        if memory.pinned is pinned:
            return memory
        if memory.status is Status.ERASED:
            raise StatusNotAllowed(f"memory {memory.id} was erased: nothing is left to pin")
        action = Action.PIN if pinned else Action.UNPIN
        return MemoryWriter(tx, actor, now).update(memory, action, pinned=pinned)


def count_run(
    memory_id: MemoryId, *, is_success: bool, store: Store, scope: Scope, actor: Actor, now: datetime
) -> Memory:
    """Count one more success or failure of a procedure, and return it as it is now."""
    with store.atomic() as tx:
        memory = find_own(tx, memory_id, scope)
        name = "successes" if is_success else "failures"
        counted = {name: getattr(memory, name) + 1}
        return MemoryWriter(tx, actor, now).update(memory, Action.COUNT, **counted)


def relabel(
    memory_id: MemoryId,
    *,
    category: str | None = None,
    importance: float | None = None,
    store: Store,
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
        if "category" in new:
            check_category(new["category"])
        if "importance" in new:
            check_share("importance", new["importance"])
        return MemoryWriter(tx, actor, now).update(memory, Action.RELABEL, reason=reason, **new)


# Link two memories by hand, or take such a link away.
#
# Called by the engine. Admission and the dream set links of their own, with other words (`supersedes`,
# `derived_from`, …) that only they may use; a person or an agent says the ones in `SAID`. A link is written
# with a row in the history of each end and one in the audit; recall follows it at once.

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


class Speaker(Struct, frozen=True):
    """Who links, from which scope, when, and why; maybe only if the memory still is as it was seen."""

    scope: Scope
    actor: Actor
    now: datetime
    reason: str = ""
    expected_version: Memory | None = None


def link_memories(
    source: MemoryId, target: MemoryId, kind: EdgeType, *, weight: float, store: Store, speaker: Speaker
) -> Edge:
    """Link a memory of this scope to one that it may see; said again, it replaces the weight."""
    _check_kind(kind)
    with store.atomic() as tx:
        ends = _ends(tx, source, target, speaker)
        return link_found(tx, *ends, kind, weight=weight, speaker=speaker)


def link_found(
    tx: Transaction, source: Memory, target: Memory, kind: EdgeType, *, weight: float, speaker: Speaker
) -> Edge:
    """Link two memories, with a row in the history of each; raises `EdgeNotAllowed` for one that is gone."""
    for memory in (source, target):
        if memory.status in GONE:
            raise EdgeNotAllowed(f"memory {memory.id} is {memory.status} and cannot be linked")
    writer = MemoryWriter(tx, speaker.actor, speaker.now)
    edge = writer.link(source, target, kind, weight=weight)
    writer.note_link(source, target, kind, action=Action.LINK, reason=speaker.reason, within=speaker.scope)
    return edge


def unlink_memories(
    source: MemoryId, target: MemoryId, kind: EdgeType, *, store: Store, speaker: Speaker
) -> bool:
    """Take away a link that was said; returns whether it was there."""
    _check_kind(kind)
    with store.atomic() as tx:
        ends = _ends(tx, source, target, speaker)
        said = {(edge.source, edge.target, edge.type) for edge in tx.edges.of(source)}
        if (source, target, kind) not in said:
            return False
        writer = MemoryWriter(tx, speaker.actor, speaker.now)
        writer.unlink(source, target, kind)
        writer.note_link(*ends, kind, action=Action.UNLINK, reason=speaker.reason, within=speaker.scope)
        return True


def _check_kind(kind: EdgeType) -> None:
    if kind not in SAID:
        raise EdgeNotAllowed(
            f"{kind} is a link that only the engine sets", hint=f"Say one of {', '.join(SAID)}."
        )


def _ends(tx: Transaction, source: MemoryId, target: MemoryId, speaker: Speaker) -> tuple[Memory, Memory]:
    own = find_own(tx, source, speaker.scope, expected_version=speaker.expected_version)
    return own, find(tx, target, speaker.scope)
