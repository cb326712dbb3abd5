"""
What a store hands out besides values: rows and columns that indexes and ageing compute with.

Used by the tables of the contract and by the rooms above; no SQL, no driver's types.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.values import (
        Layer,
        MemoryId,
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A memory's key and how well it fits; larger is better."""

    key: int
    score: float


@dataclass(frozen=True, slots=True)
class Quantised:
    """Vectors with eight bits a number, however few are stored: row `i` is `numbers[i] * scales[i]`."""

    numbers: NDArray[np.int8]
    scales: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.scales)


@dataclass(frozen=True, slots=True)
class Changes:
    """
    Memories that changed since a cursor, one column per field, oldest change first.

    `vectors` has a row for each memory; where `has_vector` is false the row is zero.
    """

    cursor: int
    keys: NDArray[np.int64]
    scopes: NDArray[np.int32]
    when: NDArray[np.int64]
    statuses: list[str]
    layers: list[str]
    types: list[str]
    kinds: list[str]
    categories: list[str]
    has_vector: NDArray[np.bool_]
    vectors: Quantised

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Part:
    """
    Some rows of a snapshot: one key, `columns` and `codes` of equal width for each.

    `head` holds for the whole snapshot and is the same in all its parts.
    """

    cursor: int
    head: bytes
    keys: NDArray[np.int64]
    columns: bytes
    codes: bytes


@dataclass(frozen=True, slots=True)
class Objection:
    """A question for which a memory was of no help: its fingerprint, and its vector in a space."""

    key: int
    question: bytes | None
    space: int | None
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Sketch:
    """What ranking needs to know of a memory: who said it, what it is about, and when, in microseconds."""

    speaker: str | None
    subject: str | None
    when: int


@dataclass(frozen=True, slots=True)
class Appearance:
    """A memory that speaks of an entity, the layer that it is in and the moment that it is about."""

    key: int
    layer: Layer
    when: datetime


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that readers were given: when, and in which sessions."""

    memory_id: MemoryId
    moments: tuple[datetime, ...]
    sessions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """How far an ageing sweep came; `finished_at` is None while it is not done."""

    started_at: datetime
    policy: str
    key: int = 0
    finished_at: datetime | None = None
    after_key: int = 0
    looked_at: int = 0
    by_rule: Mapping[str, int] = field(default_factory=dict)

    def at(self, key: int) -> Sweep:
        """Return the sweep under the key that the store gave it."""
        return replace(self, key=key)


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """Links by the keys of their ends, one column per field; a link that was taken away weighs 0."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    types: list[str]
    weights: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True, slots=True)
class SharedEntities:
    """Pairs of memories that speak of the same entity, and how many memories speak of it."""

    origins: NDArray[np.int64]
    others: NDArray[np.int64]
    mentions: NDArray[np.int64]
