"""
What erasing has to reach beside a memory's own row: evidence, conclusions, notes, questions, minds, names.

Part of `store.contract`; used by `capture.erase` alone. Everything here stays inside one scope, and nothing
can be taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.values import Memory, MemoryId, Scope, TurnId


class Erasures(Protocol):
    """Finds what holds the words of a memory or of a user, and takes it away."""

    def kin(self, memory: Memory) -> Sequence[Memory]:
        """Return what says the same as a memory, was merged into it or concluded from it, in its scope."""
        ...

    def evidence(self, memory: Memory) -> Sequence[TurnId]:
        """
        Return the turns that a memory was read from, and those of its scope that hold it word for word.

        What was concluded from other memories was read from none.
        """
        ...

    def minds(self, references: Sequence[str], texts: Sequence[str], *, scope: Scope) -> Sequence[Scope]:
        """Return whose minds, in a scope and narrower ones, point to one of these or hold such words."""
        ...

    def count_gaps(self, memory_ids: Sequence[MemoryId]) -> int:
        """Return how many questions, open or closed, are about any of these memories."""
        ...

    def strike(self, memory_id: MemoryId, *, now: datetime) -> None:
        """Take away what is noted about a memory: feedback, questions, reasons, the topics of its box."""
        ...

    def drop_minds(self, scopes: Sequence[Scope]) -> None:
        """Drop the minds of exactly these scopes."""
        ...

    def drop_turns(self, turn_ids: Sequence[TurnId]) -> int:
        """Drop turns with their words, and return how many there were."""
        ...

    def scopes_within(self, scope: Scope) -> Sequence[Scope]:
        """Return the scope and every narrower one, those in which something was ever stored."""
        ...

    def memories_in(self, scope: Scope) -> Sequence[Memory]:
        """Return every memory of exactly this scope that is not erased."""
        ...

    def count_turns(self, scope: Scope) -> int:
        """Return how many turns exactly this scope has."""
        ...

    def count_gaps_in(self, scope: Scope) -> int:
        """Return how many questions exactly this scope has, open or closed."""
        ...

    def clear(self, scope: Scope) -> None:
        """Drop turns, questions, summaries, boxes, minds and names of exactly this scope."""
        ...

    def rename_user(self, scope: Scope, token: str) -> None:
        """Put a token in the place of the user's name, in the scope, every narrower one, and their trail."""
        ...
