"""
Box: memories that were stored under one topic, one after the other.

Filled by the gate, sealed when the topic changes, time passes or it is full. Boxes whose topics overlap
share a trace, which is how a recurring subject is followed over months.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.values.scope import GLOBAL, Scope

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One stretch of one topic in one scope; open until `sealed_at` is set."""

    id: str
    trace: str
    topics: frozenset[str]
    recent: tuple[frozenset[str], ...] = ()
    """The topics of its latest statements, latest last: what a change of topic is measured against."""
    opened_at: datetime
    last_at: datetime
    memories: int
    scope: Scope = GLOBAL
    sealed_at: datetime | None = None
