"""What is known about the knowledge itself: summaries, domains, confidence, gaps, dream reports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from engramdb.values.memory import Memory, MemoryId
from engramdb.values.scope import GLOBAL, Scope

# What is known about the knowledge: summaries at three breadths, domains with their numbers, and how sure
# an answer can be.
#
# Made by the dream, read by `engram.confidence`, `domains` and `context`. A summary speaks in the
# words of its members and never of confidential ones.


class Breadth(StrEnum):
    """How much of a scope one summary mentions."""

    CLUSTER = "cluster"
    DOMAIN = "domain"
    GLOBAL = "global"

    @property
    def level(self) -> int:
        """The height in the tree, in which memories are the ground."""
        return {Breadth.CLUSTER: 1, Breadth.DOMAIN: 2, Breadth.GLOBAL: 3}[self]


class Certainty(StrEnum):
    """Whether a question falls into what is known."""

    CONFIDENT = "confident"
    UNCERTAIN = "uncertain"
    UNKNOWN = "unknown"


FACT_END: Final = "; "
"""Between the facts of a summary; no fact has it within."""


class Summary(Struct, frozen=True, kw_only=True):
    """One node of the tree: what a group of memories says, in short."""

    id: str
    """Its id."""
    breadth: Breadth
    """How much it mentions."""
    title: str
    """What it is about, in a few words."""
    text: str
    """What the memories say, in short."""
    tokens: int
    """What the text costs."""
    members: int
    """How many memories it sums up."""
    scope: Scope = GLOBAL
    """Whose memories they are."""
    parent: str | None = None
    """The summary that it is a part of."""
    relevance: float | None = None
    """Raw nearness to the question that it was chosen for, where there was one."""


class Domain(Struct, frozen=True, kw_only=True):
    """A field of knowledge, and how well it is known; the four numbers are in [0, 1]."""

    id: str
    """Its id."""
    title: str
    """What it is about, in a few words."""
    members: int
    """How many memories belong to it."""
    clusters: int
    """How many clusters of memories it is made of."""
    depth: float
    """How much is known: grows with the members and with how far they are to be believed."""
    freshness: float
    """How recently something about it came in, was confirmed or was used."""
    uncertainty: float
    """The share of members that are challenged, hardly believed, or the subject of an open question."""
    confidence: float
    """Depth, freshness and the lack of uncertainty, together."""
    gaps: int = 0
    """Open questions about its members."""
    latest_at: datetime | None = None
    """When something about it last came in."""
    scope: Scope = GLOBAL
    """Whose knowledge it is."""


class Confidence(Struct, frozen=True, kw_only=True):
    """How sure an answer to a question can be, and why."""

    certainty: Certainty
    """The judgment in a word."""
    domain: Domain | None = None
    """The field that the question falls into; None where it falls into none, or before the first dream."""
    confidence: float = 0.0
    """How sure an answer can be, from 0 to 1."""
    evidence: float = 0.0
    """How well the best memory fits the question, 0 to 1."""
    supporting: int = 0
    """How many memories fit it."""
    gaps: int = 0
    """Open questions about the memories that fit."""
    reason: str = ""
    """Why, in a sentence."""
    missing: tuple[str, ...] = ()
    """Parts that could not answer, so that the judgment rests on less."""


# A gap: something that should be known and is not, as a question.


class GapKind(StrEnum):
    """Why a question is open."""

    MISSING_FIELD = "missing_field"
    CONTRADICTION = "contradiction"
    STALE = "stale"
    DOUBT = "doubt"
    """After a change that may have made it untrue."""
    MISSING_FILES = "missing_files"
    INTERFERENCE = "interference"
    SAME_ENTITY = "same_entity"

    @property
    def is_about_words(self) -> bool:
        """Whether it asks about what memories say, and so is put into words when it is read."""
        return self not in (GapKind.MISSING_FIELD, GapKind.SAME_ENTITY)


class Gap(Struct, frozen=True, kw_only=True):
    """One open question, what it is about, and when it was last asked."""

    id: str
    """Stable for the same question in the same scope, so that finding it again changes nothing."""
    kind: GapKind
    """What is missing."""
    question: str
    """The question, as one would ask it."""
    scope: Scope = GLOBAL
    """Whose question it is."""
    memories: tuple[MemoryId, ...] = ()
    """The memories that it is about, in the order in which it speaks of them."""
    priority: float = 0.5
    """How much an answer would matter, from 0 to 1."""
    found_at: datetime
    """When it was first found."""
    asked_at: datetime | None = None
    """When it was last asked."""
    closed_at: datetime | None = None
    """When it was answered or settled."""
    snoozed_until: datetime | None = None
    """Until when nobody is to be asked, where somebody said "not now"."""


class AnswerOutcome(StrEnum):
    """What an answer did."""

    CONFIRMED = "confirmed"
    """What was asked about holds."""
    INVALIDATED = "invalidated"
    """What was asked about does not hold."""
    CORRECTED = "corrected"
    """Something else holds in its place."""
    CHOSEN = "chosen"
    """One of two holds."""
    KEPT_BOTH = "kept_both"
    """Two statements hold beside each other, and are not asked about again."""
    REMEMBERED = "remembered"
    """What was missing is known."""
    CHALLENGED = "challenged"
    """A person has to say it themselves: until then it is disputed, and the question stays open."""
    SNOOZED = "snoozed"
    """Not now: the question rests."""
    CLOSED = "closed"
    """The question is settled, and no memory is changed by it."""


class Answered(Struct, frozen=True, kw_only=True):
    """What an answer to a question did."""

    outcome: AnswerOutcome
    """What was done, in a word."""
    question: Gap
    """The question, as it is now."""
    holds: tuple[Memory, ...] = ()
    """The memories that hold because of the answer."""
    retired: tuple[Memory, ...] = ()
    """The memories that no longer do."""
    displaced: tuple[Memory, ...] = ()
    """What those had superseded; a person may bring it back."""


# What a look at the knowledge itself has found.


class Disagreement(Struct, frozen=True, kw_only=True):
    """Two memories that cannot both hold, or one that is disputed otherwise."""

    memory: Memory
    """The one that is disputed."""
    other: Memory | None = None
    """The one that disputes it."""


class Doubt(Struct, frozen=True, kw_only=True):
    """A memory that a change may have made untrue."""

    memory: Memory
    """What may be outdated."""
    change: Memory
    """The change."""


class Reflection(Struct, frozen=True, kw_only=True):
    """What is there twice, old, disputed, doubtful, open or unused; of each the weightiest."""

    scope: Scope = GLOBAL
    """Whose knowledge was looked at."""
    memories: int = 0
    """How many memories that hold were looked at, the newest."""
    is_whole: bool = True
    """Whether those are all that there are."""
    never_recalled: float = 0.0
    """The share of them that was never recalled, from 0 to 1."""
    withheld: int = 0
    """How many of them are confidential or flagged, and so in no list."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many there are of each, also where fewer are shown."""
    duplicates: tuple[tuple[Memory, ...], ...] = ()
    """Groups that look the same and were not merged."""
    stale: tuple[Memory, ...] = ()
    """Important, old, and never said again."""
    disputed: tuple[Disagreement, ...] = ()
    """What cannot hold together."""
    doubtful: tuple[Doubt, ...] = ()
    """What a change may have made untrue."""
    questions: tuple[Gap, ...] = ()
    """Open questions, the weightiest first."""
    least_known: tuple[Domain, ...] = ()
    """The fields of knowledge that the last dream found, the least known first."""


class StepOutcome(StrEnum):
    """How a step ended."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    STOPPED = "stopped"


class DreamChange(Struct, frozen=True, kw_only=True):
    """One thing that was changed, or would be: what, to which memories, and why."""

    step: str
    """The step that made the change."""
    action: str
    """What was done."""
    memories: tuple[MemoryId, ...]
    """The memories that it was done to."""
    reason: str
    """Why."""
    made: MemoryId | None = None
    """The memory that came of it, if one did and the run was not a rehearsal."""


class StepReport(Struct, frozen=True, kw_only=True):
    """What one step did; `why` says what was missing or what went wrong."""

    step: str
    """The name of the step."""
    outcome: StepOutcome
    """How it ended."""
    why: str = ""
    """What was missing or went wrong; empty where nothing did."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How often each action was taken."""
    dropped: int = 0
    """Proposals whose ground had shifted before they were applied."""
    milliseconds: float = 0.0
    """How long it took."""


class DreamReport(Struct, frozen=True, kw_only=True):
    """A whole run, step by step."""

    started_at: datetime
    """When the run began."""
    milliseconds: float = 0.0
    """How long it took."""
    dry_run: bool = False
    """Whether nothing was changed and this only tells."""
    resumed: bool = False
    """Whether it went on where an interrupted run had stopped."""
    finished: bool = True
    """Whether it came to the end; one that was stopped goes on with the next `dream`."""
    steps: tuple[StepReport, ...] = ()
    """What each step did, in their order."""
    changes: tuple[DreamChange, ...] = ()
    """The first thousand changes."""
    longest_write_milliseconds: float = 0.0
    """How long others had to wait for their writes at most."""
    number: int | None = None
    """Its place among the runs, given by the store: `dreams(before=…)` shows earlier ones."""
    scope: Scope | None = None
    """The one scope that it concerned; None for the whole store."""

    @property
    def changed(self) -> int:
        """How many changes were made, or would be."""
        return sum(sum(step.counts.values()) for step in self.steps)
