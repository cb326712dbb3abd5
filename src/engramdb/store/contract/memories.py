"""The store's contract for memories: rows, changes, filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.values import (
    Box,
    Entity,
    EntityType,
    Filters,
    Layer,
    Memory,
    MemoryId,
    Mention,
    Scope,
    SecurityTier,
    Status,
    Turn,
    TurnId,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# What a store hands out besides values: rows and columns that indexes and aging compute with.
#
# No SQL, no driver's types.


class ScoredKey(Struct, frozen=True, gc=False):
    """A memory's key and how well it fits; larger is better."""

    key: int
    score: float


class QuantizedVectors(Struct, frozen=True):
    """Vectors with eight bits a number, however few are stored: row `i` is `numbers[i] * scales[i]`."""

    numbers: NDArray[np.int8]
    scales: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.scales)


class Changes(Struct, frozen=True):
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
    vectors: QuantizedVectors

    def __len__(self) -> int:
        return len(self.keys)


class SnapshotPart(Struct, frozen=True):
    """
    Some rows of a snapshot: one key, `columns` and `codes` of equal width for each.

    `head` holds for the whole snapshot and is the same in all its parts.
    """

    cursor: int
    head: bytes
    keys: NDArray[np.int64]
    columns: bytes
    codes: bytes


class Objection(Struct, frozen=True):
    """A question for which a memory was of no help: its fingerprint, and its vector in a space."""

    key: int
    question: bytes | None
    space: int | None
    vector: NDArray[np.float32] | None


class Sketch(Struct, frozen=True):
    """What ranking needs to know of a memory: who said it, what it is about, and when, in microseconds."""

    speaker: str | None
    subject: str | None
    when: int
    """The moment that it is about,"""
    said: int = 0
    """and the one at which it was said."""
    turn: int | None = None
    """The first message that it was read from."""
    content: str = ""
    context: str = ""
    """The question that it answers and what it leans on, in other memories' words."""
    security: str = SecurityTier.CLEARTEXT


class Related(Struct, frozen=True):
    """A memory that tells a relation: of whom, and who said so."""

    key: int
    subject: str | None
    speaker: str | None


class Appearance(Struct, frozen=True):
    """A memory that mentions an entity, the layer that it is in and the moment that it is about."""

    key: int
    layer: Layer
    when: datetime


class RecallCount(Struct, frozen=True):
    """A memory that readers were given: when, and in which sessions."""

    memory_id: MemoryId
    moments: tuple[datetime, ...]
    sessions: frozenset[str] = frozenset()


class Sweep(Struct, frozen=True, kw_only=True):
    """How far an aging sweep came; `finished_at` is None while it is not done."""

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


class EdgeColumns(Struct, frozen=True):
    """Links by the keys of their ends, one column per field; a link that was taken away weighs 0."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    types: list[str]
    weights: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.sources)


class SharedEntities(Struct, frozen=True):
    """Pairs of memories that mention the same entity, and how many memories mention it."""

    origins: NDArray[np.int64]
    others: NDArray[np.int64]
    mentions: NDArray[np.int64]


# The tables of what is known: memories, turns, boxes, entities and their scopes.
#
# Part of `store.contract`. A memory has an `id`, which users see, and a `key`, a small ever-growing number
# that indexes use.


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

    def skip_unreadable(self) -> Mapping[MemoryId, Scope]:
        """
        From now on leave out rows that cannot be read, and return where each is noted with its scope.

        For `list`, `by_keys`, `rules` and `pinned`; without this such a row raises `StoreCorrupt`.
        """
        ...

    def by_keys(self, keys: Sequence[int]) -> dict[int, Memory]:
        """Return the memories that exist, by key."""
        ...

    def heirs(self, keys: Sequence[int]) -> dict[int, tuple[int, bool]]:
        """
        Return what stands now in the place of each of these memories that was superseded or merged.

        With it, whether all on the way say the same: merged, and superseded by nothing.
        """
        ...

    def active_twin(self, fingerprint: bytes, *, scope: Scope) -> Memory | None:
        """Return the active memory of exactly this scope with this fingerprint."""
        ...

    def active_twins(self, fingerprints: Sequence[bytes], *, scope: Scope) -> dict[bytes, MemoryId]:
        """Return the active memories of exactly this scope that have one of these fingerprints."""
        ...

    def twin(self, fingerprint: bytes, *, scope: Scope) -> Memory | None:
        """
        Return what stands for a fingerprint in exactly this scope.

        That is the active memory, else the newest disputed one, else the active one it was merged into.
        """
        ...

    def erase_words(self, memory_id: MemoryId) -> None:
        """Take every word of a memory out of its row and out of the notes about who was given it."""
        ...

    def has_active_twin(self, memory_id: MemoryId) -> bool:
        """Return whether another memory of the same scope is active with the same fingerprint."""
        ...

    def unenriched(self, *, limit: int) -> dict[int, Memory]:
        """Return active memories that nothing was inferred from yet, oldest first, by key."""
        ...

    def count_unenriched(self) -> int:
        """Return how many those are."""
        ...

    def unfiled(self, *, limit: int) -> dict[int, Memory]:
        """Return what holds, was stated by somebody and was never filed by what it says, oldest first."""
        ...

    def count_unfiled(self) -> int:
        """Return how many those are."""
        ...

    def passes(self, memory_id: MemoryId, *, scope: Scope, filters: Filters) -> bool:
        """Return whether a scope may see a memory and the filters let it through."""
        ...

    def ids_of(self, keys: Sequence[int]) -> dict[int, MemoryId]:
        """Return the ids of the memories with these keys."""
        ...

    def mark_enriched(self, key: int) -> None:
        """Note that what can be inferred from a memory has been."""
        ...

    def unjudged(self, *, limit: int) -> dict[int, Memory]:
        """Return active memories that wait to be judged against what was known before, oldest first."""
        ...

    def count_unjudged(self) -> int:
        """Return how many those are."""
        ...

    def mark_judged(self, key: int, *, is_judged: bool = True) -> None:
        """Note whether a memory has been judged against what was known before it."""
        ...

    def of_session(self, session: str, *, scope: Scope) -> Sequence[Memory]:
        """
        Return what was stated in a session of exactly this scope and still holds, in the order of telling.

        Nothing confidential is among it.
        """
        ...

    def set_fingerprint(self, key: int, fingerprint: bytes) -> None:
        """Note by which mark a memory is known, now that what it leans on has changed."""
        ...

    def leaning(self, session: str | None, *, scope: Scope) -> dict[int, Memory]:
        """Return the memories of a session of exactly this scope that quote what was said before them."""
        ...

    def summaries_of(self, session: str | None, *, scope: Scope) -> Sequence[Memory]:
        """Return the active summaries of a session of exactly this scope, oldest first."""
        ...

    def with_predicate(self, predicate: str, *, scope: Scope, limit: int) -> list[int]:
        """Return the keys of the newest active memories of exactly this scope with this relation."""
        ...

    def ids_ending_with(self, ending: str, *, scope: Scope) -> list[MemoryId]:
        """Return the ids that end in these eight characters: what people copy from a list."""
        ...

    def list(
        self,
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
        before: MemoryId | None,
        alive_at: datetime | None = None,
    ) -> Sequence[Memory]:
        """
        Return memories that this scope may see, newest first, from before the given one.

        With `alive_at`, what has a last day that is over by then counts as gone.
        """
        ...

    def rules(self, *, scope: Scope, limit: int) -> Sequence[Memory]:
        """Return the active memories that set a rule and that this scope may see, newest first."""
        ...

    def pinned(self, *, scope: Scope, limit: int) -> Sequence[Memory]:
        """Return the pinned and active memories that this scope may see, newest first."""
        ...

    def confidential(
        self, *, scope: Scope, filters: Filters, limit: int, alive_at: datetime
    ) -> Sequence[Memory]:
        """Return the memories with a secret that a scope may see and that are not over, newest first."""
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

    def has_status(self, status: Status, *, scope: Scope) -> bool:
        """Return whether a scope may see a memory of this status."""
        ...

    def count_by(self, column: Literal["status", "layer"]) -> dict[str, int]:
        """Return counts by `status`, or by `layer` among the active."""
        ...

    def largest_scopes(self, *, limit: int) -> dict[Scope, int]:
        """Return the scopes with the most active memories."""
        ...


class Turns(Protocol):
    """What was said, as it was said."""

    def add(self, turn: Turn) -> int:
        """Store a turn and return its key."""
        ...

    def get(self, turn_id: TurnId, *, scope: Scope) -> Turn | None:
        """Return a turn that this scope may see."""
        ...

    def by_keys(self, keys: Sequence[int]) -> dict[int, Turn]:
        """Return the turns that exist, by key."""
        ...

    def page(self, *, after_key: int, limit: int) -> dict[int, Turn]:
        """Return the next turns of the whole store, by key: what an index is rebuilt from."""
        ...

    def memories_of(self, turn_ids: Sequence[TurnId]) -> dict[TurnId, list[Memory]]:
        """Return what was read out of each turn, whatever became of it; no key for those that left none."""
        ...

    def relink(self) -> None:
        """Note again which memories were read out of which turns, from the memories' own lists."""
        ...

    def ids_ending_with(self, ending: str, *, scope: Scope) -> Sequence[TurnId]:
        """Return the ids that end in these eight characters: what people copy from a list."""
        ...

    def list(
        self, *, scope: Scope, session: str | None, limit: int, before: TurnId | None = None
    ) -> Sequence[Turn]:
        """Return the latest turns, or the latest before the given one, oldest of them first."""
        ...

    def claim(
        self,
        *,
        now: datetime,
        until: datetime,
        limit: int,
        within: tuple[Scope, str | None] | None = None,
        owner: Scope | None = None,
    ) -> Sequence[Turn]:
        """
        Take the oldest turns that no one has read yet, for a while, and return them in order.

        All of them are of one scope and session: the given one, or that of the oldest, of an owner or of any.
        """
        ...

    def settle(self, turn_ids: Sequence[TurnId], *, now: datetime) -> bool:
        """Note that the turns have been read; says False, and changes nothing, if one of them was already."""
        ...

    def note_private(self, turn: Turn) -> int:
        """Note where private words stand in a turn, and return its key."""
        ...

    def renew(self, turn_ids: Sequence[TurnId], *, until: datetime) -> None:
        """Claim turns for longer, those of them that are claimed and unread."""
        ...

    def release(self, turn_ids: Sequence[TurnId]) -> None:
        """Give claimed turns back."""
        ...

    def pending(
        self, within: tuple[Scope, str | None] | None = None, *, owner: Scope | None = None
    ) -> tuple[int, datetime | None]:
        """Return how many turns wait to be read, of one conversation or of all, and since when the oldest."""
        ...

    def overdue(
        self, *, now: datetime, quiet_since: datetime, oldest: datetime, limit: int
    ) -> Sequence[tuple[Scope, str | None]]:
        """
        Return conversations with turns to read that should wait no longer, oldest first.

        Nothing was said in them after `quiet_since`, or a turn has waited since `oldest`.
        """
        ...

    def unsummarized(self, session: str, *, scope: Scope, limit: int) -> Sequence[Turn]:
        """
        Return the oldest turns of a session of exactly this scope that nobody has summed up.

        Only those of a user or an assistant that have been read.
        """
        ...

    def mark_summarized(self, turn_ids: Sequence[TurnId], *, now: datetime) -> bool:
        """Note that the turns are summed up; says False, and changes nothing, if one is already, or gone."""
        ...

    def unmark_summarized(self, turn_ids: Sequence[TurnId]) -> None:
        """Note that nothing sums these turns up any more."""
        ...

    def count(self) -> int:
        """Return how many turns are stored."""
        ...

    def count_without_memories(self) -> int:
        """Return how many turns were read and left no memory."""
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
    """Which memories were given to which reader, so that their echo is not taken for news."""

    def add(self, given: Mapping[tuple[Scope, str, MemoryId], datetime]) -> None:
        """Note when memories were last given to a reader in a scope and session."""
        ...

    def since(self, moment: datetime, *, scope: Scope, limit: int) -> Sequence[Memory]:
        """Return what readers in exactly this scope were given since then, latest first."""
        ...

    def prune(self, before: datetime) -> None:
        """Forget what was given before that moment."""
        ...


class Entities(Protocol):
    """What memories mention; readers see a name only while a memory that uses it may be found."""

    def add(self, entity: Entity) -> None:
        """Store a new entity under all its names."""
        ...

    def update(self, entity: Entity) -> None:
        """Store a changed entity under its id; names are added, never taken away."""
        ...

    def link(self, entity_id: str, memory_id: MemoryId, *, name: str, at: datetime) -> bool:
        """
        Note that a memory calls an entity so; return whether that is the first time that it mentions
        it.
        """
        ...

    def unlink(self, memory_id: MemoryId) -> None:
        """Take a memory's mentions away, and every name and entity that no other memory mentions."""
        ...

    def candidates(self, mention: Mention, *, scope: Scope) -> Sequence[Entity]:
        """Return the entities of exactly this scope that the mention may mean, found ones and hidden ones."""
        ...

    def get(self, entity_id: str, *, scope: Scope) -> Entity | None:
        """Return an entity that this scope may see."""
        ...

    def by_name(self, name: str, *, scope: Scope) -> Sequence[Entity]:
        """Return the entities that go by this name, in any spelling."""
        ...

    def starting_with(self, text: str, *, scope: Scope, limit: int) -> Sequence[Entity]:
        """Return the entities with a name that begins so, for completion."""
        ...

    def list(self, *, scope: Scope, kind: EntityType | None = None, limit: int) -> Sequence[Entity]:
        """Return the entities that this scope may see, the latest mentioned first."""
        ...

    def of_memory(self, memory_id: MemoryId, *, scope: Scope) -> Sequence[Entity]:
        """Return what a memory mentions."""
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
        """Return the keys of the memories that mention an entity, the latest stored first."""
        ...

    def appearances(
        self,
        entity_ids: Sequence[str],
        *,
        scope: Scope,
        filters: Filters,
        alive_at: datetime | None = None,
    ) -> Sequence[Appearance]:
        """Return every memory that mentions one of these, those about the latest moment first."""
        ...

    def companions(
        self, entity_ids: Sequence[str], keys: Sequence[int], *, scope: Scope, limit: int
    ) -> Sequence[tuple[Entity, int]]:
        """Return who else these memories mention, and how many of them do, the most frequent first."""
        ...

    def count(self) -> int:
        """Return how many entities are stored."""
        ...

    def is_empty(self) -> bool:
        """Return whether nothing was ever named, so that nothing need be looked up."""
        ...


class ScopeTally(Struct, frozen=True, kw_only=True):
    """How much there is of what a scope may see."""

    by_status: Mapping[str, int]
    by_layer: Mapping[str, int]
    by_scope: Mapping[Scope, int]
    turns: int
    unread_turns: int
    turns_without_memories: int
    entities: int
    unenriched: int
    unjudged: int


class Scopes(Protocol):
    """The scopes that something was stored in."""

    def tally(self, scope: Scope) -> ScopeTally:
        """Return how much a scope may see: memories, turns, names, and what of it waits."""
        ...

    def visible(self, scope: Scope) -> list[int]:
        """Return the numbers of the stored scopes that a reader in this scope may see."""
        ...

    def find(self, scope: Scope) -> int | None:
        """Return the number of exactly this scope, if anything was stored in it."""
        ...

    def get(self, number: int) -> Scope:
        """Return the scope with this number."""
        ...
