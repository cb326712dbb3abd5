"""
Change a stored memory on somebody's word: its status, layer, pin, labels and links.

Each change is one write. With `expected_version`, the memory as the caller read it, the write first checks
that it is unchanged. A new text in place of an old one is `admission.correct`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
from engramdb.lifecycle.displaced import displaced_by, reinstate, reinstate_displaced
from engramdb.lifecycle.drafts import check_category, check_share
from engramdb.lifecycle.guard import may_move, refuse_agent
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Store, Transaction
from engramdb.values import (
    BELIEVED,
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
    SecurityTier,
    Status,
)
from engramdb.values.memory import INJECTION, QUARANTINED, Detail, Traits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_DOING: Final = {
    Status.FORGOTTEN: "forget",
    Status.PRUNED: "remove",
    Status.ARCHIVED: "archive",
    Status.INVALIDATED: "invalidate",
    Status.SUPERSEDED: "retire",
    Status.MERGED: "retire",
}
"""What moving a memory to a status is called; to let it hold settles a dispute about it."""
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
    if _without_words(seen) != _without_words(memory):
        raise MemoryChanged(f"memory {memory.id} is no longer as it was seen")


def _without_words(memory: Memory) -> Memory:
    """Return a confidential memory as it compares to one that was shown masked; words never change alone."""
    if memory.security is not SecurityTier.CONFIDENTIAL:
        return memory.stated
    blank = dict.fromkeys(("statement", "verbatim", "answers", "subject", "object", "replaces"))
    lists = dict.fromkeys(("refers_to", "claims", "moments"), ())
    return memory.stated.evolve(content="", detail=Detail(), traits=Traits(), **blank, **lists)


class ChangeRequest(Struct, frozen=True, kw_only=True):
    """Who changes a memory, in which scope, when and why; maybe only if it is unchanged since it was read."""

    store: Store
    scope: Scope
    actor: Actor
    now: datetime
    reason: str = ""
    expected_version: Memory | None = None

    @contextmanager
    def open(self, memory_id: MemoryId) -> Iterator[tuple[MemoryWriter, Memory]]:
        """Open a write, with the memory as it is in it."""
        with self.store.atomic() as tx:
            memory = find_own(tx, memory_id, self.scope, expected_version=self.expected_version)
            yield MemoryWriter(tx, self.actor, self.now), memory


def set_status(
    memory_id: MemoryId,
    status: Status,
    request: ChangeRequest,
    *,
    action: Action,
    reinstates: bool = False,
) -> tuple[Memory, list[Memory]]:
    """
    Move a memory to another status, and return it as it is now and what it had displaced.

    If it `reinstates`, what a memory had displaced that leaves now counts again.
    """
    with request.open(memory_id) as (writer, memory):
        if status is Status.ERASED:
            raise StatusNotAllowed("erasing is more than a status", hint="Use `erase`.")
        if not may_move(memory, status, request.actor):
            refuse_agent(memory, request.actor, _DOING.get(status, "settle"))
        is_leaving = memory.status in BELIEVED and status not in BELIEVED
        displaced = displaced_by(writer.tx, memory) if is_leaving else []
        if status is Status.FORGOTTEN:
            moved = writer.forget(memory, action=action, reason=request.reason)
        else:
            moved = writer.set_status(memory, status, action=action, reason=request.reason)
        if reinstates and displaced:
            displaced = reinstate_displaced(writer, moved)
        return moved, displaced


def restore(memory_id: MemoryId, request: ChangeRequest) -> Memory:
    """Let a memory count again that is gone or was superseded; only a person can where that was meant."""
    with request.open(memory_id) as (writer, memory):
        if not memory.status.is_terminal:
            raise StatusNotAllowed(f"memory {memory_id} is {memory.status}: nothing is to be restored")
        moves = [event for event in writer.tx.history.of(memory_id) if event.new_status is memory.status]
        is_meant = bool(moves) and moves[-1].actor.kind is not ActorKind.RULE
        if is_meant and request.actor.kind is not ActorKind.PERSON:
            raise StatusNotAllowed(
                f"memory {memory_id} was not removed by a rule but by {moves[-1].actor.name!r}",
                hint="Only a person can bring it back.",
            )
        if memory.status is Status.SUPERSEDED:
            return reinstate(writer, memory, reason=request.reason, confirmed_at=request.now)
        return writer.set_status(memory, Status.ACTIVE, action=Action.RESTORE, reason=request.reason)


def set_layer(memory_id: MemoryId, layer: Layer | None, request: ChangeRequest, *, up: bool) -> Memory:
    """Put a memory into a layer, or one step up or down, where rules then leave it."""
    with request.open(memory_id) as (writer, memory):
        wanted = layer or _next_layer(memory.layer, up=up)
        if wanted is memory.layer:
            raise StatusNotAllowed(f"memory {memory_id} is in the {wanted} layer already")
        return writer.set_layer(memory, wanted, reason=request.reason, is_held=True)


def _next_layer(layer: Layer, *, up: bool) -> Layer:
    """Return the layer above or below on the way from working memory to knowledge; the ends stay."""
    if layer not in _LADDER:
        return layer if up else Layer.EPISODIC
    place = _LADDER.index(layer) + (1 if up else -1)
    return _LADDER[min(max(place, 0), len(_LADDER) - 1)]


def give_feedback(
    memory_id: MemoryId,
    request: ChangeRequest,
    *,
    is_helpful: bool,
    question: bytes | None,
    vector: NDArray[np.float32] | None,
    identity: EmbedderIdentity | None,
) -> Memory:
    """Note that a memory helped or did not, for a question stored as fingerprint and vector alone."""
    with request.open(memory_id) as (writer, memory):
        changed, key = writer.count_feedback(memory, is_helpful=is_helpful)
        space = None if identity is None else writer.tx.vectors.space(identity)
        writer.tx.feedback.add(
            key, at=request.now, is_helpful=is_helpful, question=question, space=space, vector=vector
        )
        return changed


def set_pinned(memory_id: MemoryId, request: ChangeRequest, *, pinned: bool) -> Memory:
    """Make a memory immune to every automatic loss, or no longer so."""
    with request.open(memory_id) as (writer, memory):
        if memory.pinned is pinned:
            return memory
        if memory.status is Status.ERASED:
            raise StatusNotAllowed(f"memory {memory.id} was erased: nothing is left to pin")
        if not pinned:
            refuse_agent(memory, request.actor, "unpin")
        return writer.update(memory, Action.PIN if pinned else Action.UNPIN, pinned=pinned)


def release(memory_id: MemoryId, request: ChangeRequest) -> Memory:
    """Let a memory that was held back as suspicious into automatic windows; only a person may."""
    with request.open(memory_id) as (writer, memory):
        if request.actor.kind is not ActorKind.PERSON:
            raise AccessDenied(
                f"memory {memory.id} was held back: only a person may release it",
                hint="Tell the user, who can do it with `engram release`.",
            )
        if memory.status.is_terminal:
            raise StatusNotAllowed(f"memory {memory_id} is {memory.status}: there is nothing to release")
        flags = tuple(flag for flag in memory.flags if flag not in (INJECTION, QUARANTINED))
        return writer.update(memory, Action.RELEASE, reason=request.reason, flags=flags)


def count_run(memory_id: MemoryId, request: ChangeRequest, *, is_success: bool) -> Memory:
    """Count one more success or failure of a procedure, and return it as it is now."""
    with request.open(memory_id) as (writer, memory):
        name = "successes" if is_success else "failures"
        return writer.update(memory, Action.COUNT, **{name: getattr(memory, name) + 1})


def relabel(
    memory_id: MemoryId,
    request: ChangeRequest,
    *,
    category: str | None = None,
    importance: float | None = None,
) -> Memory:
    """Give a memory another category, another importance or both, and return it as it is now."""
    with request.open(memory_id) as (writer, memory):
        if memory.status.is_terminal:
            raise StatusNotAllowed(f"memory {memory_id} is {memory.status} and cannot be relabelled")
        new: dict[str, Any] = {}
        if category is not None:
            check_category(category)
            new["category"] = category
        if importance is not None:
            check_share("importance", importance)
            new["importance"] = importance
        return writer.update(memory, Action.RELABEL, reason=request.reason, **new)


# Link two memories by hand, or take such a link away.
#
# Admission and dreams set links of their own, with other words (`supersedes`, `derived_from`, …) that only
# they may use; a person or an agent says the ones in `SAID`. Recall follows a link at once.

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


def link_memories(
    source: MemoryId, target: MemoryId, kind: EdgeType, request: ChangeRequest, *, weight: float
) -> Edge:
    """Link a memory of this scope to one that it may see; said again, it replaces the weight."""
    _check_kind(kind)
    with request.open(source) as (writer, own):
        other = find(writer.tx, target, request.scope)
        return link_found(writer, own, other, kind, weight=weight, reason=request.reason, scope=request.scope)


def link_found(
    writer: MemoryWriter,
    source: Memory,
    target: Memory,
    kind: EdgeType,
    *,
    weight: float,
    reason: str,
    scope: Scope,
) -> Edge:
    """Link two memories, with a row in the history of each; raises `EdgeNotAllowed` for one that is gone."""
    for memory in (source, target):
        if memory.status in GONE:
            raise EdgeNotAllowed(f"memory {memory.id} is {memory.status} and cannot be linked")
    edge = writer.link(source, target, kind, weight=weight)
    writer.note_link(source, target, kind, action=Action.LINK, reason=reason, within=scope)
    return edge


def unlink_memories(source: MemoryId, target: MemoryId, kind: EdgeType, request: ChangeRequest) -> bool:
    """Take away a link that was said; returns whether it was there."""
    _check_kind(kind)
    with request.open(source) as (writer, own):
        other = find(writer.tx, target, request.scope)
        said = {(edge.source, edge.target, edge.type) for edge in writer.tx.edges.of(source)}
        if (source, target, kind) not in said:
            return False
        if kind is EdgeType.CONTRADICTS:
            for one in (own, other):
                refuse_agent(one, request.actor, "settle a dispute about")
        writer.unlink(source, target, kind)
        writer.note_link(own, other, kind, action=Action.UNLINK, reason=request.reason, within=request.scope)
        return True


def _check_kind(kind: EdgeType) -> None:
    if kind not in SAID:
        raise EdgeNotAllowed(
            f"{kind} is a link that only the engine sets", hint=f"Say one of {', '.join(SAID)}."
        )
