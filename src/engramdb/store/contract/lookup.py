"""The store's contract for lookups by scope, name, trait and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from engramdb.policy import AgingPolicy
from engramdb.store.contract.memories import (
    Changes,
    EdgeColumns,
    Objection,
    QuantizedVectors,
    RecallCount,
    Related,
    ScoredKey,
    SharedEntities,
    Sketch,
    SnapshotPart,
    Sweep,
)
from engramdb.values import (
    Actor,
    AuditEvent,
    AuditFilters,
    Edge,
    EdgeType,
    EmbedderIdentity,
    Filters,
    HistoryEvent,
    Memory,
    MemoryId,
    Scope,
)

if TYPE_CHECKING:  # a verb that looks at one memory loads no arrays
    import numpy as np
    from numpy.typing import NDArray

    from engramdb.values.population import Population


# The tables that memories are found by: terms, vectors, links, traits, and what recall asks before it
# fetches.
#
# Part of `store.contract`; all of it is derived and can be made again, except the links.


class TermStatistics(Struct, frozen=True):
    """How common some terms are among the memories that a scope may see."""

    memories: int
    """How many of them the text index holds."""
    frequencies: Mapping[str, int]
    """In how many of them each of the terms stands; 0 for unknown ones."""


def scope_term(number: int) -> str:
    """Return the term under which a text index has everything of the scope with this number."""
    return f"={number}"


class Terms(Protocol):
    """
    The text index of memories, asked from within a scope.

    No answer, count or weight depends on memories that the scope may not see.
    """

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

    def statistics(self, terms: Sequence[str], *, scope: Scope) -> TermStatistics:
        """Return how many memories of those that a scope may see hold each term, and how many there are."""
        ...

    def search(
        self, weights: Mapping[str, float], *, scope: Scope, filters: Filters, limit: int
    ) -> list[ScoredKey]:
        """Return memories with any of the terms, best first by the sum of the weights of those they hold."""
        ...

    def holders(self, term: str, *, scope: Scope) -> list[int]:
        """Return the keys of all memories with a term that a scope may see, whatever their status."""
        ...

    def changed_since(self, cursor: int, *, limit: int) -> dict[int, frozenset[str]]:
        """
        Return the terms, by key, of memories that changed after a cursor; none for what left the index.

        The `scope_term` of its scope is one of them.
        """
        ...

    def newest(self, term: str, *, scope: Scope, filters: Filters, limit: int) -> list[ScoredKey]:
        """Return the newest memories with a term that is too common to look through, scored 0."""
        ...


class TurnTerms(Protocol):
    """
    The text index of turns, asked from within a scope.

    No answer, count or weight depends on turns that the scope may not see.
    """

    @property
    def version(self) -> int:
        """The version of the cutting rules that the index was built with."""
        ...

    def put(self, key: int, terms: Sequence[str]) -> None:
        """Index a turn under these terms in place of any earlier ones."""
        ...

    def clear(self, *, version: int) -> None:
        """Empty the index for a rebuild under this version of the cutting rules."""
        ...

    def count(self, *, scope: Scope, at_most: int) -> int:
        """Return how many turns a scope may see, counting no further than `at_most`."""
        ...

    def frequencies(self, terms: Sequence[str], *, scope: Scope, at_most: int) -> dict[str, int]:
        """Return in how many turns that a scope may see each term stands, counting no further than that."""
        ...

    def search(
        self,
        weights: Mapping[str, float],
        *,
        scope: Scope,
        filters: Filters,
        heard_by: datetime | None,
        limit: int,
    ) -> list[ScoredKey]:
        """
        Return turns with any of the terms, best first by the sum of the weights of those they hold.

        Of the filters, time, sessions and speakers count. What a forgotten memory was read from is left out.
        """
        ...

    def newest(
        self, term: str, *, scope: Scope, filters: Filters, heard_by: datetime | None, limit: int
    ) -> list[ScoredKey]:
        """Return the newest such turns with a term that is too common to look through, scored 0."""
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

    def requantize(self, space: int, keys: Sequence[int], bits: int) -> int:
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

    def drop_orphans(self) -> None:
        """Drop the vectors of memories that should have none."""
        ...

    def pending(self, space: int | None, *, limit: int) -> dict[int, Memory]:
        """Return indexed memories that have no vector in the space yet, newest first."""
        ...

    def is_lacking(self) -> bool:
        """Return whether an indexed memory among those changed last has no vector in any space."""
        ...

    def count_pending(self, space: int | None, *, scope: Scope | None = None) -> int:
        """Return how many those are, of all or of those that a scope may see."""
        ...

    def fetch(self, space: int, keys: Sequence[int]) -> tuple[list[int], QuantizedVectors]:
        """Return the keys that have a vector, and their vectors in that order."""
        ...

    def latest_change(self) -> int:
        """Return the cursor of the newest change in the store."""
        ...

    def changes(self, space: int, *, dimension: int, since: int, limit: int) -> Changes:
        """Return the memories that changed after a cursor, with their vectors in the space."""
        ...


class Snapshots(Protocol):
    """The vector index at rest, one snapshot for each space."""

    def load_snapshot(self, space: int) -> Sequence[SnapshotPart]:
        """Return the parts of a space's snapshot in order, or none."""
        ...

    def save_snapshot(self, space: int, parts: Sequence[SnapshotPart]) -> None:
        """Keep these parts in place of the space's earlier ones."""
        ...

    def clear(self) -> None:
        """Drop every snapshot."""
        ...


class Candidates(Protocol):
    """What recall asks about memories that were found, before it fetches any."""

    def sketches(self, keys: Sequence[int]) -> dict[int, Sketch]:
        """Return what ranking needs to know of memories that were found."""
        ...

    def filter_keys(
        self, keys: Sequence[int], *, scope: Scope, filters: Filters, at: datetime | None = None
    ) -> set[int]:
        """
        Return which of these memories the scope may see and the filters let through.

        With a moment, those whose last day is over by then are left out.
        """
        ...

    def session_neighbors(
        self, keys: Sequence[int], *, reach: int, scope: Scope, filters: Filters
    ) -> list[tuple[int, int, int]]:
        """
        Return (memory, neighbor, distance) for the active memories beside each in its own session.

        The distance is counted in messages; what was read from the same one is no neighbor.
        """
        ...

    def with_predicates(
        self, predicates: Sequence[str], *, scope: Scope, filters: Filters, limit: int
    ) -> list[Related]:
        """Return the newest memories that tell one of these relations."""
        ...

    def in_period(
        self,
        start: datetime | None,
        end: datetime | None,
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
    ) -> list[int] | None:
        """Return what was said from `start` to before `end`, or is about then; None for more than `limit`."""
        ...


class TraitRows(Protocol):
    """What filters look memories up by; derived, and updated by every write of a memory."""

    @property
    def is_current(self) -> bool:
        """Whether the table was filled by the rules of this version."""
        ...

    def rebuild(self) -> int:
        """Rebuild the table from the memories, inside a write, and return its number of rows."""
        ...

    def count_wrong(self) -> int:
        """Return how many rows are missing or should not be there, which is none in a sound store."""
        ...


class Edges(Protocol):
    """Links between memories."""

    def add(self, edge: Edge, *, by: Actor | None = None) -> None:
        """
        Store a link; the same ends and type replace the weight. Raises `EdgeNotAllowed`.

        With who did it, it is part of the act of this write, and can be undone.
        """
        ...

    def add_all(self, edges: Sequence[Edge], *, by: Actor | None = None) -> None:
        """Store links, in their order and each as `add` would."""
        ...

    def remove(
        self,
        source: MemoryId,
        target: MemoryId,
        kind: EdgeType,
        *,
        by: Actor | None = None,
        at: datetime | None = None,
    ) -> None:
        """Take a link away, if it is there; with who did it and when, as part of the act of this write."""
        ...

    def weight(self, source: MemoryId, target: MemoryId, kind: EdgeType) -> float | None:
        """Return what a link weighs, or None where it is not there."""
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
        """Return a new cursor and the links that changed after the given one, in order; 0 starts over."""
        ...

    def touching(self, keys: Sequence[int]) -> EdgeColumns:
        """Return the links that leave or reach any of these memories."""
        ...

    def sharing_entities(self, most_mentions: Mapping[int, int], *, limit: int) -> SharedEntities:
        """Return memories that share an entity with these, of entities with few mentions; rarest first."""
        ...


# The tables of what happened: history, audit, feedback, recalls and sweeps.
#
# Part of `store.contract`.


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

    def add(self, event: AuditEvent) -> int:
        """Record an action, and return its number."""
        ...

    def add_searches(self, events: Sequence[AuditEvent], *, most: int) -> None:
        """Record searches, and drop the oldest where there are more than `most`."""
        ...

    def set_times(self, number: int, times: int) -> None:
        """Note how often an event has happened since it was recorded."""
        ...

    def recent(
        self, *, limit: int, before: int | None = None, filters: AuditFilters = AuditFilters()
    ) -> list[AuditEvent]:
        """Return the latest actions that pass, newest first, or those before the one with a number."""
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

    def set_undone(self, memory_id: MemoryId, *, at: datetime, is_undone: bool) -> None:
        """Let what was said of a memory at a moment count no more, or count again."""
        ...

    def objections(self, keys: Sequence[int], *, since: datetime) -> list[Objection]:
        """Return the questions for which these memories were of no help since then."""
        ...


class Ages(Protocol):
    """Memories as the columns that aging computes with, and the count of their recalls."""

    def page(
        self,
        *,
        after_key: int,
        limit: int,
        scope: Scope | None = None,
        owner: Scope | None = None,
        session_ends: Mapping[tuple[int, str], int] | None = None,
    ) -> Population:
        """Return the next memories that can age: of all, of what a scope sees, or of exactly one owner."""
        ...

    def of(
        self, keys: Sequence[int], *, session_ends: Mapping[tuple[int, str], int] | None = None
    ) -> Population:
        """Return these memories, where they can still age."""
        ...

    def session_ends(self, *, before: int) -> dict[tuple[int, str], int]:
        """Return when the sessions without a summary ended, of those that ended before that moment."""
        ...

    def count_recalls(self, recalled: Sequence[RecallCount], policy: AgingPolicy) -> None:
        """
        Add recalls to the logs of the memories, and to their stability what the policy says.

        None is lost, however many processes count at once.
        """
        ...


class Sweeps(Protocol):
    """How far each aging sweep came."""

    def latest(self) -> Sweep | None:
        """Return the sweep that was begun last."""
        ...

    def put(self, sweep: Sweep) -> Sweep:
        """Store how far a sweep came; a new one has key 0 and is given its own."""
        ...
