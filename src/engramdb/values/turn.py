"""Turn: one message as it was said; Box: memories of one topic in a row; Support: what a memory rests on."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from engramdb.values.memory import Memory, TurnId
from engramdb.values.privacy import PiiSpan
from engramdb.values.scope import GLOBAL, Scope

# Turn: one message as it was said.


class Role(StrEnum):
    """Who spoke, as chat models name it."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class TaskOutcome(StrEnum):
    """How a task, or the run of a tool, ended."""

    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RETRY = "retry"
    """It is being tried again: not its end."""


class Turn(Struct, frozen=True, kw_only=True):
    """One message: `occurred_at` is when it was said, `created_at` when we heard of it."""

    id: TurnId
    """Its id; the last eight characters are enough to name it."""
    content: str
    """The message, as it was said."""
    role: Role
    """Who spoke, in the words of chat models."""
    occurred_at: datetime
    """When it was said."""
    created_at: datetime
    """When it was stored."""
    speaker: str | None = None
    """Who spoke, by name."""
    session: str | None = None
    """The conversation."""
    scope: Scope = GLOBAL
    """Who it belongs to."""
    relayed_by: str | None = None
    """The agent that reported it as the person's words; None where no agent stands between."""
    private: tuple[PiiSpan, ...] | UnsetType = UNSET
    """Where private words stand in `content`, as a model found when it was read; unset: rules alone look.
    Callers never get it, so it is absent from JSON."""

    @property
    def unmarked(self) -> Turn:
        """The same without where private words stand: as callers get it."""
        return self if self.private is UNSET else replace(self, private=UNSET)


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


# Support: what a memory rests on, word for word.


class Support(Struct, frozen=True, kw_only=True):
    """A memory, the other wordings that it stands for, and the turns in which it was said."""

    memory: Memory
    """The statement that stands for all wordings."""
    wordings: tuple[Memory, ...] = ()
    """What says the same in other words and was merged into it, oldest first; `unmerge` brings it back."""
    turns: tuple[Turn, ...] = ()
    """The messages that it and its wordings were read from, oldest first."""
