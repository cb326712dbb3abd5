"""Entities, their profiles, and edges: typed, weighted links between memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from engramdb.errors import EdgeNotAllowed
from engramdb.values.memory import Layer, Memory, MemoryId
from engramdb.values.scope import GLOBAL, Scope


class EdgeType(StrEnum):
    """What the link says of its two ends."""

    DERIVED_FROM = "derived_from"
    CONTRADICTS = "contradicts"
    """From a memory to the older one that it disputes."""
    DOUBTS = "doubts"
    """From a change to what it makes doubtful: the commute, after a move."""
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


# Entity: a person, project, tool or place that memories mention, under whatever names.


class EntityType(StrEnum):
    """What sort of thing it is."""

    PERSON = "person"
    PROJECT = "project"
    TECHNOLOGY = "technology"
    FILE = "file"
    SERVICE = "service"
    ORGANIZATION = "organization"
    CONCEPT = "concept"
    LOCATION = "location"
    UNKNOWN = "unknown"


class Mention(Struct, frozen=True, kw_only=True):
    """A name as it stands in a text, and what sort of thing it seems to be."""

    text: str
    type: EntityType = EntityType.UNKNOWN


class Entity(Struct, frozen=True, kw_only=True):
    """One thing with a canonical name and the other names it goes by, in one scope."""

    id: str
    """Its id."""
    name: str
    """Its canonical name."""
    type: EntityType
    """What it is."""
    first_seen: datetime
    """The first moment that a memory of it is about."""
    last_seen: datetime
    """The last moment that a memory of it is about."""
    scope: Scope = GLOBAL
    """Who knows it."""
    aliases: tuple[str, ...] = ()
    """Its other names."""
    mentions: int = 1
    """How often it is mentioned."""


# EntityProfile: everything that is known about one person, project or thing, in one value.


class Relation(Struct, frozen=True, kw_only=True):
    """Subject, predicate and object of a memory that the entity takes part in."""

    subject: str | None
    """Of whom or what the memory says something."""
    predicate: str
    """What it says."""
    object: str | None
    """What the subject is said to have, be or do."""
    memory_id: MemoryId
    """The memory that says so."""


class Companion(Struct, frozen=True, kw_only=True):
    """Another entity, and how many memories mention both."""

    entity: Entity
    """The other entity."""
    memories: int
    """How many memories mention both."""


class EntityProfile(Struct, frozen=True, kw_only=True):
    """An entity with its memories of all layers, its relations, its company and its months."""

    entity: Entity
    """With all its names, and the first and the last moment that a memory of it is about."""
    memories: Mapping[Layer, tuple[Memory, ...]]
    """The newest first; layers without any are left out."""
    relations: tuple[Relation, ...] = ()
    """What memories say of it as subject, predicate and object."""
    companions: tuple[Companion, ...] = ()
    """Who is mentioned together with it, the most frequent first."""
    months: Mapping[str, int]
    """Its timeline: how many memories mention it, by the month they are about (`2026-01`), oldest first."""
    namesakes: tuple[Entity, ...] = ()
    """Others that go by the name that was asked for; ask for them by id."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other names that memories use for it."""
        return self.entity.aliases
