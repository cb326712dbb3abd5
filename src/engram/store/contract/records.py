"""
The tables of what happened: history, audit, feedback, recalls and sweeps.

Part of `store.contract`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.aging.population import Population
    from engram.store.contract.shapes import Objection, Recalled, Sweep
    from engram.values import (
        AuditEvent,
        HistoryEvent,
        MemoryId,
        Scope,
    )


class History(Protocol):
    """What happened to each memory."""

    def add(self, event: HistoryEvent) -> None:
        """Record a change."""
        ...

    def of(self, memory_id: MemoryId) -> list[HistoryEvent]:
        """Return a memory's changes, oldest first."""
        ...

    def since(self, memory_ids: Sequence[MemoryId], moment: datetime) -> dict[MemoryId, list[HistoryEvent]]:
        """Return what happened to these memories after a moment, oldest first, where anything did."""
        ...


class Audit(Protocol):
    """Who did what in the store."""

    def add(self, event: AuditEvent) -> None:
        """Record an action."""
        ...

    def recent(self, *, limit: int, before: int | None = None) -> list[AuditEvent]:
        """Return the latest actions, newest first, or those before the one with a number."""
        ...


class Feedback(Protocol):
    """Which memory helped or did not, and for what kind of question."""

    def add(
        self,
        key: int,
        *,
        at: datetime,
        is_helpful: bool,
        question: bytes | None,
        space: int | None,
        vector: NDArray[np.float32] | None,
    ) -> None:
        """Note that a memory helped or did not; the question is its fingerprint and its vector."""
        ...

    def against(self, keys: Sequence[int], *, since: datetime) -> list[Objection]:
        """Return the questions for which these memories were of no help since then."""
        ...


class Ages(Protocol):
    """Memories as the columns that ageing computes with, and the count of their recalls."""

    def page(
        self,
        *,
        after_key: int,
        limit: int,
        scope: Scope | None = None,
        session_ends: Mapping[tuple[int, str], int] | None = None,
    ) -> Population:
        """Return the next memories that can age, of the whole store or of what a scope may see."""
        ...

    def of(
        self, keys: Sequence[int], *, session_ends: Mapping[tuple[int, str], int] | None = None
    ) -> Population:
        """Return these memories, where they can still age."""
        ...

    def session_ends(self, *, before: int) -> dict[tuple[int, str], int]:
        """Return when the sessions without a summary ended, of those that ended before that moment."""
        ...

    def count_recalls(
        self, recalled: Sequence[Recalled], *, stability_per_recall: float, stability_most: float
    ) -> None:
        """Add recalls to the logs of the memories; none is lost, however many processes count at once."""
        ...


class Sweeps(Protocol):
    """How far each ageing sweep came."""

    def latest(self) -> Sweep | None:
        """Return the sweep that was begun last."""
        ...

    def put(self, sweep: Sweep) -> Sweep:
        """Store how far a sweep came; a new one has key 0 and is given its own."""
        ...
