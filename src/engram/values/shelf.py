"""
The shelf: documents that other programs keep word for word, and what Engram has remembered of each.

Written and read through `Engram.shelf`, mostly by adapters for other frameworks. A document is JSON
under a path and a key, in a scope; unlike a memory it is never merged, reworded or aged. The memory or
the turn that was made of its text is what Engram knows and can recall. Frozen, without I/O.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.values.memory import Source
from engram.values.scope import GLOBAL, Scope
from engram.values.turn import Role

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from engram.values.ids import MemoryId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfItem:
    """One document as it lies on the shelf."""

    id: int
    """Its number; documents that came later have larger ones."""
    place: tuple[str, ...]
    """The path of the collection that it is in."""
    key: str
    """Its name there."""
    value: Any
    """The document itself, as JSON has it."""
    created_at: datetime
    updated_at: datetime
    scope: Scope = GLOBAL
    memory_id: MemoryId | None = None
    """What was remembered of its text."""
    turn_id: TurnId | None = None
    """The turn that it was heard as."""
    expires_at: datetime | None = None
    lifetime: timedelta | None = None
    """How long after its last use it expires; None: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfHit:
    """A document that a search found; no score where Engram was not told to remember its text."""

    item: ShelfItem
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The message in a document, to be heard as a turn of a session."""

    content: str
    role: str = Role.USER
    session: str | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Putting:
    """A document to be put in place of what lies under its key; without one, its memory's id."""

    place: tuple[str, ...]
    key: str | None
    value: Any
    text: str | None = None
    """What it says, to be remembered."""
    said: Said | None = None
    memory_id: MemoryId | None = None
    """A memory that is stored already, which the document is about; then `text` is not looked at."""
    lifetime: timedelta | None = None
    source: Source = Source.INGEST
    scope: Scope | None = None
    """Where it belongs; the scope of the call unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removing:
    """A document to be taken from the shelf."""

    place: tuple[str, ...]
    key: str
    scope: Scope | None = None
