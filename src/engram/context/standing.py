"""
What stands whatever the message: pinned memories, identity, skills, hints about the code.

Asked by `build` for every window; reads the store. Looking for them takes a walk through a scope, so they are
kept, with the cursor of the last change, and only memories that changed since are looked at again. Forgetting
is a change, too: what was forgotten is gone from the next window.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.context.lines import may_stand
from engram.values import Filters, Layer, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.policy import ContextPolicy
    from engram.store.contract import Transaction
    from engram.values import Memory, MemoryId, Scope

KINDS_MOST = 200
"""So many of each kind are kept, the newest."""
CHANGES_MOST = 200
"""After more changes than this everything is looked for anew."""
SCOPES_MOST = 32
_NO_SPACE = -1
_NO_WIDTH = 8


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing memories of a scope at a moment."""

    cursor: int
    memories: Mapping[MemoryId, Memory]

    def in_layer(self, layer: Layer) -> list[Memory]:
        """Return those of one layer."""
        return [one for one in self.memories.values() if one.layer is layer]

    def identity(self, policy: ContextPolicy) -> list[Memory]:
        """Return what is pinned or of a category of identity."""
        return [one for one in self.memories.values() if is_identity(one, policy)]


class StandingMemories:
    """Keeps the standing memories of the scopes that were asked for last; safe to share between threads."""

    def __init__(self, policy: ContextPolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._kept: OrderedDict[Scope, Standing] = OrderedDict()

    def of(self, tx: Transaction, scope: Scope) -> Standing:
        """Return the standing memories that a scope may see, as of this transaction."""
        cursor = tx.vectors.latest_change()
        with self._lock:
            known = self._kept.get(scope)
        if known is None or not 0 <= cursor - known.cursor <= CHANGES_MOST:
            known = self._searched(tx, scope, cursor)
        elif cursor != known.cursor:
            known = self._caught_up(tx, scope, known, cursor)
        with self._lock:
            self._kept[scope] = known
            self._kept.move_to_end(scope)
            while len(self._kept) > SCOPES_MOST:
                self._kept.popitem(last=False)
        return known

    def clear(self) -> None:
        """Let go of all; they are looked for anew."""
        with self._lock:
            self._kept.clear()

    def _searched(self, tx: Transaction, scope: Scope, cursor: int) -> Standing:
        narrowed = (
            Filters(categories=frozenset(self._policy.identity_categories)),
            Filters(layers=frozenset({Layer.PROCEDURAL})),
            Filters(layers=frozenset({Layer.CODEBASE})),
        )
        found = [
            memory
            for filters in narrowed
            for memory in tx.memories.list(scope=scope, filters=filters, limit=KINDS_MOST, before=None)
        ]
        pinned = tx.memories.pinned(scope=scope, limit=KINDS_MOST)
        return Standing(cursor, {one.id: one for one in [*pinned, *found] if may_stand(one)})

    def _caught_up(self, tx: Transaction, scope: Scope, known: Standing, cursor: int) -> Standing:
        """Return what stands after the changes since then: only what changed is read."""
        changed = tx.vectors.changes(
            _NO_SPACE, dimension=_NO_WIDTH, since=known.cursor, limit=CHANGES_MOST + 1
        )
        memories = dict(known.memories)
        for memory in tx.memories.by_keys([int(key) for key in changed.keys]).values():
            memories.pop(memory.id, None)
            if scope.sees(memory.scope) and may_stand(memory) and self._stands(memory):
                memories[memory.id] = memory
        return Standing(cursor, memories)

    def _stands(self, memory: Memory) -> bool:
        is_active = memory.status is Status.ACTIVE
        in_layer = memory.layer in (Layer.PROCEDURAL, Layer.CODEBASE)
        return is_active and (in_layer or is_identity(memory, self._policy))


def is_identity(memory: Memory, policy: ContextPolicy) -> bool:
    """Say whether a memory belongs to who the agent and the user are."""
    return memory.pinned or memory.category in policy.identity_categories


def best_first(memories: Iterable[Memory]) -> list[Memory]:
    """Return standing memories in the order that they are given room: pinned, weighty, proven, newest."""
    return sorted(memories, key=lambda one: (one.pinned, weight(one), one.created_at), reverse=True)


def weight(memory: Memory) -> float:
    """Return how much a standing memory matters, from its importance and from how often it worked."""
    runs = memory.successes + memory.failures
    worked = memory.successes / runs if runs else 0.5
    return 1.0 if memory.pinned else 0.3 + 0.4 * memory.importance + 0.3 * worked
