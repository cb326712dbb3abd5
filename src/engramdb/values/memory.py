"""Memory: one statement with a life of its own, the values it is made of, and its status machine."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from engramdb.errors import StatusNotAllowed
from engramdb.values.privacy import PiiSpan
from engramdb.values.reading import Force, Lasting
from engramdb.values.scope import GLOBAL, Scope


class Status(StrEnum):
    """Where a memory stands. What is `active` or `challenged` is recalled by default."""

    ACTIVE = "active"
    CHALLENGED = "challenged"
    SUPERSEDED = "superseded"
    MERGED = "merged"
    INVALIDATED = "invalidated"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"
    PRUNED = "pruned"
    ERASED = "erased"

    @property
    def is_terminal(self) -> bool:
        """Whether only a person may bring the memory back."""
        return self not in (Status.ACTIVE, Status.CHALLENGED)

    @property
    def is_indexed(self) -> bool:
        """Whether the text and vector indexes still hold the memory."""
        return self not in (Status.FORGOTTEN, Status.PRUNED, Status.ERASED)


class ActorKind(StrEnum):
    """Who stands behind a change."""

    PERSON = "person"
    AGENT = "agent"
    RULE = "rule"


class Surface(StrEnum):
    """How an actor reaches the store."""

    PYTHON = "python"
    CLI = "cli"
    HTTP = "http"
    MCP = "mcp"
    HOOK = "hook"
    """A hook of the program that the person types into."""
    INTEGRATION = "integration"
    """A tool that another framework gives to its model."""


class Actor(Struct, frozen=True, kw_only=True):
    """The one who does something: a person, an agent that acts for one, or a rule of ours."""

    name: str = "user"
    """What the one is called."""
    kind: ActorKind = ActorKind.PERSON
    """Whether it is a person, an agent or a rule."""
    surface: Surface | None = None
    """How the one reached the store; None for a rule, and for what a version noted that did not ask."""
    token: str | None = None
    """The id of the token that was shown, which is no secret; None where none was."""

    @property
    def relays(self) -> bool:
        """Whether what it reports as the person's words is hearsay: hooks hand on what was typed."""
        return self.kind is ActorKind.AGENT and self.surface is not Surface.HOOK

    @property
    def own_source(self) -> Source:
        """Whose word it is where it says nothing else: a person's own, or an agent's conclusion."""
        return Source.ASSISTANT if self.kind is ActorKind.AGENT else Source.HUMAN

    def is_same_as(self, other: Actor) -> bool:
        """Return whether both are the same one, whichever way each came in."""
        return (self.name, self.kind) == (other.name, other.kind)


BELIEVED = frozenset({Status.ACTIVE, Status.CHALLENGED})
"""What is held to be true, the disputed included."""
_GOING = frozenset({Status.ARCHIVED, Status.PRUNED, Status.ERASED})
_REPLACED = frozenset({Status.SUPERSEDED, Status.MERGED, Status.INVALIDATED})

RULE_MOVES: dict[Status, frozenset[Status]] = {
    Status.ACTIVE: _GOING | _REPLACED | {Status.CHALLENGED, Status.FORGOTTEN},
    Status.CHALLENGED: _GOING | _REPLACED | {Status.ACTIVE, Status.FORGOTTEN},
    Status.SUPERSEDED: _GOING,
    Status.MERGED: _GOING,
    Status.INVALIDATED: _GOING,
    Status.ARCHIVED: frozenset({Status.PRUNED, Status.ERASED}),
    Status.FORGOTTEN: frozenset({Status.ERASED}),
    Status.PRUNED: frozenset({Status.ERASED}),
    Status.ERASED: frozenset(),
}


def check_move(old: Status, new: Status, *, actor: Actor, reason: str) -> None:
    """Raise `StatusNotAllowed` unless this actor may make this move."""
    if old is new:
        raise StatusNotAllowed(f"the memory is already {old}")
    if old is Status.ERASED:
        raise StatusNotAllowed(f"an erased memory cannot become {new}: nothing is left of it")
    if actor.kind is ActorKind.RULE and new not in RULE_MOVES[old]:
        raise StatusNotAllowed(
            f"a rule may not turn {old} into {new}", hint="Only a person can bring it back."
        )
    if old.is_terminal and not new.is_terminal and not reason.strip():
        raise StatusNotAllowed(
            f"bringing a memory back from {old} needs a reason",
            hint="Say why: `reason`, or `--reason` on the command line.",
        )


# Make identifiers that sort by the time they were made (UUID version 7, RFC 9562).

MemoryId: TypeAlias = str
TurnId: TypeAlias = str

_COUNTER_LIMIT = 1 << 12


class _Sequence:
    """The last millisecond and count that were handed out; a lock guards the pair."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._millisecond = 0
        self._count = 0

    def next(self, millisecond: int) -> tuple[int, int]:
        """Return a pair that is larger than any before it, unless the clock was moved back."""
        with self._lock:
            reached = self._millisecond + self._count // _COUNTER_LIMIT
            if self._millisecond <= millisecond <= reached:
                self._count += 1
            else:
                self._millisecond, self._count = millisecond, 0
            return self._millisecond + self._count // _COUNTER_LIMIT, self._count % _COUNTER_LIMIT


_sequence = _Sequence()


def new_id(now: datetime) -> str:
    """Return a UUIDv7 for this moment, as 36 characters."""
    millisecond, count = _sequence.next(int(now.timestamp() * 1000))
    number = (millisecond & (1 << 48) - 1) << 80 | 0x7 << 76 | count << 64 | 0b10 << 62 | secrets.randbits(62)
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


# Memory: one atomic statement with a life of its own, and the small values that it is made of.
#
# Frozen: a change is a new value, written with a history row. Knows no clock and does no I/O; times are UTC
# and come from the caller.


class Layer(StrEnum):
    """How long the memory is meant to live."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    CODEBASE = "codebase"


class MemoryType(StrEnum):
    """What sort of information it holds."""

    FACT = "fact"
    PROCEDURE = "procedure"
    NARRATIVE = "narrative"


class Kind(StrEnum):
    """An episode happened once; a note holds until something replaces it."""

    EPISODE = "episode"
    NOTE = "note"


class Source(StrEnum):
    """Where it came from, which says how far it is trusted."""

    HUMAN = "human"
    ASSISTANT = "assistant"
    INGEST = "ingest"

    @property
    def trust(self) -> float:
        """Trust in [0, 1]: people first, then the agent's own words, then imported text."""
        return {Source.HUMAN: 1.0, Source.ASSISTANT: 0.7, Source.INGEST: 0.5}[self]


class Voice(StrEnum):
    """Whose words they are, of all that stands in a message."""

    OWN = "own"
    """The speaker's own."""
    QUOTED = "quoted"
    """Of somebody else, inside the speaker's own sentence or marked as a quotation."""
    PASTED = "pasted"
    """Put in from elsewhere: a page, a file, a ticket, a draft."""
    FORWARDED = "forwarded"
    """A mail or chat message of somebody else."""
    GENERATED = "generated"
    """Written by a model and put in."""
    CODE = "code"
    LOG = "log"
    """Output of a program."""


class SecurityTier(StrEnum):
    """How much protection the content needs at rest."""

    CLEARTEXT = "cleartext"
    SENSITIVE = "sensitive"
    CONFIDENTIAL = "confidential"

    @classmethod
    def strictest(cls, tiers: Iterable[SecurityTier]) -> SecurityTier:
        """Return the tier that protects most."""
        return max(tiers, key=list(cls).index)


class ConfidenceTier(StrEnum):
    """Confidence in words."""

    EXPLICIT = "explicit"
    IMPLIED = "implied"
    INFERRED = "inferred"
    SPECULATIVE = "speculative"

    @classmethod
    def of(cls, confidence: float) -> ConfidenceTier:
        """Return the tier of a confidence; below 0.40 it is speculative."""
        if confidence >= 0.95:
            return cls.EXPLICIT
        if confidence >= 0.70:
            return cls.IMPLIED
        return cls.INFERRED if confidence >= 0.40 else cls.SPECULATIVE


CATEGORIES = frozenset(
    {
        *(
            "fact",
            "preference",
            "correction",
            "entity",
            "decision",
            "relationship",
            "principle",
            "commitment",
        ),
        *(
            "moment",
            "skill",
            "instruction",
            "context",
            "project",
            "person",
            "technical",
            "procedure",
            "general",
        ),
    }
)
"""The categories that rules know by name; a user may add others of the same form."""


RULE_CATEGORIES = frozenset({"principle", "instruction"})
"""What a person files so is a rule, however it is worded."""
SUMMED_UP = "session-"
"""How the extractor of a memory begins that sums up a session."""
DREAMT = "dream."
"""How the extractor of a memory begins that a dream has stated."""
PROFILES = f"{DREAMT}profiles"
"""How the extractor of a profile begins."""
DIGESTS = (f"{DREAMT}crystals", PROFILES)
"""How the extractor of a memory begins that stands for many others, and is kept up to date by the dreams."""
INJECTION = "injection"
"""The flag of a memory that reads like an instruction to an agent: it enters no window by itself."""
QUARANTINED = "quarantined"
"""The flag of an import that reads like one: it enters no window by itself until a person releases it."""
RETURNED = "forgotten before "
"""How the flag begins of a memory that the person has brought back; the day of the forgetting follows."""
DOCUMENT_EXTRACTOR = "shelf"
"""The extractor of a memory that only stored documents state."""


MAX_RELAYED_CONFIDENCE = 0.95
"""For what an agent reports as the person's words: the least that still counts as explicit."""
MAX_HEARD_CONFIDENCE = 0.9
"""For what an agent concluded and for imported text: implied, whatever is claimed."""


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a memory came from: who said it, in which session, and the evidence behind it."""

    source: Source = Source.HUMAN
    """What kind of source stated it."""
    speaker: str | None = None
    """Who said it."""
    relayed_by: str | None = None
    """The agent that reported it as the person's words; None where no agent stands between."""
    voice: Voice = Voice.OWN
    """Whose words they are: the speaker's own, or pasted, forwarded, quoted, code, a log."""
    session: str | None = None
    """The conversation in which it was said."""
    turns: tuple[TurnId, ...] = ()
    """The turns that it was read from."""
    episodes: tuple[MemoryId, ...] = ()
    """The memories that it was concluded from."""
    wordings: tuple[MemoryId, ...] = ()
    """The memories that say the same in other words: merged into it, it stands for them."""

    @property
    def max_confidence(self) -> float:
        """How far it may be believed on this word alone: nobody's is worth as much as the person's own."""
        if self.source is Source.HUMAN:
            return 1.0 if self.relayed_by is None else MAX_RELAYED_CONFIDENCE
        return MAX_HEARD_CONFIDENCE


class Moment(Struct, frozen=True, kw_only=True):
    """A time that a memory names, and when that is."""

    words: str
    """As it was said: `next Friday`."""
    start: datetime
    """Its beginning."""
    end: datetime
    """Its end, exclusive."""
    is_relative: bool = False
    """Whether the words mean another time on another day, so that the date is shown beside them."""


class Claim(Struct, frozen=True, kw_only=True):
    """One thing that a memory says of one subject; a sentence may make several."""

    subject: str
    """Of whom or what, with the whole path to it: `Maya's sister's dog`."""
    predicate: str
    """Such as `lives_in`; verbs that no relation knows stand for themselves."""
    object: str
    """What the subject is said to have, be or do."""
    qualifiers: tuple[str, ...] = ()
    """What the claim holds for only: `on Fridays`, `for the API`."""
    is_negated: bool = False
    """Whether it denies what it says."""
    is_hedged: bool = False
    """Whether the speaker was not sure."""


class Affect(Struct, frozen=True, kw_only=True):
    """How it felt: valence in [-1, 1], intensity and arousal in [0, 1]."""

    valence: float = 0.0
    """How pleasant it was, from -1 to 1."""
    intensity: float = 0.0
    """How strong the feeling was, from 0 to 1."""
    arousal: float = 0.0
    """How excited it was, from 0 to 1."""


class AccessLog(Struct, frozen=True, kw_only=True):
    """How often and when it was recalled; `recent` holds twenty moments at most, oldest first."""

    count: int = 0
    """How often it was recalled."""
    last_at: datetime | None = None
    """When it was last recalled."""
    recent: tuple[datetime, ...] = ()
    """The latest recalls, oldest first; twenty at most."""
    sessions: int = 0
    """In how many conversations it was recalled."""


class Detail(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shorter forms of the content for a tight prompt, and the tokens that each level costs."""

    summary: str | None = None
    """A sentence."""
    key_fact: str | None = None
    """A phrase."""
    tag: str | None = None
    """A word or two."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """What each level costs, by its name."""


class Traits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was inferred from the content, for filters."""

    people: tuple[str, ...] = ()
    """People that it names."""
    technologies: tuple[str, ...] = ()
    """Technologies that it names."""
    paths: tuple[str, ...] = ()
    """Files and folders that it names."""
    dates: tuple[str, ...] = ()
    """Dates that it names."""
    urls: tuple[str, ...] = ()
    """Addresses that it names."""
    topics: tuple[str, ...] = ()
    """Topics that it touches."""
    language: str | None = None
    """The programming language of code in it."""
    sentiment: str | None = None
    """`positive`, `negative` or `neutral`."""


class Memory(Struct, frozen=True, kw_only=True):
    """One statement, with everything that decides how long it lives and when it is found."""

    id: MemoryId
    """Its id; the last eight characters are enough to name it."""
    content: str
    """The statement, in the words of who made it."""
    created_at: datetime
    """When it was stored."""
    updated_at: datetime
    """When anything about it last changed, other than the count of recalls."""
    scope: Scope = GLOBAL
    """Who it belongs to."""
    status: Status = Status.ACTIVE
    """Whether it counts, and otherwise what became of it."""
    layer: Layer = Layer.EPISODIC
    """How long it is meant to live."""
    type: MemoryType = MemoryType.FACT
    """What it holds."""
    category: str = "general"
    """What it is about, in a word such as `preference`."""
    kind: Kind = Kind.NOTE
    """Whether it happened once, or holds until replaced."""
    subject: str | None = None
    """Of whom or what it says something, where that was read from the words."""
    predicate: str | None = None
    """What it says of the subject, such as `works_at`."""
    object: str | None = None
    """What the subject is said to have, be or do."""
    is_negated: bool | None = None
    """Whether it denies what it says; None where a version stored it that did not note this."""
    replaces: str | None = None
    """The object that it takes the place of: vim in "switched from vim to Helix"."""
    provenance: Provenance = Provenance()
    """Where it came from."""
    occurred_at: datetime | None = None
    """When what it says happened, where that is known."""
    said_at: datetime | None = None
    """When it was said first, which may be long before it was stored; None: when it was stored."""
    confirmed_at: datetime | None = None
    """When it was last stated again, maybe before it was stored; None while one statement is all there is."""
    valid_from: datetime | None = None
    """From when on it is true, where that is known."""
    valid_to: datetime | None = None
    """Until when it was true, where that is known."""
    forget_after: datetime | None = None
    """When it may go."""
    confidence: float = 1.0
    """How far it is believed, from 0 to 1."""
    importance: float = 0.5
    """How much it matters, from 0 to 1."""
    stability: float = 1.0
    """How slowly it fades: 1 at first, more with every recall."""
    strength: float = 1.0
    """How firmly it is held: 1 at first, more after each replay in a dream."""
    surprise: float | None = None
    """How unexpected it was when it came in, from 0 to 1; null where that was not measured."""
    reinforcements: int = 0
    """How often it was stated again."""
    affect: Affect = Affect()
    """How it felt."""
    access: AccessLog = AccessLog()
    """How often and when it was recalled."""
    pinned: bool = False
    """Whether it is protected from every automatic loss."""
    version: int = 1
    """Its place in the chain of corrections, from 1."""
    supersedes: MemoryId | None = None
    """The memory that it replaced."""
    superseded_by: MemoryId | None = None
    """The memory that replaced it."""
    security: SecurityTier = SecurityTier.CLEARTEXT
    """How much protection the content needs at rest."""
    detail: Detail = field(default_factory=Detail)
    """Shorter forms of the content."""
    traits: Traits = Traits()
    """What was inferred from the content, for filters."""
    statement: str | None = None
    """The same in the third person, complete in itself; None where the words alone are certain."""
    force: Force = Force.ASSERTED
    """What the speaker did with the words: assert, suppose, quote, ask, or set a rule."""
    lasting: Lasting | None = None
    """For how long it can be expected to hold; None where nobody has read it for that."""
    answers: str | None = None
    """The question that it answers, where it was asked just before."""
    refers_to: tuple[str, ...] = ()
    """What "it", "there" or "the second one" in it stands for, in the words of what was said before."""
    moments: tuple[Moment, ...] = ()
    """The times that it names."""
    claims: tuple[Claim, ...] = ()
    """What it says of whom, one by one; the first is also in `subject`, `predicate` and `object`."""
    flags: tuple[str, ...] = ()
    """Warnings of admission in a word each, such as `injection`, which keeps it out of automatic context."""
    extractor: str | None = None
    """Which extractor and version read it out of a turn; None for what was stated outright."""
    verbatim: str | None = None
    """The exact words, where they must not be paraphrased: a quotation, code, a command."""
    helped: int = 0
    """How often feedback said that it helped."""
    unhelpful: int = 0
    """How often feedback said that it did not help."""
    successes: int = 0
    """How often a procedure worked."""
    failures: int = 0
    """How often a procedure did not work."""
    layer_held: bool = False
    """Whether a person chose the layer, so that rules leave it there."""
    box: str | None = None
    """The box of the topic that it was stored under."""
    private: tuple[PiiSpan, ...] | UnsetType = UNSET
    """Where private words stand in `content`, as a model found when it was stored; unset: rules alone look.
    Callers never get it, so it is absent from JSON."""

    @property
    def is_derived(self) -> bool:
        """Whether a dream stated it because of other memories."""
        return (self.extractor or "").startswith(DREAMT)

    @property
    def is_session_summary(self) -> bool:
        """Whether it repeats, in short, what was stated in a session and is stored by itself."""
        return (self.extractor or "").startswith(SUMMED_UP)

    @property
    def is_profile(self) -> bool:
        """Whether it lists, under a heading, what other memories say of somebody or something."""
        return (self.extractor or "").startswith(PROFILES)

    @property
    def is_overheard(self) -> bool:
        """Whether an assistant said it in a conversation, and nobody asked to remember it."""
        return self.extractor is not None and self.provenance.source is Source.ASSISTANT

    @property
    def is_restatement(self) -> bool:
        """Whether it puts other memories into words, and so is never a version of one of them."""
        return self.is_derived or self.is_session_summary

    @property
    def told(self) -> str:
        """What it says to one who was not there: the statement where there is one, otherwise its words."""
        return self.statement or self.content

    @property
    def is_suspicious(self) -> bool:
        """Whether it reads like an instruction to an agent, which keeps it out of automatic windows."""
        return INJECTION in self.flags

    @property
    def forgotten_before(self) -> str | None:
        """The day on which the person had asked to forget what it says, where they have said it again."""
        told = (one.removeprefix(RETURNED) for one in self.flags if one.startswith(RETURNED))
        return next(told, None)

    @property
    def days_meant(self) -> tuple[str, ...]:
        """The first days of its relative times: said on another day, the same words are another statement."""
        return tuple(one.start.date().isoformat() for one in self.moments if one.is_relative)

    @property
    def is_believed(self) -> bool:
        """Whether it was meant as true of the world or as a rule: no guess, question, quotation or story."""
        return self.force in (Force.ASSERTED, Force.RULE) and self.provenance.voice is Voice.OWN

    @property
    def is_rule(self) -> bool:
        """Whether a person set it as a rule for those who work for them, in their own words."""
        is_set = self.force is Force.RULE or self.category in RULE_CATEGORIES
        is_own = self.provenance.source is Source.HUMAN and self.provenance.voice is Voice.OWN
        return is_set and is_own and not self.is_derived

    @property
    def endures(self) -> bool:
        """
        Whether it is of a kind that does not fade: who somebody is, their health, a secret, a rule.

        What was only asked, supposed or quoted is none of it, and so is a guess: that has to be confirmed.
        """
        is_digest = (self.extractor or "").startswith(DIGESTS)
        is_secret = self.security is SecurityTier.CONFIDENTIAL
        is_permanent = self.lasting is Lasting.PERMANENT and self.is_believed
        return is_permanent or is_secret or self.is_rule or is_digest

    @property
    def due_at(self) -> datetime | None:
        """The end of the last time that it names, or was given, up to which it does not fade."""
        given = (at for at in (self.occurred_at, self.valid_to) if at is not None and at > self.stated_at)
        return max((*(one.end for one in self.moments), *given), default=None)

    def is_past(self, now: datetime) -> bool:
        """Return whether what it says lay ahead when it was said, and is over: a plan, a deadline."""
        due = self.due_at
        is_plan = self.lasting is Lasting.DATED and due is not None and due > self.stated_at
        return is_plan and due is not None and due <= now

    @property
    def confidence_tier(self) -> ConfidenceTier:
        """Confidence in words."""
        return ConfidenceTier.of(self.confidence)

    @property
    def when(self) -> datetime:
        """The moment that the statement is about, or else the moment it was stored."""
        return self.occurred_at or self.created_at

    @property
    def stated_at(self) -> datetime:
        """When it was said first."""
        return self.said_at or self.created_at

    @property
    def last_stated_at(self) -> datetime:
        """When it was last said; of two that contradict each other the one that was said last holds."""
        return max(self.stated_at, self.confirmed_at or self.stated_at)

    @property
    def holds_from(self) -> datetime:
        """From when on it is true, as far as anybody said."""
        return self.valid_from or self.when

    def holds_at(self, moment: datetime) -> bool:
        """Return whether what it says was true at a moment, as far as anybody said."""
        return self.holds_from <= moment and (self.valid_to is None or moment < self.valid_to)

    @property
    def evidence_count(self) -> int:
        """How often it has been stated."""
        return max(1 + self.reinforcements, len(self.provenance.turns), len(self.provenance.episodes))

    @property
    def stated(self) -> Memory:
        """The same without what recalls and feedback count: equal for two looks if no one changed it."""
        return self.evolve(
            access=AccessLog(), stability=0.0, strength=0.0, helped=0, unhelpful=0, private=UNSET
        )

    @property
    def unmarked(self) -> Memory:
        """The same without where private words stand: as callers get it."""
        return self if self.private is UNSET else self.evolve(private=UNSET)

    def is_over(self, now: datetime) -> bool:
        """Return whether its last day has passed: it is gone then, whenever a sweep comes to take it away."""
        is_standing = self.status in (Status.ACTIVE, Status.CHALLENGED) and not self.pinned
        return is_standing and self.forget_after is not None and self.forget_after <= now

    def evolve(self, **changes: Any) -> Memory:
        """Return a copy with these fields changed."""
        return replace(self, **changes)


class ForgottenMemory(Memory, frozen=True, kw_only=True):
    """A memory that was just forgotten, and what it had displaced."""

    displaced: tuple[MemoryId, ...] = ()
    """What it had superseded: `restore` lets one of these count again."""
    reinstated: bool = False
    """Whether these count again already."""


class CorrectedMemory(Memory, frozen=True, kw_only=True):
    """A memory that states what holds instead of another one."""

    disputed: MemoryId | None = None
    """The one that it was to replace and may only dispute, since that is pinned or about health and only a
    person replaces it: both are kept, and a question is open."""


# EmbedderIdentity: which vectors may be compared with one another.

Metric: TypeAlias = Literal["cosine", "dot", "euclidean", "hamming"]


class EmbedderIdentity(Struct, frozen=True, kw_only=True):
    """The same name, dimension, revision and metric mean the same space."""

    name: str
    dimension: int
    revision: str
    metric: Metric = "cosine"
