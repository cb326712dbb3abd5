"""Edge: a typed, weighted link between two memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from engramdb.errors import EdgeNotAllowed
from engramdb.values.memory import MemoryId


class EdgeType(StrEnum):
    """What the link says of its two ends."""

    DERIVED_FROM = "derived_from"
    CONTRADICTS = "contradicts"
    SUPPORTS = "supports"
    CAUSED_BY = "caused_by"
    RELATED_TO = "related_to"
    SIMILAR_TO = "similar_to"
    INSTANCE_OF = "instance_of"
    INFERRED_FROM = "inferred_from"
    SUPERSEDES = "supersedes"
    NEXT = "next"

    @property
    def is_inference(self) -> bool:
        """Whether a circle of such edges would let a memory prove itself."""
        return self in _INFERENCE


_INFERENCE = frozenset(
    {
        EdgeType.DERIVED_FROM,
        EdgeType.CAUSED_BY,
        EdgeType.INSTANCE_OF,
        EdgeType.INFERRED_FROM,
        EdgeType.SUPERSEDES,
    }
)


class Edge(Struct, frozen=True, kw_only=True):
    """From one memory to another, with a weight in [0, 1]."""

    source: MemoryId
    """The memory that the link leaves."""
    target: MemoryId
    """The memory that the link reaches."""
    type: EdgeType
    """What the source is to the target."""
    weight: float
    """How close they are, from 0 to 1."""
    created_at: datetime
    """When the link was made."""


def check_edge(edge: Edge, inferred_from: Callable[[MemoryId], Iterable[MemoryId]]) -> None:
    """
    Raise `EdgeNotAllowed` if the edge joins a memory to itself or closes a circle of inference.

    `inferred_from(id)` returns the targets of the inference edges that leave a memory.
    """
    if edge.source == edge.target:
        raise EdgeNotAllowed(f"memory {edge.source} cannot be linked to itself")
    if not 0 <= edge.weight <= 1:
        raise EdgeNotAllowed(f"edge weight {edge.weight} is outside 0 to 1")
    if edge.type.is_inference and _reaches(edge.target, edge.source, inferred_from):
        raise EdgeNotAllowed(f"{edge.source} {edge.type} {edge.target} would close a circle of inference")


def _reaches(
    start: MemoryId, goal: MemoryId, inferred_from: Callable[[MemoryId], Iterable[MemoryId]]
) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        for target in inferred_from(waiting.pop()):
            if target == goal:
                return True
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return False
