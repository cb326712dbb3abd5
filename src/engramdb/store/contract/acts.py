"""
The store's contract for acts: what one actor changed in one scope at once, and can be undone at once.

A change of a memory or a link becomes part of the act of its write by itself. A write that does several
independent things ends an act between two of them. What an act did is read back from the history of memories
and links. Several acts can be a group, such as a dream or an import: it is listed, named and undone as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from engramdb.values import Act, ActId, Action, Actor, ActorKind, EdgeType, HistoryEvent, MemoryId, Scope


class EdgeChange(Struct, frozen=True, kw_only=True):
    """What became of one link: a weight of None says that it was not there before, or is not any more."""

    source: MemoryId
    target: MemoryId
    type: EdgeType
    old_weight: float | None
    old_created_at: datetime | None
    new_weight: float | None
    number: int
    """Its place in the history of links."""


class WithdrawnWords(Struct, frozen=True, kw_only=True):
    """What a memory quoted of one that was forgotten."""

    memory_id: MemoryId
    answers: str | None
    refers_to: tuple[str, ...]


class Acts(Protocol):
    """Acts by scope; none is seen from another scope, be it wider or narrower."""

    def join(self, action: Action, *, actor: Actor, scope: Scope, at: datetime) -> ActId:
        """Return the act of this write in a scope, begun if need be, for what changes no memory."""
        ...

    def begin(self, action: Action, *, actor: Actor, scope: Scope, at: datetime) -> ActId:
        """Begin an act: what this write changes in the scope from now on belongs to it."""
        ...

    def end(self) -> None:
        """End the acts of this write: what it changes from now on belongs to others."""
        ...

    def find(self, name: str, *, scope: Scope) -> Sequence[Act]:
        """Return the acts and groups of exactly this scope with this id, or with an id that ends so."""
        ...

    def recent(self, *, scope: Scope, limit: int, before: ActId | None = None) -> Sequence[Act]:
        """Return the latest acts of exactly this scope, newest first, a group as one; or those before one."""
        ...

    def latest_of(self, memory_id: MemoryId, *, scope: Scope) -> Act | None:
        """Return the last act that changed a memory, stands and is no undo."""
        ...

    def latest_by(self, actor: Actor, *, scope: Scope) -> Act | None:
        """Return the last act or group of an actor that stands and is no undo."""
        ...

    def parts(self, act_id: ActId, *, scope: Scope) -> Sequence[Act]:
        """Return what a group consists of in a scope and still stands, or the one act itself."""
        ...

    def events(self, act_id: ActId) -> Sequence[HistoryEvent]:
        """Return what an act did to memories, in order."""
        ...

    def later_events(self, act_id: ActId) -> Sequence[HistoryEvent]:
        """Return what happened to the same memories after the act, in order, as far as it still stands."""
        ...

    def links(self, act_id: ActId) -> Sequence[EdgeChange]:
        """Return what an act did to links, in order."""
        ...

    def later_link_acts(self, change: EdgeChange) -> Sequence[ActId]:
        """Return the acts that changed the same link after that and still stand, in order."""
        ...

    def by_ids(self, act_ids: Sequence[ActId]) -> Sequence[Act]:
        """Return these acts, the one whose changes end last first."""
        ...

    def mark_undone(self, act_ids: Sequence[ActId], *, by: ActId) -> None:
        """Note that an act has undone others; an undo that is undone itself does not count."""
        ...

    def keep_words(self, words: WithdrawnWords, *, scope: Scope) -> None:
        """Set aside what a memory loses with this write, until the act is undone or the words are erased."""
        ...

    def kept_words(self, act_id: ActId) -> Sequence[WithdrawnWords]:
        """Return what was set aside with an act."""
        ...

    def drop_words(self, *, scope: Scope) -> None:
        """Let go of what this write has set aside: it cannot be brought back."""
        ...

    def undid(self, act_id: ActId) -> Sequence[ActId]:
        """Return what an act has undone, the latest first."""
        ...

    def open_gaps(self, act_id: ActId) -> None:
        """Open the questions again that an act has closed."""
        ...

    def close_gaps(self, act_id: ActId, *, at: datetime, by: ActorKind) -> None:
        """Close the questions again that an act had closed before it was undone."""
        ...
