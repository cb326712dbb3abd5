"""
Timeline: how what is known of a topic changed, and when most of it did.

Built by `recall.timeline`, shown unchanged by every surface. Tells when the store learned of something,
which may be long after it happened, and nothing of what has been forgotten since: that is forever.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from engram.values.memory import Memory


class KnowledgeChange(StrEnum):
    """What one entry of a timeline did to what is known."""

    ADDITION = "addition"
    """Something new was learned."""
    REINFORCEMENT = "reinforcement"
    """What was known came in again."""
    CORRECTION = "correction"
    """A statement took the place of another."""
    DISPUTE = "dispute"
    """A statement was doubted, and stayed."""
    REMOVAL = "removal"
    """A statement no longer counts, and nothing took its place."""
    RETURN = "return"
    """A statement counts again, or is no longer doubted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One change; memories are shown as they were right after it."""

    at: datetime
    change: KnowledgeChange
    memory: Memory
    """What was learned, confirmed, doubted or removed; between two, the new one."""
    replaced: Memory | None = None
    """In a correction, what it took the place of."""
    disputed: Memory | None = None
    """In a dispute between two, the one that was there before."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyPeriod:
    """A day, week or month (UTC), from `start` to before `end`, and how many entries fall into it."""

    start: datetime
    end: datetime
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The changes in order of time, and the periods with most of them, busiest first."""

    topic: str
    entries: tuple[TimelineEntry, ...] = ()
    busiest: tuple[BusyPeriod, ...] = ()
