"""Window: the context for one message, in sections that fit a token budget."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from engramdb.values.insight import Gap
from engramdb.values.memory import MemoryId
from engramdb.values.recall import Missing, Quality


class DetailLevel(StrEnum):
    """How much of a memory is shown, most first."""

    FULL = "full"
    SUMMARY = "summary"
    KEY_FACT = "key_fact"
    TAG = "tag"


class SectionName(StrEnum):
    """The parts of a window that Engram fills."""

    IDENTITY = "identity"
    WORKING = "working memory"
    HISTORY = "history"
    RECALLED = "recalled"
    SCHEMAS = "schemas"
    SKILLS = "skills"
    TODAY = "today"
    ROSTER = "roster"
    HINTS = "coding hints"
    REFLECTION = "reflection"

    @property
    def is_stable(self) -> bool:
        """Whether it seldom changes from one message to the next."""
        return self in (SectionName.IDENTITY, SectionName.ROSTER, SectionName.HINTS, SectionName.SKILLS)


class Fate(StrEnum):
    """What became of something that is not in the window whole."""

    DROPPED = "dropped"
    DEGRADED = "degraded"
    WITHHELD = "withheld"
    """It may not enter a window by itself, whatever the room."""


class WorkingLine(Struct, frozen=True, kw_only=True):
    """One item of working memory: its words, where they come from, how active they are."""

    text: str
    source: str = "explicit"
    activation: float = 1.0


class ShownMemory(Struct, frozen=True, kw_only=True):
    """A memory in a section, and how much of it."""

    memory_id: MemoryId
    """The memory."""
    level: DetailLevel
    """How much of it is shown."""


class Section(Struct, frozen=True, kw_only=True):
    """One part of a window: its words, what they cost, and what it was allowed to cost."""

    name: SectionName
    """Which part of the window it is."""
    text: str
    """Its words."""
    tokens: int
    """What they cost."""
    allowance: int
    """Its share of the budget and what others left to it."""
    holds: tuple[ShownMemory, ...] = ()
    """The memories in it."""


class Loss(Struct, frozen=True, kw_only=True):
    """How many things a section lost or shortened, and why."""

    section: SectionName
    """The part of the window that lost something."""
    fate: Fate
    """What became of it."""
    count: int
    """How many things."""
    reason: str
    """Why."""


class ChatMessage(Struct, frozen=True, kw_only=True):
    """One message as chat models take it."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str
    """The message."""


BRIEF_TOKENS = 1400
"""What a brief may cost where nobody says (docs/lab/0041-sessions.md)."""


class Brief(Struct, frozen=True, kw_only=True):
    """What to give a model when work begins, before anything is asked."""

    text: str
    """Rules, what stands, what matters most: one block, framed as data; empty where nothing is known."""
    tokens: int
    """What it costs."""
    budget: int
    """What it might have cost."""
    memories: tuple[MemoryId, ...] = ()
    """The memories in it."""
    rules: int = 0
    """How many of them are rules."""
    left_out: int = 0
    """How many memories had no room."""
    unreadable: tuple[MemoryId, ...] = ()
    """Memories that it lacks because their rows cannot be read."""


class Window(Struct, frozen=True, kw_only=True):
    """What to give a model with one message."""

    message: str
    """What the user says."""
    budget: int
    """The tokens that were there for everything but the fixed parts, the message and the reply."""
    tokens: int
    """What the sections cost of it, counted by `counter` and rounded up where that is not exact."""
    fixed_tokens: int
    """What the fixed parts and the message cost beside it."""
    counter: str
    """What counted the tokens."""
    is_exact: bool
    """Whether the counter knows the model's own tokens."""
    sections: tuple[Section, ...] = ()
    """The parts that were filled, in their order."""
    fixed: str = ""
    """The block that the caller's prompt begins with."""
    standing: str = ""
    """The block of what seldom changes."""
    conversation: str = ""
    """The block of what was said before, for a single prompt."""
    turns: tuple[ChatMessage, ...] = ()
    """The same as messages."""
    present: str = ""
    """The block of what this message calls for."""
    losses: tuple[Loss, ...] = ()
    """What was shortened or left out."""
    missing: tuple[Missing, ...] = ()
    """What could not take part, and why."""
    quality: Quality | None = None
    """How the recalled part came about."""
    asked: tuple[Gap, ...] = ()
    """The open questions that the agent is invited to ask."""

    @property
    def text(self) -> str:
        """Everything as one prompt, the message last."""
        parts = (self.fixed, self.standing, self.conversation, self.present, self.message)
        return "\n\n".join(part for part in parts if part)

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """Everything as messages: the system's, what was said before, the user's last; roles alternate."""
        system = "\n\n".join(part for part in (self.fixed, self.standing) if part)
        asked = "\n\n".join(part for part in (self.present, self.message) if part)
        first = (ChatMessage(role="system", content=system),) if system else ()
        return (*first, *_alternating((*self.turns, ChatMessage(role="user", content=asked))))

    @property
    def holds(self) -> tuple[ShownMemory, ...]:
        """Every memory in the window."""
        return tuple(held for section in self.sections for held in section.holds)

    @property
    def is_degraded(self) -> bool:
        """Whether something could not take part."""
        return bool(self.missing)

    def section(self, name: SectionName | str) -> Section | None:
        """Return the section of this name, if it is in the window."""
        return next((one for one in self.sections if one.name == name), None)


def _alternating(messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    """Return the messages with neighbors of one role joined: some interfaces refuse two in a row."""
    joined: list[ChatMessage] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            content = f"{joined[-1].content}\n\n{message.content}"
            joined[-1] = ChatMessage(role=message.role, content=content)
        else:
            joined.append(message)
    return tuple(joined)
