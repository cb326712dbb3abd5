"""
The verbs of links: relate two memories, take it back, and tell what a memory is linked to.

Part of `Engram`. What links do to answers is in `recall`; which links the gate and the dream set is theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.capture.change import find
from engram.capture.draft import chosen
from engram.capture.relate import Speaker, relate, unrelate
from engram.engine.handle import Handle
from engram.values import EdgeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.values import Edge, Memory, MemoryId, Scope


class Links(Handle):
    """Verbs about two memories."""

    def relate(
        self,
        memory_id: MemoryId,
        other: MemoryId,
        *,
        type: EdgeType = EdgeType.RELATED_TO,  # noqa: A002 - the word users know
        weight: float = 1.0,
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Edge:
        """
        Say how a memory relates to another: it supports or contradicts it, was caused by it, is an instance
        of it, or has to do with it.

        Recall follows the link at once, and tells of a contradiction. Said again, it replaces the weight.
        """
        return relate(
            self._resolve(memory_id, scope),
            self._resolve(other, scope),
            chosen(EdgeType, type),
            weight=weight,
            store=self._parts.store,
            speaker=self._speaker(reason, scope, if_still),
        )

    def unrelate(
        self,
        memory_id: MemoryId,
        other: MemoryId,
        *,
        type: EdgeType = EdgeType.RELATED_TO,  # noqa: A002 - the word users know
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> bool:
        """Take such a link away; returns whether it was there."""
        return unrelate(
            self._resolve(memory_id, scope),
            self._resolve(other, scope),
            chosen(EdgeType, type),
            store=self._parts.store,
            speaker=self._speaker(reason, scope, if_still),
        )

    def links(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Sequence[Edge]:
        """Return the links that leave or reach a memory and whose other end this scope may see."""
        place, target = self._in(scope), self._resolve(memory_id, scope)
        with self._parts.store.read() as tx:
            find(tx, target, place)
            return [
                edge
                for edge in tx.edges.of(target)
                if tx.memories.get(edge.target if edge.source == target else edge.source, scope=place)
            ]

    def _speaker(self, reason: str, scope: Scope | None, if_still: Memory | None) -> Speaker:
        return Speaker(self._in(scope), self._actor, self._now(), reason, if_still)
