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
    relevance: float
    is_new: bool
    """Whether no question before this one had found it."""


class ModelCall(Struct, frozen=True, kw_only=True):
    """One call of a chat model: what for, what it cost, and why it failed if it did."""

    purpose: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: float = 0.0
    failure: str = ""


class Judgment(Struct, frozen=True, kw_only=True):
    """Whether the memories found are enough, who says so and why, and what to ask next."""

    sufficiency: Sufficiency
    why: str
    judged_by: str = RULES
    """`rules`, or the model's name."""
    asks: tuple[str, ...] = ()


class EvidenceNode(Struct, frozen=True, kw_only=True):
    """One question of the tree, what it found, how that was judged, and what was asked because of it."""

    question: str
    origin: Origin
    level: int
    """1 for the question itself."""
    found: tuple[EvidenceItem, ...] = ()
    missing: tuple[Missing, ...] = ()
    """Indexes that could not answer it fully."""
    judgement: Judgment | None = None
    """None where nothing more would be asked anyway."""
    calls: tuple[ModelCall, ...] = ()
    children: tuple[EvidenceNode, ...] = ()

    def walk(self) -> Iterator[EvidenceNode]:
        """Yield this node and all below it, each before what was asked because of it."""
        yield self
        for child in self.children:
            yield from child.walk()


class Reasoned(Struct, frozen=True, kw_only=True):
    """The answer to one question, or why there is none, and the evidence."""

    question: str
    answer: str | None = None
    cited: tuple[MemoryId, ...] = ()
    """The memories that the answer stands on."""
    why: str = ""
    """Why no answer was synthesised."""
    evidence: tuple[Hit, ...] = ()
    """The memories of the whole tree that matter most, best first."""
    tree: EvidenceNode
    calls: tuple[ModelCall, ...] = ()
    """The calls for the answer itself; those for judging stand in the tree."""
    failures: tuple[str, ...] = ()
    """What went wrong on the way, step by step."""
    depth: int = 1
    most_calls: int = 0
    most_tokens: int = 0
    milliseconds: float = 0.0

    @property
    def is_answered(self) -> bool:
        """Whether an answer was synthesised."""
        return self.answer is not None

    @property
    def every_call(self) -> tuple[ModelCall, ...]:
        """Every call of a model, in the tree and for the answer."""
        return (*(call for node in self.tree.walk() for call in node.calls), *self.calls)

    @property
    def tokens(self) -> int:
        """What all calls together have cost."""
        return sum(call.input_tokens + call.output_tokens for call in self.every_call)
