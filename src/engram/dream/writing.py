"""
One write of a dream: the memories as they are now, and the rows that tell what happened to them.

Handed by `apply` to whatever makes a proposal true. Raising `Dropped` undoes the whole write: the ground of a
proposal has shifted since the step looked, and nothing of it may stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.store.moves import differences
from engram.values import Actor, ActorKind, AuditEvent, HistoryEvent, SecurityTier, Status

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from engram.policy import DreamPolicy
    from engram.store.contract import Transaction
    from engram.values import Action, Memory, MemoryId

ALSO_RECORDED = ("security", "stability", "strength", "supersedes", "version")
"""What a dream changes besides what every change notes."""


class Dropped(Exception):
    """A proposal cannot be made true any more; the message says why, without quoting a memory."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a proposal: whether anything changed, and the memory that was made or gained by it."""

    is_changed: bool
    made: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Writing:
    """An open write of one step."""

    tx: Transaction
    policy: DreamPolicy
    step: str
    now: datetime

    @property
    def actor(self) -> Actor:
        """The step, as history and audit name it."""
        return Actor(f"dream.{self.step}", ActorKind.RULE)

    def again(self, *seen: Memory) -> list[Memory]:
        """Return the memories as they are now; drops the proposal where one is not what the step saw."""
        found = []
        for one in seen:
            current = self.tx.memories.get(one.id, scope=one.scope)
            if current is None or current.scope != seen[0].scope:
                raise Dropped("a memory is gone or of another scope")
            if current.content != one.content or current.status is not one.status:
                raise Dropped("a memory has changed")
            found.append(current)
        return found

    def standing(self, *seen: Memory) -> list[Memory]:
        """Return the memories as they are now; drops the proposal unless all of them are active."""
        found = self.again(*seen)
        if any(one.status is not Status.ACTIVE for one in found):
            raise Dropped("a memory is not active")
        return found

    def refuse_protected(self, memory: Memory) -> None:
        """Drop the proposal where a person holds the memory: pinned it, or brought it back from a rule."""
        if memory.pinned:
            raise Dropped("it is pinned")
        for event in self.tx.history.of(memory.id):
            is_back = event.new_status is Status.ACTIVE and event.old_status is not None
            if is_back and event.actor.kind is not ActorKind.RULE:
                raise Dropped("somebody brought it back")

    def change(
        self, old: Memory, action: Action, reason: str, *, actor: Actor | None = None, **changes: Any
    ) -> Memory:
        """Store a memory with these fields changed, and note it; where nothing changes, nothing is noted."""
        new = old.evolve(**changes)
        if new == old:
            return old
        new = new.evolve(updated_at=self.now)
        self.tx.memories.replace(new)
        self.note(old, new, action, reason, actor=actor)
        return new

    def note(
        self, old: Memory, new: Memory, action: Action, reason: str, *, actor: Actor | None = None
    ) -> None:
        """Record a change in the memory's history and in the audit trail."""
        who, moved = actor or self.actor, old.status is not new.status
        also = {
            name: (getattr(old, name), getattr(new, name))
            for name in ALSO_RECORDED
            if getattr(old, name) != getattr(new, name)
        }
        self.tx.history.add(
            HistoryEvent(
                memory_id=old.id,
                at=self.now,
                action=action,
                actor=who,
                old_status=old.status if moved else None,
                new_status=new.status if moved else None,
                reason=reason,
                changes=differences(old, new) | also,
            )
        )
        detail = {"reason": reason, **({"status": new.status} if moved else {})}
        self.tx.audit.add(AuditEvent(at=self.now, action=action, actor=who, target=old.id, detail=detail))


def strictest(tiers: Iterable[SecurityTier]) -> SecurityTier:
    """Return the tier that protects most."""
    order = list(SecurityTier)
    return max(tiers, key=order.index)


def joined(*some: Iterable[str]) -> tuple[str, ...]:
    """Return every one of these once, in the order of first appearance: new ones stand at the end."""
    return tuple(dict.fromkeys(one for each in some for one in each))


def last_stated(memory: Memory) -> datetime:
    """Return when it was last said, or the moment that it is about where nobody said it again."""
    return max(memory.when, memory.confirmed_at or memory.when)


def evidence(memory: Memory) -> int:
    """Return how often a memory has been stated."""
    return max(1 + memory.reinforcements, len(memory.provenance.turns), len(memory.provenance.episodes))
