"""What `reason` returns: an answer, the memories that support it, and the evidence tree."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from engramdb.values.memory import MemoryId
from engramdb.values.recall import Hit, Missing

RULES = "rules"
"""Who judged where no model did."""


class Sufficiency(StrEnum):
    """Whether what was found is enough for an answer."""

    SUFFICIENT = "sufficient"
    GAPS = "gaps"
    """Something is missing that may be found by asking for it."""
    BROAD = "broad"
    """The question holds several questions."""


class Origin(StrEnum):
    """Where a question of the tree comes from."""

    ASKED = "asked"
    PART = "part"
    """A part of the question above it."""
    LEAD = "lead"
    """A name that a memory gave, with what was still open."""
    GAP = "gap"
    """What a model missed."""


class EvidenceItem(Struct, frozen=True, kw_only=True):
    """A memory that a question of the tree found, by id."""

    memory_id: MemoryId
    """The memory."""
    relevance: float
    """How well it fits, from 0 to 1."""
    is_new: bool
    """Whether no question before this one had found it."""


class ModelCall(Struct, frozen=True, kw_only=True):
    """One call of a chat model: what for, what it cost, and why it failed if it did."""

    purpose: str
    """What it was for."""
    model: str
    """The model."""
    input_tokens: int = 0
    """Tokens sent."""
    output_tokens: int = 0
    """Tokens received."""
    milliseconds: float = 0.0
    """How long it took."""
    failure: str = ""
    """Why it failed; empty where it did not."""


class Judgment(Struct, frozen=True, kw_only=True):
    """Whether the memories found are enough, who says so and why, and what to ask next."""

    sufficiency: Sufficiency
    """The judgment in a word."""
    why: str
    """The reason for it."""
    judged_by: str = RULES
    """`rules`, or the model's name."""
    asks: tuple[str, ...] = ()
    """What to ask next."""


class EvidenceNode(Struct, frozen=True, kw_only=True):
    """One question of the tree, what it found, how that was judged, and what was asked because of it."""

    question: str
    """The question."""
    origin: Origin
    """Why it was asked."""
    level: int
    """1 for the question itself."""
    found: tuple[EvidenceItem, ...] = ()
    """The memories that it found, best first."""
    missing: tuple[Missing, ...] = ()
    """Indexes that could not answer it fully."""
    judgment: Judgment | None = None
    """None where nothing more would be asked anyway."""
    calls: tuple[ModelCall, ...] = ()
    """The calls of a chat model for judging it."""
    children: tuple[EvidenceNode, ...] = ()
    """What was asked because of it."""

    def walk(self) -> Iterator[EvidenceNode]:
        """Yield this node and all below it, each before what was asked because of it."""
        yield self
        for child in self.children:
            yield from child.walk()


class Reasoned(Struct, frozen=True, kw_only=True):
    """The answer to one question, or why there is none, and the evidence."""

    question: str
    """The question."""
    answer: str | None = None
    """The answer; null where none was synthesized."""
    cited: tuple[MemoryId, ...] = ()
    """The memories that the answer stands on."""
    why: str = ""
    """Why no answer was synthesized."""
    evidence: tuple[Hit, ...] = ()
    """The memories of the whole tree that matter most, best first."""
    tree: EvidenceNode
    """The question, and those that were asked because of it."""
    calls: tuple[ModelCall, ...] = ()
    """The calls for the answer itself; those for judging stand in the tree."""
    failures: tuple[str, ...] = ()
    """What went wrong on the way, step by step."""
    depth: int = 1
    """How many levels of questions could be asked."""
    most_calls: int = 0
    """How often a chat model could be asked."""
    most_tokens: int = 0
    """For how many tokens in all."""
    milliseconds: float = 0.0
    """How long it took."""

    @property
    def is_answered(self) -> bool:
        """Whether an answer was synthesized."""
        return self.answer is not None

    @property
    def every_call(self) -> tuple[ModelCall, ...]:
        """Every call of a model, in the tree and for the answer."""
        return (*(call for node in self.tree.walk() for call in node.calls), *self.calls)

    @property
    def tokens(self) -> int:
        """What all calls together have cost."""
        return sum(call.input_tokens + call.output_tokens for call in self.every_call)
