"""
Which of two statements was made later?

Asked by the gate where a statement contradicts what is known: the later one holds. A statement is made when
it is said, which for a turn is the moment of the turn: "the deadline is in May" is about May, and still gives
way to what is said next about it. Elsewhere it is the moment that the door gave, never after it was stored.
Why not simply the moment that a statement is about: docs/decisions/0011-moments.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from engram.store.contract import Transaction
    from engram.values import Memory, MemoryId


class Order:
    """Says what was stated after what, inside one write; remembers the turns that it looked up."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._said: dict[MemoryId, datetime] = {}

    def is_later(self, memory: Memory, than: datetime) -> bool:
        """Say whether a memory was stated, or stated again, after a moment."""
        confirmed = memory.confirmed_at
        if memory.created_at <= than and (confirmed is None or confirmed <= than):
            return False  # so it is for all that is said now: nothing needs to be looked up
        said = self._said_at(memory)
        return max(said, confirmed or said) > than

    def _said_at(self, memory: Memory) -> datetime:
        if memory.id not in self._said:
            self._said[memory.id] = min(self._turn_of(memory) or _held_from(memory), memory.created_at)
        return self._said[memory.id]

    def _turn_of(self, memory: Memory) -> datetime | None:
        """Return when the turn was said that a memory was read out of; a correction of it has none."""
        if memory.extractor is None or not memory.provenance.turns:
            return None
        return self._tx.turns.said_at(memory.provenance.turns[0], scope=memory.scope)


def _held_from(memory: Memory) -> datetime:
    return memory.valid_from or memory.when
