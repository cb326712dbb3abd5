"""
What a step of the dream may want changed: small values that say what, to which memories, and why.

Made by the steps, applied by `apply` in a write of its own each, shown by a dry run. A proposal names
memories by id and carries what the step saw of them, so that one whose ground has shifted since is dropped
instead of applied. Reasons never quote memories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.values import EdgeType, Kind, Layer, MemoryType, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from engram.store.contract import Transaction
    from engram.values import Memory, MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One change, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Derive(Proposal):
    """
    State something that follows from memories of one scope.

    The new memory belongs to exactly their scope, is protected as the strictest of them is, flagged as any of
    them is, and linked to each. Said before, from the same sources, it changes nothing; with further sources
    it gains evidence.
    """

    content: str
    sources: tuple[Memory, ...]
    layer: Layer = Layer.SEMANTIC
    type: MemoryType = MemoryType.FACT
    kind: Kind = Kind.NOTE
    category: str = "general"
    confidence: float = 0.6
    importance: float | None = None
    """None takes the highest of its sources."""
    stability: float = 1.0
    edge: EdgeType = EdgeType.DERIVED_FROM
    maker: str = ""
    """Which step and version states it, kept as the memory's extractor, such as `dream.patterns/1`."""
    replaces: Memory | None = None
    """An earlier statement by the same step that this one is the new version of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Proposal):
    """Let one memory stand for others that say the same; it takes over their evidence, they become merged."""

    keep: Memory
    lose: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersede(Proposal):
    """Let one memory replace another that it contradicts."""

    winner: Memory
    loser: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Restatus(Proposal):
    """Move a memory to another status, such as challenged or invalidated."""

    memory: Memory
    status: Status
    along: tuple[Memory, ...] = ()
    """Others that move with it, in the same write: all of them or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjust(Proposal):
    """Set numbers of a memory: strength, stability, importance, confidence; or its layer. Never its words."""

    memory: Memory
    changes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Proposal):
    """Link two memories; a directed inference that would close a circle is dropped."""

    source: Memory
    target: Memory
    type: EdgeType = EdgeType.SIMILAR_TO
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Proposal):
    """Write something that is not a memory: a question, a node of the tree, a profile; by a function."""

    what: str
    """In a word, for the report: `question`, `domain`, `profile`."""
    about: tuple[MemoryId, ...] = ()
    write: Callable[[Transaction], bool]
    """Writes it, and says whether anything changed."""
