"""
What every importer makes of its source: statements, messages, and records that could not be read.

Yielded by `portability.importers`, turned into drafts and turns by the engine. A place says where in the
source a record stands ("notes/tea.md: line 12"), and is all that a report shows of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from engram.errors import ContentTooLarge, InvalidContent
from engram.values import GLOBAL, Kind, Layer, MemoryType, Role, Scope

if TYPE_CHECKING:
    from datetime import datetime

    from engram.values import EdgeType

UNREADABLE = InvalidContent.code
TOO_LARGE = ContentTooLarge.code


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """That a statement has to do with another one, which is known by the source's own name for it."""

    to: str
    type: EdgeType
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement that some other memory, note or table holds."""

    content: str
    place: str
    key: str = ""
    """The source's own name for it; without one, its words are its name."""
    category: str = "general"
    speaker: str | None = None
    session: str | None = None
    occurred_at: datetime | None = None
    confidence: float | None = None
    importance: float | None = None
    user: str | None = None
    agent: str | None = None
    layer: Layer = Layer.EPISODIC
    type: MemoryType = MemoryType.FACT
    kind: Kind = Kind.NOTE
    pinned: bool = False
    forget_after: datetime | None = None
    scope: Scope = GLOBAL
    """Where it was known; each part counts where the import leaves it open."""
    links: tuple[Link, ...] = ()
    """What it has to do with, of the same source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation, as it was said."""

    content: str
    place: str
    role: Role = Role.USER
    key: str = ""
    speaker: str | None = None
    session: str | None = None
    occurred_at: datetime | None = None
    user: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A record or a file that could not be read, by its place and the code of the reason."""

    place: str
    code: str = UNREADABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file that is of no kind that can be imported."""

    place: str


Record: TypeAlias = Statement | Message | Broken
