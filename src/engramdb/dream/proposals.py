"""
What a step of the dream may want changed: small values that say what, to which memories, and why.

Steps make them, `apply` makes each true in a write of its own, a dry run shows them. A proposal carries what
the step saw of its memories, so that one whose ground has shifted since is dropped. Reasons never quote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from msgspec import Struct, field

from engramdb.store.contract import Transaction
from engramdb.values import EdgeType, Kind, Layer, Memory, MemoryId, MemoryType, Status


class Proposal(Struct, frozen=True, kw_only=True):
    """One change, and why; `action` is what reports call it."""

    action: ClassVar[str] = ""
    reason: str


class Derive(Proposal, frozen=True, kw_only=True):
    """
    State something that follows from memories of one scope.

    The new memory belongs to exactly their scope, is protected as the strictest of them is, flagged as any of
    them is, and linked to each. Said before, from the same sources, it changes nothing; with further sources
    it gains evidence.
    """

    action: ClassVar[str] = "derive"
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
    """Which step and version states it, stored as the memory's extractor, such as `dream.patterns/1`."""
    is_introduced: bool = True
    """Whether the entities that it mentions are registered with it; a profile names no one new."""
    replaces: Memory | None = None
    """An earlier statement by the same step that this one is the new version of."""


class Merge(Proposal, frozen=True, kw_only=True):
    """Let one memory stand for others that say the same; it takes over their evidence, they become merged."""

    action: ClassVar[str] = "merge"
    keep: Memory
    lose: tuple[Memory, ...]


class Supersede(Proposal, frozen=True, kw_only=True):
    """Let one memory replace another that it contradicts."""

    action: ClassVar[str] = "supersede"
    winner: Memory
    loser: Memory


class Restatus(Proposal, frozen=True, kw_only=True):
    """Move a memory to another status, such as challenged or invalidated."""

    action: ClassVar[str] = "restatus"
    memory: Memory
    status: Status
    along: tuple[Memory, ...] = ()
    """Others that move with it, in the same write: all of them or none."""


class Adjust(Proposal, frozen=True, kw_only=True):
    """Set numbers of a memory: strength, stability, importance, confidence; or its layer. Never its words."""

    action: ClassVar[str] = "adjust"
    memory: Memory
    changes: Mapping[str, object] = field(default_factory=dict)


class AddLink(Proposal, frozen=True, kw_only=True):
    """Link two memories; a directed inference that would close a circle is dropped."""

    action: ClassVar[str] = "link"
    source: Memory
    target: Memory
    type: EdgeType = EdgeType.SIMILAR_TO
    weight: float = 1.0


class SideWrite(Proposal, frozen=True, kw_only=True):
    """Write something that is not a memory: a question, a node of the tree, a profile; by a function."""

    what: str
    """In a word, for the report: `question`, `domain`, `profile`."""
    about: tuple[MemoryId, ...] = ()
    write: Callable[[Transaction], bool]
    """Writes it, and returns whether anything changed."""
