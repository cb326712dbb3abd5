"""
What a store can do, in Engram's own words: no SQL, no driver's types.

Implemented by `store.sqlite`; written so that another database can do the same. Used by the rooms above
through `Transaction`, whose tables share one snapshot (`read`) or one all-or-nothing write (`atomic`).
A memory has an `id`, which users see, and a `key`, a small ever-growing number that indexes use.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.aging.population import Population
    from engram.values import (
        AuditEvent,
        Box,
        Check,
        Edge,
        EdgeType,
        EmbedderIdentity,
        Entity,
        EntityType,
        Filters,
        HistoryEvent,
        Layer,
        Memory,
        MemoryId,
        Mention,
        Scope,
        Turn,
        TurnId,
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A memory's key and how well it fits; larger is better."""

    key: int
    score: float


@dataclass(frozen=True, slots=True)
class Quantised:
    """Vectors with eight bits a number, however few are stored: row `i` is `numbers[i] * scales[i]`."""

    numbers: NDArray[np.int8]
    scales: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.scales)


@dataclass(frozen=True, slots=True)
class Changes:
    """
    Memories that changed since a cursor, one column per field, oldest change first.

    `vectors` has a row for each memory; where `has_vector` is false the row is zero.
    """

    cursor: int
    keys: NDArray[np.int64]
    scopes: NDArray[np.int32]
    when: NDArray[np.int64]
    statuses: list[str]
    layers: list[str]
    types: list[str]
    kinds: list[str]
    categories: list[str]
    has_vector: NDArray[np.bool_]
    vectors: Quantised

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Part:
    """
    Some rows of a snapshot: one key, `columns` and `codes` of equal width for each.

    `head` holds for the whole snapshot and is the same in all its parts.
    """

    cursor: int
    head: bytes
    keys: NDArray[np.int64]
    columns: bytes
    codes: bytes


@dataclass(frozen=True, slots=True)
class Objection:
    """A question for which a memory was of no help: its fingerprint, and its vector in a space."""

    key: int
    question: bytes | None
    space: int | None
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Sketch:
    """What ranking needs to know of a memory: who said it, what it is about, and when, in microseconds."""

    speaker: str | None
    subject: str | None
    when: int


@dataclass(frozen=True, slots=True)
class Appearance:
    """A memory that speaks of an entity, the layer that it is in and the moment that it is about."""

    key: int
    layer: Layer
    when: datetime


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that readers were given: when, and in which sessions."""

    memory_id: MemoryId
    moments: tuple[datetime, ...]
    sessions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """How far an ageing sweep came; `finished_at` is None while it is not done."""

    started_at: datetime
    policy: str
    key: int = 0
    finished_at: datetime | None = None
    after_key: int = 0
    looked_at: int = 0
    by_rule: Mapping[str, int] = field(default_factory=dict)

    def at(self, key: int) -> Sweep:
        """Return the sweep under the key that the store gave it."""
        return replace(self, key=key)


class Memories(Protocol):
    """The memories themselves."""

    def add(self, memory: Memory, *, fingerprint: bytes) -> int:
        """Store a new memory and return its key."""
        ...

    def replace(self, memory: Memory) -> int:
        """Store a changed memory under its id and return its key."""
        ...

    def get(self, memory_id: MemoryId, *, scope: Scope) -> Memory | None:
        """Return a memory that this scope may see."""
        ...

    def by_keys(self, keys: Sequence[int]) -> dict[int, Memory]:
        """Return the memories that exist, by key."""
        ...

    def active_twin(self, fingerprint: bytes, *, scope: Scope) -> Memory | None:
        """Return the active memory of exactly this scope with this fingerprint."""
        ...

    def blank(self, memory_id: MemoryId) -> None:
        """Take every word of a memory out of its row and out of the notes about who was given it."""
        ...

    def has_active_twin(self, memory_id: MemoryId) -> bool:
        """Say whether another memory of the same scope is active with the same fingerprint."""
        ...

    def unenriched(self, *, limit: int) -> dict[int, Memory]:
        """Return active memories that nothing was inferred from yet, oldest first, by key."""
        ...

    def count_unenriched(self) -> int:
        """Return how many those are."""
        ...

    def mark_enriched(self, key: int) -> None:
        """Note that what can be inferred from a memory has been."""
        ...

    def of_session(self, session: str, *, scope: Scope) -> Sequence[str]:
        """Return what was stated in a session of exactly this scope and still holds, oldest first."""
        ...

    def with_predicate(self, predicate: str, *, scope: Scope, limit: int) -> list[int]:
        """Return the keys of the newest active memories of exactly this scope with this relation."""
        ...

    def ids_ending_with(self, ending: str, *, scope: Scope) -> list[MemoryId]:
        """Return the ids that end in these eight characters: what people copy from a list."""
        ...

    def list(
        self, *, scope: Scope, filters: Filters, limit: int, before: MemoryId | None
    ) -> Sequence[Memory]:
        """Return memories that this scope may see, newest first, from before the given one."""
        ...

    def keys_passing(self, *, scope: Scope, filters: Filters, limit: int) -> Sequence[int] | None:
        """
        Return the keys of all that pass, in order; None where they are more than the limit.

        None too where every word of the filters is so common that listing its memories would take long.
        """
        ...

    def indexable(self, *, after_key: int, limit: int) -> dict[int, Memory]:
        """Return memories whose status is indexed, in key order, for a rebuild."""
        ...

    def count(self) -> int:
        """Return how many memories are stored, in any status."""
        ...

    def count_by(self, column: Literal["status", "layer"]) -> dict[str, int]:
        """Return counts by `status`, or by `layer` among the active."""
        ...

    def largest_scopes(self, *, limit: int) -> dict[Scope, int]:
        """Return the scopes with the most active memories."""
        ...


class Snapshots(Protocol):
    """The vector index at rest, one snapshot for each space."""

    def load_snapshot(self, space: int) -> Sequence[Part]:
        """Return the parts of a space's snapshot in order, or none."""
        ...

    def save_snapshot(self, space: int, parts: Sequence[Part]) -> None:
        """Keep these parts in place of the space's earlier ones."""
        ...

    def clear(self) -> None:
        """Drop every snapshot."""
        ...


class Feedback(Protocol):
    """Which memory helped or did not, and for what kind of question."""

    def add(
        self,
        key: int,
        *,
        at: datetime,
        is_helpful: bool,
        question: bytes | None,
        space: int | None,
        vector: NDArray[np.float32] | None,
    ) -> None:
        """Note that a memory helped or did not; the question is its fingerprint and its vector."""
        ...

    def against(self, keys: Sequence[int], *, since: datetime) -> list[Objection]:
        """Return the questions for which these memories were of no help since then."""
        ...


class Candidates(Protocol):
    """What recall asks about memories that were found, before it fetches any."""

    def sketches(self, keys: Sequence[int]) -> dict[int, Sketch]:
        """Return what ranking needs to know of memories that were found."""
        ...

    def passing(self, keys: Sequence[int], *, scope: Scope, filters: Filters) -> set[int]:
        """Return which of these memories the scope may see and the filters let through."""
        ...

    def beside(
        self, keys: Sequence[int], *, reach: int, scope: Scope, filters: Filters
    ) -> list[tuple[int, int, int]]:
        """Return (memory, neighbour, distance) for the active memories beside each in its own session."""
        ...


class Ages(Protocol):
    """Memories as the columns that ageing computes with, and the count of their recalls."""

    def page(
        self,
        *,
        after_key: int,
        limit: int,
        scope: Scope | None = None,
        session_ends: Mapping[tuple[int, str], int] | None = None,
    ) -> Population:
        """Return the next memories that can age, of the whole store or of what a scope may see."""
        ...

    def of(
        self, keys: Sequence[int], *, session_ends: Mapping[tuple[int, str], int] | None = None
    ) -> Population:
        """Return these memories, where they can still age."""
        ...

    def session_ends(self, *, before: int) -> dict[tuple[int, str], int]:
        """Return when the sessions without a summary ended, of those that ended before that moment."""
        ...

    def count_recalls(
        self, recalled: Sequence[Recalled], *, stability_per_recall: float, stability_most: float
    ) -> None:
        """Add recalls to the logs of the memories; none is lost, however many processes count at once."""
        ...


class Sweeps(Protocol):
    """How far each ageing sweep came."""

    def latest(self) -> Sweep | None:
        """Return the sweep that was begun last."""
        ...

    def put(self, sweep: Sweep) -> Sweep:
        """Store how far a sweep came; a new one has key 0 and is given its own."""
        ...


class Turns(Protocol):
    """What was said, as it was said."""

    def add(self, turn: Turn) -> None:
        """Store a turn."""
        ...

    def get(self, turn_id: TurnId, *, scope: Scope) -> Turn | None:
        """Return a turn that this scope may see."""
        ...

    def list(self, *, scope: Scope, session: str | None, limit: int) -> Sequence[Turn]:
        """Return the latest turns, oldest of them first."""
        ...

    def claim(
        self, *, now: datetime, until: datetime, limit: int, within: tuple[Scope, str | None] | None = None
    ) -> Sequence[Turn]:
        """
        Take the oldest turns that nobody has read yet, for a while, and return them in order.

        All of them are of one scope and session: the given one, or that of the oldest.
        """
        ...

    def settle(self, turn_ids: Sequence[TurnId], *, now: datetime) -> bool:
        """Note that the turns have been read; says False, and changes nothing, if one of them was already."""
        ...

    def release(self, turn_ids: Sequence[TurnId]) -> None:
        """Give claimed turns back."""
        ...

    def pending(self, within: tuple[Scope, str | None] | None = None) -> tuple[int, datetime | None]:
        """Return how many turns wait to be read, of one conversation or of all, and since when the oldest."""
        ...

    def count(self) -> int:
        """Return how many turns are stored."""
        ...


class Terms(Protocol):
    """The text index."""

    @property
    def version(self) -> int:
        """The version of the cutting rules that the index was built with."""
        ...

    def put(self, key: int, terms: Sequence[str]) -> None:
        """Index a memory under these terms in place of any earlier ones."""
        ...

    def remove(self, key: int) -> None:
        """Take a memory out of the index, leaving no trace of its words."""
        ...

    def clear(self, *, version: int) -> None:
        """Empty the index for a rebuild under this version of the cutting rules."""
        ...

    def count(self) -> int:
        """Return how many memories are indexed."""
        ...

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return in how many memories each term stands; 0 for unknown ones."""
        ...

    def search(
        self, weights: Mapping[str, float], *, scope: Scope, filters: Filters, limit: int
    ) -> list[Found]:
        """Return memories with any of the terms, best first by the sum of the weights of those they hold."""
        ...

    def newest(self, term: str, *, scope: Scope, filters: Filters, limit: int) -> list[Found]:
        """Return the newest memories with a term that is too common to look through, scored 0."""
        ...


class Vectors(Protocol):
    """The vectors, in spaces that cannot be compared with one another."""

    def space(self, identity: EmbedderIdentity) -> int | None:
        """Return the number of the embedder's space, or None if it has none yet."""
        ...

    def make_space(self, identity: EmbedderIdentity) -> int:
        """Return the number of the embedder's space, made if need be."""
        ...

    def put(self, space: int, keys: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Store one vector per memory in place of any earlier one, and mark the memories as changed."""
        ...

    def requantise(self, space: int, keys: Sequence[int], bits: int) -> int:
        """
        Store these memories' vectors with 8, 4, 2 or 1 bits a number, and return how many changed.

        Only ever downwards, and without a mark of change: readers hold the better vector in memory.
        """
        ...

    def remove(self, key: int) -> None:
        """Take a memory's vectors out of every space."""
        ...

    def clear(self) -> None:
        """Drop all vectors of all spaces, for a rebuild."""
        ...

    def drop_stray(self) -> None:
        """Drop the vectors of memories that should have none."""
        ...

    def pending(self, space: int | None, *, limit: int) -> dict[int, Memory]:
        """Return indexed memories that have no vector in the space yet, newest first."""
        ...

    def count_pending(self, space: int | None, *, scope: Scope | None = None) -> int:
        """Return how many those are, of all or of those that a scope may see."""
        ...

    def fetch(self, space: int, keys: Sequence[int]) -> tuple[list[int], Quantised]:
        """Return the keys that have a vector, and their vectors in that order."""
        ...

    def latest_change(self) -> int:
        """Return the cursor of the newest change in the store."""
        ...

    def changes(self, space: int, *, dimension: int, since: int, limit: int) -> Changes:
        """Return the memories that changed after a cursor, with their vectors in the space."""
        ...


class Boxes(Protocol):
    """Boxes of memories that were stored under one topic."""

    def open_in(self, scope: Scope) -> Box | None:
        """Return the box of exactly this scope that still takes memories, if there is one."""
        ...

    def put(self, box: Box) -> None:
        """Store a box in place of its earlier state."""
        ...

    def sealed(self, scope: Scope, *, limit: int) -> Sequence[Box]:
        """Return the latest sealed boxes of exactly this scope, newest first."""
        ...


class HandedOut(Protocol):
    """Which memories were given to whom, so that their echo is not taken for news."""

    def add(self, memory_ids: Iterable[MemoryId], *, scope: Scope, session: str, at: datetime) -> None:
        """Note that these memories were given to a reader in this scope."""
        ...

    def since(self, moment: datetime, *, scope: Scope, limit: int) -> Sequence[Memory]:
        """Return what readers in exactly this scope were given since then, latest first."""
        ...

    def prune(self, before: datetime) -> None:
        """Forget what was given before that moment."""
        ...


class History(Protocol):
    """What happened to each memory."""

    def add(self, event: HistoryEvent) -> None:
        """Record a change."""
        ...

    def of(self, memory_id: MemoryId) -> list[HistoryEvent]:
        """Return a memory's changes, oldest first."""
        ...

    def since(self, memory_ids: Sequence[MemoryId], moment: datetime) -> dict[MemoryId, list[HistoryEvent]]:
        """Return what happened to these memories after a moment, oldest first, where anything did."""
        ...


class Audit(Protocol):
    """Who did what in the store."""

    def add(self, event: AuditEvent) -> None:
        """Record an action."""
        ...

    def recent(self, *, limit: int) -> list[AuditEvent]:
        """Return the latest actions, newest first."""
        ...


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """Links by the keys of their ends, one column per field; a link that was taken away weighs 0."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    types: list[str]
    weights: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True, slots=True)
class SharedEntities:
    """Pairs of memories that speak of the same entity, and how many memories speak of it."""

    origins: NDArray[np.int64]
    others: NDArray[np.int64]
    mentions: NDArray[np.int64]


class TraitRows(Protocol):
    """What filters look memories up by; derived, and kept true by every write of a memory."""

    @property
    def is_current(self) -> bool:
        """Whether the table was filled by the rules of this version."""
        ...

    def rebuild(self) -> int:
        """Fill the table anew from the memories, inside a write, and return how many rows it has."""
        ...

    def count_wrong(self) -> int:
        """Return how many rows are missing or should not be there, which is none in a sound store."""
        ...


class Edges(Protocol):
    """Links between memories."""

    def add(self, edge: Edge) -> None:
        """Store a link; the same ends and type replace the weight. Raises `EdgeNotAllowed`."""
        ...

    def remove(self, source: MemoryId, target: MemoryId, kind: EdgeType) -> None:
        """Take a link away, if it is there."""
        ...

    def of(self, memory_id: MemoryId) -> list[Edge]:
        """Return the links that leave or reach a memory, the latest changed last."""
        ...

    def latest_change(self) -> int:
        """Return the cursor of the newest change of a link."""
        ...

    def pruned_change(self) -> int:
        """Return the newest removal that the feed has dropped; who stopped before it must begin again."""
        ...

    def changes(self, *, since: int, limit: int) -> tuple[int, EdgeColumns]:
        """Return a new cursor and the links that changed after the given one, in order; 0 begins anew."""
        ...

    def touching(self, keys: Sequence[int]) -> EdgeColumns:
        """Return the links that leave or reach any of these memories."""
        ...

    def sharing_entities(self, most_mentions: Mapping[int, int], *, limit: int) -> SharedEntities:
        """Return who speaks of the same as these memories, of what at most so many speak of; rarest first."""
        ...


class Entities(Protocol):
    """What memories speak of; readers see a name only while a memory that uses it may be found."""

    def add(self, entity: Entity) -> None:
        """Store a new entity under all its names."""
        ...

    def update(self, entity: Entity) -> None:
        """Store a changed entity under its id; names are added, never taken away."""
        ...

    def link(self, entity_id: str, memory_id: MemoryId, *, name: str, at: datetime) -> bool:
        """Note that a memory calls an entity so; say whether that is the first time that it speaks of it."""
        ...

    def unlink(self, memory_id: MemoryId) -> None:
        """Take a memory's mentions away, and every name and entity that no other memory speaks of."""
        ...

    def candidates(self, mention: Mention, *, scope: Scope) -> Sequence[Entity]:
        """Return the entities of exactly this scope that the mention may mean, found ones and hidden ones."""
        ...

    def get(self, entity_id: str, *, scope: Scope) -> Entity | None:
        """Return an entity that this scope may see."""
        ...

    def by_name(self, name: str, *, scope: Scope) -> Sequence[Entity]:
        """Return the entities that go by this name, however it is written."""
        ...

    def starting_with(self, text: str, *, scope: Scope, limit: int) -> Sequence[Entity]:
        """Return the entities with a name that begins so, for completion."""
        ...

    def list(self, *, scope: Scope, kind: EntityType | None = None, limit: int) -> Sequence[Entity]:
        """Return the entities that this scope may see, the latest mentioned first."""
        ...

    def of_memory(self, memory_id: MemoryId, *, scope: Scope) -> Sequence[Entity]:
        """Return what a memory speaks of."""
        ...

    def named(
        self,
        folded: Iterable[str],
        *,
        given: Iterable[str] = (),
        family: Iterable[str] = (),
        scope: Scope,
    ) -> Sequence[Entity]:
        """
        Return the entities that go by one of these folded names, the latest mentioned first.

        Also the people with a longer name that begins with one of `given` or ends with one of `family`.
        """
        ...

    def memories_of(self, entity_id: str, *, scope: Scope, filters: Filters, limit: int) -> Sequence[int]:
        """Return the keys of the memories that speak of an entity, the latest stored first."""
        ...

    def appearances(
        self, entity_ids: Sequence[str], *, scope: Scope, filters: Filters
    ) -> Sequence[Appearance]:
        """Return every memory that speaks of one of these, those about the latest moment first."""
        ...

    def companions(
        self, entity_ids: Sequence[str], keys: Sequence[int], *, scope: Scope, limit: int
    ) -> Sequence[tuple[Entity, int]]:
        """Return who else these memories speak of, and how many of them do, the most frequent first."""
        ...

    def count(self) -> int:
        """Return how many entities are stored."""
        ...

    def is_empty(self) -> bool:
        """Say whether nothing was ever named, so that nothing need be looked up."""
        ...


class Scopes(Protocol):
    """The scopes that something was stored in."""

    def visible(self, scope: Scope) -> list[int]:
        """Return the numbers of the stored scopes that a reader in this scope may see."""
        ...

    def find(self, scope: Scope) -> int | None:
        """Return the number of exactly this scope, if anything was stored in it."""
        ...

    def get(self, number: int) -> Scope:
        """Return the scope with this number."""
        ...


class Transaction(Protocol):
    """Every table, in one snapshot or one write."""

    @property
    def memories(self) -> Memories: ...
    @property
    def turns(self) -> Turns: ...
    @property
    def terms(self) -> Terms: ...
    @property
    def vectors(self) -> Vectors: ...
    @property
    def history(self) -> History: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def edges(self) -> Edges: ...
    @property
    def entities(self) -> Entities: ...
    @property
    def scopes(self) -> Scopes: ...
    @property
    def boxes(self) -> Boxes: ...
    @property
    def handed_out(self) -> HandedOut: ...
    @property
    def candidates(self) -> Candidates: ...
    @property
    def feedback(self) -> Feedback: ...
    @property
    def snapshots(self) -> Snapshots: ...
    @property
    def ages(self) -> Ages: ...
    @property
    def sweeps(self) -> Sweeps: ...
    @property
    def traits(self) -> TraitRows: ...


class Store(Protocol):
    """One place where memories are kept."""

    @property
    def location(self) -> str:
        """Where the store is, without secrets."""
        ...

    def atomic(self) -> AbstractContextManager[Transaction]:
        """Open a write: all of it is durable when the block ends, none of it if it raises. Nests."""
        ...

    def read(self) -> AbstractContextManager[Transaction]:
        """Open a snapshot: what it shows does not change while the block runs."""
        ...

    def describe(self) -> Mapping[str, object]:
        """Return format version, size in bytes and whether the store is encrypted."""
        ...

    def check(self) -> Iterable[Check]:
        """Look for damage and disagreement between the tables."""
        ...

    def close(self) -> None:
        """Let go of the store; nothing that was acknowledged is pending."""
        ...
