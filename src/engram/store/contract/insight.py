"""
The tables of insight: open questions, and the tree of summaries over the memories of each scope.

Part of `store.contract`; both are derived, and the next dream makes them anew. Neither may outlive what it
speaks of: a memory that is forgotten takes its questions along and blanks every summary above it, in the same
write, by whichever path it leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.values import ActorKind, Breadth, EntityType, Gap, MemoryId, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of the tree; `centroid` is a unit vector of `space`, and no text means that it must be made."""

    id: str
    scope: Scope
    breadth: Breadth
    parent: str | None
    title: str
    summary: str
    maker: str
    members: int
    grain: int
    """How fine its clusters are: 0 as usual, 1 where it is weak and was looked at more closely."""
    is_whole: bool
    """Of a global node: whether the building of its tree came to an end."""
    space: int | None
    centroid: NDArray[np.float32] | None
    certainty: float
    doubted: int
    latest_at: datetime
    built_at: datetime


@dataclass(frozen=True, slots=True)
class Reading:
    """What a cluster's members amount to, as they are now."""

    members: int
    certainty: float
    """The mean of confidence times trust in the source."""
    doubted: int
    latest: int
    """In microseconds: when one last came in, was confirmed or was recalled."""


@dataclass(frozen=True, slots=True)
class Weight:
    """How much a memory matters, how far it is to be believed, and whether a summary may use its words."""

    importance: float
    certainty: float
    is_quotable: bool


@dataclass(frozen=True, slots=True)
class Naming:
    """A memory that names an entity of its own scope."""

    key: int
    entity: str
    name: str
    type: EntityType


class Gaps(Protocol):
    """Open questions, and those that were answered."""

    def put(self, gap: Gap) -> bool:
        """
        Ask a question, and say whether that changed anything.

        One that a person closed stays closed, and none is asked about what is no longer believed or disputed.
        """
        ...

    def is_news(self, gap: Gap) -> bool:
        """Say whether asking this question would change anything."""
        ...

    def close(self, gap_id: str, *, at: datetime, by: ActorKind, because: str) -> bool:
        """Note that a question is settled, and say whether it was open."""
        ...

    def asked(self, gap_ids: Sequence[str], *, at: datetime) -> None:
        """Note that these questions were put to somebody."""
        ...

    def get(self, gap_id: str, *, scope: Scope) -> Gap | None:
        """Return a question that this scope may see, open or closed."""
        ...

    def open_for(self, scope: Scope, *, limit: int, after: str | None = None) -> Sequence[Gap]:
        """
        Return the open questions that a scope may see and whose ground is still there, best first.

        With the id of one, open or closed by now, those that follow it.
        """
        ...

    def open_in(self, scope: Scope) -> Sequence[Gap]:
        """Return every open question of exactly this scope."""
        ...

    def count_about(self, memory_ids: Sequence[MemoryId]) -> int:
        """Return how many open questions are about any of these memories."""
        ...

    def challenged_in(self, scope: Scope, *, limit: int) -> Sequence[int]:
        """Return the keys of the challenged memories of exactly this scope, newest first."""
        ...

    def contradictions_in(self, scope: Scope, *, limit: int) -> Sequence[tuple[int, int]]:
        """Return pairs of living memories of exactly this scope that are linked as contradicting."""
        ...

    def spoken_of(
        self, scope: Scope, kinds: Sequence[EntityType], *, least: int, limit: int
    ) -> dict[str, list[int]]:
        """
        Return the entities of exactly this scope that so many usable memories speak of, with their keys.

        The most spoken of come first, and of each the newest memories.
        """
        ...


class Replays(Protocol):
    """When each memory was last replayed, and which name files."""

    def since(self, moment: datetime) -> dict[int, datetime]:
        """Return which memories were replayed after a moment, and when."""
        ...

    def mark(self, keys: Sequence[int], *, at: datetime) -> bool:
        """Note that these memories are replayed at this moment, and say whether that was news of any."""
        ...

    def received(self, *, limit: int) -> Sequence[int]:
        """Return the keys of active memories that came from others and were never replayed, oldest first."""
        ...

    def fresh(self, *, since: datetime, limit: int) -> Sequence[int]:
        """Return the keys of active memories stored since then, the most moving and then the newest first."""
        ...

    def naming_files(self, *, after_key: int, limit: int) -> Sequence[int]:
        """Return the keys of the next active memories about code that name files."""
        ...


class Tree(Protocol):
    """Summaries of summaries, a tree for each scope."""

    def nodes(self, scope: Scope, breadth: Breadth | None = None) -> Sequence[Node]:
        """Return the nodes of exactly this scope, in the order of their ids."""
        ...

    def visible(self, scope: Scope, breadth: Breadth) -> Sequence[Node]:
        """Return the nodes of one breadth that a reader in this scope may see."""
        ...

    def get(self, node_id: str) -> Node | None:
        """Return a node as it is now."""
        ...

    def put(self, node: Node) -> bool:
        """Store a node in place of its earlier state, and say whether anything but the moment differs."""
        ...

    def assign(self, node_id: str, quoted: Mapping[int, int]) -> bool:
        """
        Make these memories the members of a cluster, and say whether any was not.

        The number is the highest level that quotes each.
        """
        ...

    def quote(self, scope: Scope, keys: Sequence[int]) -> None:
        """Note that the summary of exactly this scope quotes these members, and no others."""
        ...

    def drop(self, node_ids: Sequence[str]) -> int:
        """Drop these nodes, and return how many there were."""
        ...

    def keep(self, scope: Scope, node_ids: Sequence[str]) -> int:
        """Drop every node of exactly this scope but these, and return how many that were."""
        ...

    def members(self, scope: Scope) -> dict[str, dict[int, int]]:
        """Return the members of every cluster of exactly this scope, and the highest level quoting each."""
        ...

    def clusters_of(self, keys: Sequence[int]) -> dict[int, str]:
        """Return in which cluster each of these memories is."""
        ...

    def domains_of(self, memory_ids: Sequence[MemoryId]) -> dict[MemoryId, Node]:
        """Return in which domain each of these memories is, those that are in any."""
        ...

    def usable(self, scope: Scope) -> Sequence[int]:
        """Return the keys of the memories of exactly this scope that belong into its tree, in order."""
        ...

    def weights(self, keys: Sequence[int]) -> dict[int, Weight]:
        """Return how much each of these memories matters, those that still belong into a tree."""
        ...

    def namings(self, keys: Sequence[int]) -> Sequence[Naming]:
        """Return which of these memories name which entities of their own scope."""
        ...

    def readings(self, scope: Scope) -> dict[str, Reading]:
        """Return what the members of every cluster of exactly this scope amount to now."""
        ...

    def scopes(self) -> Sequence[Scope]:
        """Return every scope that has memories for a tree, or a tree."""
        ...
