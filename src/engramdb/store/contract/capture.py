"""
The store's contract for what capture must not lose: pending turns, imports, working memory, the feed of
changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from engramdb.store.contract.memories import EdgeColumns
from engramdb.values import (
    Action,
    EdgeType,
    EmbedderIdentity,
    EntityType,
    ImportKind,
    ImportOrigin,
    Kind,
    Layer,
    Memory,
    MemoryId,
    Scope,
    Slot,
    Status,
    TurnId,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# What a dream gleans from a store: the memories of exactly one scope, in pages, and what was made of them.
#
# Part of `store.contract`; read by the steps of `dream`. Nothing here looks at a wider scope, because what
# is concluded in one must not rest on another.


class DreamFilter(Struct, frozen=True, kw_only=True):
    """Which active memories to read; what is left empty lets everything through."""

    layers: frozenset[Layer] = frozenset()
    categories: frozenset[str] = frozenset()
    extractors: frozenset[str] = frozenset()
    """By their whole names, such as `task-1`."""
    related: bool = False
    """Only those with a subject, a relation and an object."""
    changed_since: int = 0
    """Only those with a later change than this."""


class DerivedMemory(Struct, frozen=True):
    """A memory that a step of an earlier dream stated, and how its sources stand now."""

    key: int
    memory: Memory
    sources: Mapping[MemoryId, Status] = field(default_factory=dict)


class ToolRun(Struct, frozen=True):
    """One run of a tool: the memory that counts it, when it was, and whether it worked."""

    key: int
    at: datetime
    is_success: bool


class UniqueName(Struct, frozen=True):
    """A name by which exactly one entity of a scope goes."""

    entity_id: str
    type: EntityType
    name: str
    folded: str


class Mentions(Struct, frozen=True):
    """Which statements mention which entities of their scope, as columns, by memory."""

    memories: NDArray[np.int64]
    entities: NDArray[np.int64]
    changed: NDArray[np.int64]
    """The number of the memory's latest change."""

    def __len__(self) -> int:
        return len(self.memories)


class DreamReads(Protocol):
    """Reads for the dream, none of which mixes scopes."""

    def scopes(self) -> list[Scope]:
        """Return the scopes that hold an active memory, in the order in which they were first used."""
        ...

    def has_changed(self, scope: Scope, *, since: int) -> bool:
        """Return whether any memory of a scope has a later change than this."""
        ...

    def page(self, *, scope: Scope, matching: DreamFilter, after_key: int, limit: int) -> dict[int, Memory]:
        """Return the next active memories of a scope, by key."""
        ...

    def derived_by(self, maker: str, *, scope: Scope) -> list[DerivedMemory]:
        """Return what makers whose name begins so have stated, in any status but erased, oldest first."""
        ...

    def tool_runs(self, *, scope: Scope) -> list[ToolRun]:
        """Return every run of a tool that an active memory counts, in the order of time."""
        ...

    def links(self, types: Sequence[EdgeType], *, scope: Scope | None = None) -> EdgeColumns:
        """Return the links of these types between active memories of one scope: this one, or any."""
        ...

    def mentions(self, *, scope: Scope) -> Mentions:
        """Return which active statements of a scope, none of a dream's, mention which of its entities."""
        ...

    def entity_ids(self, keys: Sequence[int]) -> dict[int, str]:
        """Return the ids of entities by their keys."""
        ...

    def shared_names(self, *, scope: Scope) -> list[tuple[str, str, str]]:
        """Return a folded name and the ids of two entities of a scope that both go by it."""
        ...

    def names(self, *, scope: Scope, since: datetime | None) -> list[UniqueName]:
        """Return the names of single entities, all or those that no memory had used before a moment."""
        ...

    def unlinked(
        self, name: UniqueName, terms: Sequence[str], *, scope: Scope, after_key: int, limit: int
    ) -> dict[int, Memory]:
        """Return the next active statements that hold these terms and are not linked to the entity."""
        ...


# The table of what was imported, so that a second import brings nothing twice and nothing back.


class Imported(Struct, frozen=True, kw_only=True):
    """One record that was taken in, and the memory or the turn that it became."""

    mark: bytes
    kind: ImportKind
    place: str
    memory_id: MemoryId | None = None
    turn_id: TurnId | None = None
    is_live: bool = False
    """Whether it was heard as it was said, and not read from a file."""


class Imports(Protocol):
    """Records by their marks."""

    def known_marks(self, marks: Sequence[bytes]) -> set[bytes]:
        """Return those of the marks that an import has left before."""
        ...

    def memories_of(self, marks: Sequence[bytes]) -> dict[bytes, MemoryId]:
        """Return the memories that the records of these marks became, as far as they became one."""
        ...

    def latest_by_place(self, kind: ImportKind, *, scope: Scope, under: str) -> dict[str, MemoryId]:
        """Return the memory that each place below a name became last, of exactly this scope."""
        ...

    def add(self, records: Sequence[Imported], *, at: datetime) -> None:
        """Note records that were taken in; a mark that is there already stays as it is."""
        ...

    def are_from_files(self, turn_ids: Sequence[TurnId]) -> bool:
        """Return whether one of the turns was read from a file, and not heard as it was said."""
        ...

    def origin(self, memory_id: MemoryId) -> ImportOrigin | None:
        """Return where a memory, or the first turn that it rests on, was imported from."""
        ...

    def count(self) -> int:
        """Return how many records were ever taken in."""
        ...


# Working memory at rest: what each agent attends to, so that it is back after a pause or a crash.


class TopicSnapshot(Struct, frozen=True, kw_only=True, eq=False):
    """The slots of one topic, and the vectors of what was said last, one per row."""

    slots: tuple[Slot, ...]
    vectors: NDArray[np.float32]
    confidence: float
    left_at: datetime | None = None
    """None for the topic that was still talked about."""


class AttentionSnapshot(Struct, frozen=True, kw_only=True, eq=False):
    """One agent's working memory at rest."""

    topics: tuple[TopicSnapshot, ...]
    """Those that were left, the latest last, and then the present one."""
    at: datetime
    embedder: EmbedderIdentity | None = None
    stamp: int = 0
    """Given by the store at every save: another stamp means that someone else saved since."""


class Attention(Protocol):
    """Snapshots by scope; the agent is part of it."""

    def get(self, scope: Scope) -> AttentionSnapshot | None:
        """Return the snapshot of exactly this scope, if there is one."""
        ...

    def stamp(self, scope: Scope) -> int:
        """Return the stamp of the latest save of exactly this scope; 0 if there is none."""
        ...

    def put(self, scope: Scope, snapshot: AttentionSnapshot) -> int:
        """Store a snapshot in place of its earlier state, and return its stamp."""
        ...

    def remove(self, scope: Scope) -> int:
        """Delete the snapshots of this scope and of every narrower one; return how many."""
        ...

    def count(self) -> int:
        """Return how many snapshots are stored."""
        ...


# The history of the whole store as a feed that can be followed: what changed after a place in it.


class FeedEntry(Struct, frozen=True, kw_only=True):
    """One change of one memory."""

    cursor: int
    """The place of the entry in the feed."""
    memory_id: MemoryId
    action: Action
    kind: Kind
    status: Status | None
    """The status that the memory took, where the change was one of status."""
    at: datetime


class FeedPage(Struct, frozen=True, kw_only=True):
    """The next changes, oldest first, and the place from which to read on."""

    entries: tuple[FeedEntry, ...] = ()
    cursor: int


class Feed(Protocol):
    """Changes in the order in which they were made."""

    def latest(self) -> int:
        """Return the place after which nothing has happened yet."""
        ...

    def after(self, cursor: int, *, scope: Scope, limit: int) -> FeedPage:
        """
        Return what happened after a place to the memories that a scope sees.

        Looks at `limit` changes of anybody's, so a page may be empty and its cursor move on all the
        same.
        """
        ...
