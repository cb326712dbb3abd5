"""Documents that other programs store verbatim, and what was remembered from each."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from engramdb.values.memory import MemoryId, Source, TurnId
from engramdb.values.scope import GLOBAL, Scope
from engramdb.values.turn import Role


class Document(Struct, frozen=True, kw_only=True):
    """One document as stored."""

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


class DocumentHit(Struct, frozen=True, kw_only=True):
    """A document that a search found; no score where Engram was not told to remember its text."""

    item: Document
    score: float | None = None


class DocumentMessage(Struct, frozen=True, kw_only=True):
    """The message in a document, to be heard as a turn of a session."""

    content: str
    role: str = Role.USER
    session: str | None = None
    speaker: str | None = None


class PutDocument(Struct, frozen=True, kw_only=True):
    """A document that replaces what is stored under its key; without a key, its memory's id."""

    place: tuple[str, ...]
    key: str | None
    value: Any
    text: str | None = None
    """What it says, to be remembered."""
    said: DocumentMessage | None = None
    memory_id: MemoryId | None = None
    """A memory that is stored already, which the document is about; then `text` is not looked at."""
    lifetime: timedelta | None = None
    source: Source = Source.INGEST
    scope: Scope | None = None
    """Where it belongs; the scope of the call unless given."""


class RemoveDocument(Struct, frozen=True, kw_only=True):
    """A document to remove."""

    place: tuple[str, ...]
    key: str
    scope: Scope | None = None
