"""Entity: a person, project, tool or place that memories mention, and its profile."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from engramdb.values.memory import Layer, Memory, MemoryId
from engramdb.values.scope import GLOBAL, Scope

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
