"""Working memory: the slots of one agent and what became of its topic."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from engramdb.values.memory import Memory, MemoryId, TurnId
from engramdb.values.scope import GLOBAL, Scope


class SlotSource(StrEnum):
    """How an item entered working memory."""

    SENSORY = "sensory"
    RECALL = "recall"
    SCHEMA = "schema"
    EXPLICIT = "explicit"
    INFERENCE = "inference"
    GAP_QUESTION = "gap_question"
    MORNING_RECALL = "morning_recall"


class TopicShift(StrEnum):
    """What a message does to the topic."""

    CONTINUATION = "continuation"
    DRIFT = "drift"
    SWITCH = "switch"
    RETURN = "return"
    """Back to one that was left."""


class Restored(StrEnum):
    """In what state working memory came back."""

    HELD = "held"
    """It was here all along."""
    FULL = "full"
    DECAYED = "decayed"
    FRESH = "fresh"
    """Nothing was stored, or it was too old; the day begins with a morning recall."""


class Slot(Struct, frozen=True, kw_only=True):
    """One item: a memory, a turn or an open question by its id, or words of its own."""

    source: SlotSource
    """How it came to mind."""
    activation: float
    """How active it is, from 0 to 1."""
    tokens: int
    """What it costs in a prompt, roughly."""
    used_at: datetime
    """When it was last attended to."""
    memory_id: MemoryId | None = None
    """The memory, where it is one."""
    turn_id: TurnId | None = None
    """The turn, where it is one."""
    gap_id: str | None = None
    """The open question, where it is one."""
    text: str = ""
    """Only for what none of these ids stands for."""

    @property
    def key(self) -> str:
        """What the slot stands for; two slots with the same key are one."""
        return self.reference or self.text

    @property
    def reference(self) -> str | None:
        """The id of what it points to."""
        return self.memory_id or self.turn_id or self.gap_id

    @property
    def is_explicit(self) -> bool:
        """Whether someone put it there on purpose."""
        return self.source is SlotSource.EXPLICIT


class WorkingItem(Struct, frozen=True, kw_only=True):
    """A slot with what it holds, read from the store this moment."""

    slot: Slot
    """Where it stands, and how active it is."""
    content: str
    """Its words."""
    memory: Memory | None = None
    """The memory that it is, where it is one."""


class WorkingMemory(Struct, frozen=True, kw_only=True):
    """The working memory of an agent now, the most active first."""

    scope: Scope = GLOBAL
    """Whose working memory it is."""
    items: tuple[WorkingItem, ...] = ()
    """What is in mind, most active first."""
    restored: Restored = Restored.FRESH
    """In what state it came back."""
    confidence: float = 0.0
    """How settled the topic is, 0 to 1."""
    topics: int = 0
    """How many topics were left and could be come back to."""

    @property
    def tokens(self) -> int:
        """What all of it costs in a prompt, roughly."""
        return sum(item.slot.tokens for item in self.items)
