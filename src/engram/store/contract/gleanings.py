"""
What a dream gleans from a store: the memories of exactly one scope, in pages, and what was made of them.

Part of `store.contract`; read by the steps of `dream`. Nothing here looks at a wider scope, because what is
concluded in one must not rest on another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.store.contract.shapes import EdgeColumns
    from engram.values import EdgeType, EntityType, Layer, Memory, MemoryId, Scope, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Sift:
    """Which active memories to read; what is left empty lets everything through."""

    layers: frozenset[Layer] = frozenset()
    categories: frozenset[str] = frozenset()
    extractors: frozenset[str] = frozenset()
    """By their whole names, such as `task-1`."""
    related: bool = False
    """Only those with a subject, a relation and an object."""
    changed_since: int = 0
    """Only those with a later change than this."""


@dataclass(frozen=True, slots=True)
class Made:
    """A memory that a step of an earlier dream stated, and how its sources stand now."""

    key: int
    memory: Memory
    sources: Mapping[MemoryId, Status] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One run of a tool: the memory that counts it, when it was, and whether it worked."""

    key: int
    at: datetime
    is_success: bool


@dataclass(frozen=True, slots=True)
class Named:
    """A name by which exactly one entity of a scope goes."""

    entity_id: str
    type: EntityType
    name: str
    folded: str


@dataclass(frozen=True, slots=True)
class Mentions:
    """Which statements speak of which entities of their scope, as columns, by memory."""

    memories: NDArray[np.int64]
    entities: NDArray[np.int64]
    changed: NDArray[np.int64]
    """The number of the memory's latest change."""

    def __len__(self) -> int:
        return len(self.memories)


class Gleanings(Protocol):
    """Reads for the dream, none of which mixes scopes."""

    def scopes(self) -> list[Scope]:
        """Return the scopes that hold an active memory, in the order in which they were first used."""
        ...

    def is_changed(self, scope: Scope, *, since: int) -> bool:
        """Say whether any memory of a scope has a later change than this."""
        ...

    def page(self, *, scope: Scope, sift: Sift, after_key: int, limit: int) -> dict[int, Memory]:
        """Return the next active memories of a scope, by key."""
        ...

    def made(self, maker: str, *, scope: Scope) -> list[Made]:
        """Return what makers whose name begins so have stated, in any status but erased, oldest first."""
        ...

    def runs(self, *, scope: Scope) -> list[ToolRun]:
        """Return every run of a tool that an active memory counts, in the order of time."""
        ...

    def links(self, types: Sequence[EdgeType]) -> EdgeColumns:
        """Return the links of these types between active memories of one and the same scope, whichever."""
        ...

    def mentions(self, *, scope: Scope) -> Mentions:
        """Return which active statements of a scope, none of a dream's, speak of which of its entities."""
        ...

    def entity_ids(self, keys: Sequence[int]) -> dict[int, str]:
        """Return the ids of entities by their keys."""
        ...

    def shared_names(self, *, scope: Scope) -> list[tuple[str, str, str]]:
        """Return a folded name and the ids of two entities of a scope that both go by it."""
        ...

    def names(self, *, scope: Scope, since: datetime | None) -> list[Named]:
        """Return the names of single entities, all or those that no memory had used before a moment."""
        ...

    def unlinked(
        self, name: Named, terms: Sequence[str], *, scope: Scope, after_key: int, limit: int
    ) -> dict[int, Memory]:
        """Return the next active statements that hold these terms and are not linked to the entity."""
        ...
