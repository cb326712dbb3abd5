"""
The tables that memories are found by: terms, vectors, links, traits, and what recall asks before it fetches.

Part of `store.contract`; all of it is derived and can be made anew, except the links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.store.contract.shapes import (
        Changes,
        EdgeColumns,
        Found,
        Part,
        Quantised,
        SharedEntities,
        Sketch,
    )
    from engram.values import (
        Edge,
        EdgeType,
        EmbedderIdentity,
        Filters,
        Memory,
        MemoryId,
        Scope,
    )


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

    def add_all(self, edges: Sequence[Edge]) -> None:
        """Store links, in their order and each as `add` would."""
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
