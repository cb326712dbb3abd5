"""
The history of the whole store as a feed that can be followed: what changed after a place in it.

Part of `store.contract`; read by `Engram.changes`. A place is the number of a history row, which grows
with every change of any process. Ids, actions and states only; nothing of a memory's words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from engram.values import Action, Kind, MemoryId, Scope, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One change of one memory."""

    cursor: int
    """The place of the entry in the feed."""
    memory_id: MemoryId
    action: Action
    kind: Kind
    status: Status | None
    """The status that the memory took, where the change was one of status."""
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage:
    """The next changes, oldest first, and the place from which to read on."""

    entries: tuple[FeedEntry, ...] = ()
    cursor: int


class Feed(Protocol):
    """Changes in the order in which they were made."""

    def latest(self) -> int:
        """Return the place after which nothing has happened yet."""
        ...

    def after(self, cursor: int, *, scope: Scope, limit: int) -> FeedPage:
        """
        Return what happened after a place to the memories that a scope sees.

        Looks at `limit` changes of anybody's, so a page may be empty and its cursor move on all the
        same.
        """
        ...
