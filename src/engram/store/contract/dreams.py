"""
The tables of the slow path: who is at work, how far runs came, what was merged, and what a run looks at.

Part of `store.contract`. Reports hold ids and reasons, never the words of a memory; a merge holds what the
keeper was given, so that it can be taken back to the letter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from engram.values import DreamReport, Layer, Memory, MemoryId, Scope, SecurityTier


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A dream as it is kept: `step` is the one that it is in, `finished_at` None while it is not done."""

    started_at: datetime
    policy: str
    steps: tuple[str, ...]
    report: DreamReport
    key: int = 0
    step: str | None = None
    finished_at: datetime | None = None

    def at(self, key: int) -> Run:
        """Return the run under the key that the store gave it."""
        return replace(self, key=key, report=replace(self.report, number=key))


@dataclass(frozen=True, slots=True)
class Mark:
    """Up to where a step has looked: when its last whole run began, and the newest change at that moment."""

    started_at: datetime
    cursor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A memory that another one stands for, and what that one was given for it."""

    keeper: MemoryId
    loser: MemoryId
    at: datetime
    given: Mapping[str, Any] = field(default_factory=dict)
    key: int = 0
    undone_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a dream needs to know of an active memory before it reads the whole of it."""

    key: int
    id: MemoryId
    content: str
    speaker: str | None
    subject: str | None
    predicate: str | None
    object: str | None
    category: str
    layer: Layer
    security: SecurityTier
    extractor: str | None
    episodes: tuple[MemoryId, ...]
    evidence: int
    """How often it has been stated."""
    confidence: float
    importance: float
    recalls: int
    is_pinned: bool
    is_fresh: bool
    """Whether it has changed since the run last looked."""


class Leases(Protocol):
    """Who may do what only one may do at a time, across threads and processes."""

    def take(
        self, kind: str, owner: str, *, now: datetime, until: datetime, is_gone: Callable[[str], bool]
    ) -> bool:
        """Become the holder and say so, unless another one holds it whose time has not run out."""
        ...

    def renew(self, kind: str, owner: str, *, until: datetime) -> bool:
        """Hold it for longer; says False where somebody else has taken it over."""
        ...

    def release(self, kind: str, owner: str) -> None:
        """Give it back, if it is still held by this owner."""
        ...

    def expire(self, *, before: datetime) -> None:
        """Forget those whose time ran out before a moment: anybody could have taken them since."""
        ...


class Dreams(Protocol):
    """Runs, merges, and what a dream reads."""

    def latest(self) -> Run | None:
        """Return the run that was begun last."""
        ...

    def put(self, run: Run) -> Run:
        """Store how far a run came; a new one has key 0 and is given its own."""
        ...

    def recent(self, *, limit: int, before: int | None = None) -> Sequence[Run]:
        """Return the latest runs, newest first, or those before the one with a key."""
        ...

    def mark(self, step: str) -> Mark | None:
        """Return up to where a step has looked, or None where it never came to its end."""
        ...

    def set_mark(self, step: str, mark: Mark) -> None:
        """Note up to where a step has looked."""
        ...

    def fresh_scopes(self, *, since: int) -> Sequence[Scope]:
        """Return the scopes in which an active memory has changed since this change."""
        ...

    def outlines(self, scope: Scope, *, since: int) -> Sequence[Outline]:
        """Return the active memories of exactly this scope that nothing warns of, in order of their keys."""
        ...

    def open_contradictions(self) -> Sequence[tuple[int, int]]:
        """Return the pairs of active memories of one scope that are linked as contradicting, oldest first."""
        ...

    def taken_back(self, fingerprint: bytes, *, scope: Scope) -> Sequence[Memory]:
        """Return the memories of exactly this scope that once said this and are not active any more."""
        ...

    def add_merge(self, merged: Merged) -> None:
        """Note that a memory was merged into another, and what that one was given."""
        ...

    def merges_into(self, memory_id: MemoryId) -> Sequence[Merged]:
        """Return what was merged into a memory and not taken back, oldest first."""
        ...

    def merge_of(self, memory_id: MemoryId) -> Merged | None:
        """Return the merge by which a memory was lost, unless it was taken back."""
        ...

    def undo_merge(self, key: int, *, at: datetime) -> None:
        """Note that a merge was taken back, so that no rule makes it again."""
        ...

    def kept_apart(self, memory_ids: Sequence[MemoryId]) -> set[frozenset[MemoryId]]:
        """Return the pairs with any of these memories whose merge somebody took back."""
        ...

    def count_old(self, table: str, *, before: datetime, keep: int) -> int:
        """Return how many notes of a table may go: older than that, and not among the latest so many."""
        ...

    def drop_old(self, table: str, *, before: datetime, keep: int, limit: int) -> int:
        """Drop the oldest of them, at most so many, and return how many went."""
        ...
