"""
EntityProfile: everything that is known about one person, project or thing, in one value.

Built by `recall.entity`, shown by the surfaces. Holds only what the reader's scope may see: names,
counts and moments come from memories that may be found, never from forgotten ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.values.entity import Entity
    from engram.values.ids import MemoryId
    from engram.values.memory import Layer, Memory


@dataclass(frozen=True, slots=True)
class Relation:
    """Subject, predicate and object of a memory that the entity takes part in."""

    subject: str | None
    predicate: str
    object: str | None
    memory_id: MemoryId


@dataclass(frozen=True, slots=True)
class Companion:
    """Another entity, and how many memories speak of both."""

    entity: Entity
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityProfile:
    """An entity with its memories of all layers, its relations, its company and its months."""

    entity: Entity
    """With all its names, and the first and the last moment that a memory of it is about."""
    memories: Mapping[Layer, tuple[Memory, ...]]
    """The newest first; layers without any are left out."""
    relations: tuple[Relation, ...] = ()
    companions: tuple[Companion, ...] = ()
    """Who is mentioned together with it, the most frequent first."""
    months: Mapping[str, int]
    """Its timeline: how many memories speak of it, by the month they are about (`2026-01`), oldest first."""
    namesakes: tuple[Entity, ...] = ()
    """Others that go by the name that was asked for; ask for them by id."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other names that memories use for it."""
        return self.entity.aliases
