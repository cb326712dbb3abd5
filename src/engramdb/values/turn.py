"""Turn: one message as it was said; Box: memories stored under one topic in a row."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from engramdb.values.memory import TurnId
from engramdb.values.scope import GLOBAL, Scope

# Turn: one message as it was said.


class Role(StrEnum):
    """Who spoke, as chat models name it."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Outcome(StrEnum):
    """How the task that a statement belongs to ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"
    RETRY = "retry"


class Turn(Struct, frozen=True, kw_only=True):
    """One message: `occurred_at` is when it was said, `created_at` when we heard of it."""

    id: TurnId
    content: str
    role: Role
    occurred_at: datetime
    created_at: datetime
    speaker: str | None = None
    session: str | None = None
    scope: Scope = GLOBAL


# Box: memories that were stored under one topic, one after the other.


class Box(Struct, frozen=True, kw_only=True):
    """One stretch of one topic in one scope; open until `sealed_at` is set."""

    id: str
    trace: str
    topics: frozenset[str]
    recent: tuple[frozenset[str], ...] = ()
    """The topics of its latest statements, latest last: what a change of topic is measured against."""
    opened_at: datetime
    last_at: datetime
    memories: int
    scope: Scope = GLOBAL
    sealed_at: datetime | None = None
