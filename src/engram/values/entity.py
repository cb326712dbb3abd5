"""
Entity: a person, project, tool or place that memories speak of, under whatever names.

Registered by the gate, resolved by name, alias and likeness; asked for by `recall` and the dream.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from engram.values.scope import GLOBAL, Scope

if TYPE_CHECKING:
    from datetime import datetime


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


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it stands in a text, and what sort of thing it seems to be."""

    text: str
    type: EntityType = EntityType.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """One thing with a canonical name and the other names it goes by, in one scope."""

    id: str
    name: str
    type: EntityType
    first_seen: datetime
    last_seen: datetime
    scope: Scope = GLOBAL
    aliases: tuple[str, ...] = ()
    mentions: int = 1
