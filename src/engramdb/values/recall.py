"""What `recall`, `timeline` and `reason` return: hits, reasons, quality, evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from engramdb.values.entity import EdgeType
from engramdb.values.memory import Memory, MemoryId, TurnId
from engramdb.values.query import Query
from engramdb.values.turn import Role

# What `recall` answers: the hits with their reasons, and how good the answer is.
#
# Built by the recall pipeline, shown unchanged by every surface. An answer that lost an index says so in
# `quality.missing`; an empty answer is never the same as a failed one.


class Level(StrEnum):
    """How much of the machinery took part in an answer."""

    FULL = "full"
    DISK_VECTORS = "disk vectors"
    """Every vector was looked at, but read from the file: slower, not worse."""
    REDUCED = "reduced"
    """Some memories could not be found by meaning."""
    TEXT_ONLY = "text only"


class Trust(Struct, frozen=True, kw_only=True):
    """How far to believe a hit, each part in [0, 1]."""

    relevance: float
    """How well it fits the question."""
    accuracy: float
    """How likely it is to be right, by its evidence."""
    freshness: float
    """How recent it is."""
    utility: float
    """How useful it has been."""
    composite: float
    """All of them together."""


class Reason(Struct, frozen=True, kw_only=True):
    """Why a memory was found: the index, its place there, the score it gave, its share of the result."""

    index: str
    """The index or signal."""
    rank: int
    """Its place there, from 1."""
    score: float
    """The score that it had there."""
    contribution: float
    """Its share of the whole score."""


class Dispute(Struct, frozen=True, kw_only=True):
    """What speaks against a hit that is challenged, and what to ask the person about it."""

    by: MemoryId | None = None
    """The newer memory: one that contradicts it, or a change that makes it doubtful, if any."""
    kind: EdgeType | None = None
    """`contradicts` or `doubts`, where a memory speaks against it."""
    question_id: str | None = None
    """The open question about it, for `answer`."""
    question: str | None = None
    """The same in words."""


class Hit(Struct, frozen=True, kw_only=True):
    """One memory that fits, with its score in [0, 1]."""

    memory: Memory
    """The memory."""
    score: float
    """How well it fits, from 0 to 1."""
    trust: Trust
    """How far to believe it."""
    reasons: tuple[Reason, ...] = ()
    """Why it was found."""
    disputes: tuple[Dispute, ...] = ()
    """What speaks against it, where it is challenged: it may be outdated."""
    is_past: bool = False
    """Whether it tells of a plan or a deadline whose day has passed."""
    answers: float | None = None
    """How likely it answers the question, where a judge has read it."""
    through: MemoryId | None = None
    """The memory that led to it, where it has little to do with the question by itself: the hop before."""


class OutdatedPremise(Struct, frozen=True, kw_only=True):
    """Something that the question takes for granted and that has changed since."""

    was: Memory
    """What the question rests on."""
    now: Memory
    """What was said since."""
    is_certain: bool
    """Whether the change is settled; otherwise it is open which of the two holds."""


class ArchivedMatch(Struct, frozen=True, kw_only=True):
    """A memory that fits better than all that is alive, and has left; `restore` brings it back."""

    memory: Memory
    """The memory as it is in the archive: not to be relied on before somebody confirms it."""
    relevance: float
    """How well it fits, from 0 to 1."""
    archived_at: datetime
    """When it left."""
    reason: str = ""
    """The rule that took it, or why somebody put it there."""


class SaidTurn(Struct, frozen=True, kw_only=True):
    """What somebody said that fits and was not kept as a memory: to be trusted less than any memory."""

    turn_id: TurnId
    """The turn that it was said in."""
    excerpt: str
    """The sentences that fit, as they were said; what is confidential in them is concealed."""
    role: Role
    """Who spoke, in the words of chat models."""
    speaker: str | None = None
    """Who spoke, by name."""
    session: str | None = None
    """The conversation."""
    occurred_at: datetime
    """When it was said."""
    score: float
    """The share of the question that its words cover, from 0 to 1."""
    trust: float
    """How far to believe it, from 0 to 1."""
    flags: tuple[str, ...] = ()
    """Marks such as `injection`: it reads like an order to a model, and is shown to people alone."""


class Missing(Struct, frozen=True, kw_only=True):
    """An index that could not answer fully, and why."""

    index: str
    """The index."""
    reason: str
    """What went wrong."""


UNREADABLE_ROW: Final = "its row is damaged; `engram doctor --salvage NEW` saves what can be read of it"


class MemoryList(list[Memory]):
    """Memories that were listed, and the ids of those that the list lacks because they cannot be read."""

    def __init__(self, memories: Iterable[Memory] = (), *, unreadable: Sequence[MemoryId] = ()) -> None:
        super().__init__(memories)
        self.unreadable = tuple(unreadable)


def unreadable_notes(unreadable: Iterable[MemoryId]) -> list[Missing]:
    """Return what an answer says of memories that it lacks because their rows cannot be read."""
    return [Missing(index=f"memory {memory_id}", reason=UNREADABLE_ROW) for memory_id in unreadable]


class Quality(Struct, frozen=True, kw_only=True):
    """How the answer came about."""

    answered: tuple[str, ...] = ()
    """Indexes that answered."""
    missing: tuple[Missing, ...] = ()
    """Indexes that could not answer fully, and why."""
    level: Level = Level.FULL
    """How much of the machinery took part."""
    intent: str | None = None
    """What kind of question it was taken for, where that shifted anything."""
    strategy: str = "score"
    """How the candidates were put in order."""
    text_weight: float = 0.0
    """The share of words in the score, the rest being meaning."""
    period: tuple[datetime | None, datetime | None] | None = None
    """The time that the question asks for, where it names one."""
    answerable: float | None = None
    """How likely the answer is among the hits: as a judge has read them, else by how well the best fits."""
    candidates: int = 0
    """How many memories were considered."""
    average_relevancy: float = 0.0
    """How well the hits fit on average, from 0 to 1."""
    ndcg: float = 0.0
    """How well the hits are ordered by trust: nDCG, from 0 to 1."""
    tokens: int = 0
    """What the hits cost in a prompt."""
    milliseconds: float = 0.0
    """How long the answer took."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """How long each stage took, in milliseconds."""

    @property
    def is_degraded(self) -> bool:
        """Whether some index did not answer or answered in part."""
        return bool(self.missing)

    @property
    def is_known(self) -> bool:
        """Whether the answer may be among the hits; where it is not, say that it is not known."""
        return self.answerable is None or self.answerable >= KNOWN_FROM


KNOWN_FROM: Final = 0.09
"""Of questions that the store answers 2 % fall below, of others most: docs/lab/0056-answers.md."""


class Recall(Struct, frozen=True, kw_only=True):
    """The answer to one query: hits best first, and the quality of the whole."""

    query: Query
    """The question as it was asked."""
    hits: tuple[Hit, ...] = ()
    """The memories that fit, best first."""
    said: tuple[SaidTurn, ...] = ()
    """Where memories fall short: what was said and not kept as a memory, best first."""
    premises: tuple[OutdatedPremise, ...] = ()
    """What the question takes for granted though it has changed; tell the person before answering."""
    archived: tuple[ArchivedMatch, ...] = ()
    """Where the hits are weak: what is archived and fits better; offer to restore it."""
    quality: Quality = Quality()
    """How the answer came about."""
    also_considered: tuple[Hit, ...] = ()
    """With `explain`, the candidates that came next and were left out."""


# Timeline: how what is known of a topic changed, and when most of it did.


class KnowledgeChange(StrEnum):
    """What one entry of a timeline did to what is known."""

    ADDITION = "addition"
    """Something new was learned."""
    REINFORCEMENT = "reinforcement"
    """What was known came in again."""
    CORRECTION = "correction"
    """A statement took the place of another."""
    DISPUTE = "dispute"
    """A statement was doubted, and stayed."""
    REMOVAL = "removal"
    """A statement no longer counts, and nothing took its place."""
    RETURN = "return"
    """A statement counts again, or is no longer doubted."""


class TimelineEntry(Struct, frozen=True, kw_only=True):
    """One change; memories are shown as they were right after the store learned of it."""

    at: datetime
    """When it changed: from when on the new holds, or when it was said again."""
    learned_at: datetime
    """When the store learned of it: for what is imported, long after it happened."""
    change: KnowledgeChange
    """What kind of change it was."""
    memory: Memory
    """What was learned, confirmed, doubted or removed; between two, the new one."""
    replaced: Memory | None = None
    """In a correction, what it took the place of."""
    disputed: Memory | None = None
    """In a dispute between two, the one that was there before."""
    reason: str = ""
    """Why, where a reason was given."""


class BusyPeriod(Struct, frozen=True, kw_only=True):
    """A day, week or month (UTC), from `start` to before `end`, and how many entries fall into it."""

    start: datetime
    """Its first moment."""
    end: datetime
    """The first moment after it."""
    entries: int
    """How many changes fall into it."""


class Timeline(Struct, frozen=True, kw_only=True):
    """The changes in order of time, and the periods with most of them, busiest first."""

    topic: str
    """What it is about."""
    entries: tuple[TimelineEntry, ...] = ()
    """The changes, oldest first."""
    busiest: tuple[BusyPeriod, ...] = ()
    """The periods with most changes, busiest first."""


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
