"""
A gap: something that should be known and is not, as a question for whoever can answer it.

Found by the dream, asked by reflection, closed by an answer or when its ground is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from engram.values.scope import GLOBAL, Scope

if TYPE_CHECKING:
    from datetime import datetime

    from engram.values.ids import MemoryId


class GapKind(StrEnum):
    """Why a question is open."""

    MISSING_FIELD = "missing_field"
    CONTRADICTION = "contradiction"
    STALE = "stale"
    INTERFERENCE = "interference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One open question, what it is about, and when it was last asked."""

    id: str
    """Stable for the same question in the same scope, so that finding it again changes nothing."""
    kind: GapKind
    question: str
    scope: Scope = GLOBAL
    memories: tuple[MemoryId, ...] = ()
    priority: float = 0.5
    found_at: datetime
    asked_at: datetime | None = None
    closed_at: datetime | None = None
