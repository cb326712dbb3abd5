"""
What `recall` answers: the hits with their reasons, and how good the answer is.

Built by the recall pipeline, shown unchanged by every surface. An answer that lost an index says so
in `quality.missing`; an empty answer is never the same as a failed one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from engram.values.memory import Memory
    from engram.values.query import Query


class Level(StrEnum):
    """How much of the machinery took part in an answer."""

    FULL = "full"
    DISK_VECTORS = "disk vectors"
    """Every vector was looked at, but read from the file: slower, not worse."""
    REDUCED = "reduced"
    """Some memories could not be found by meaning."""
    TEXT_ONLY = "text only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How far to believe a hit, each part in [0, 1]."""

    relevance: float
    accuracy: float
    freshness: float
    utility: float
    composite: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a memory was found: the index, its place there, the score it gave, its share of the result."""

    index: str
    rank: int
    score: float
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory that fits, with its score in [0, 1]."""

    memory: Memory
    score: float
    trust: Trust
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """An index that could not answer fully, and why."""

    index: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How the answer came about."""

    answered: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    level: Level = Level.FULL
    """How much of the machinery took part."""
    intent: str | None = None
    """What kind of question it was taken for, where that shifted anything."""
    strategy: str = "score"
    """How the candidates were put in order."""
    text_weight: float = 0.0
    """The share of words in the score, the rest being meaning."""
    period: tuple[datetime | None, datetime | None] | None = None
    """The time that the question asks for, where it names one."""
    candidates: int = 0
    average_relevancy: float = 0.0
    ndcg: float = 0.0
    tokens: int = 0
    milliseconds: float = 0.0
    stages: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_degraded(self) -> bool:
        """Whether some index did not answer or answered in part."""
        return bool(self.missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The answer to one query: hits best first, and the quality of the whole."""

    query: Query
    hits: tuple[Hit, ...] = ()
    quality: Quality = Quality()
    also_considered: tuple[Hit, ...] = ()
    """With `explain`, the candidates that came next and were left out."""
