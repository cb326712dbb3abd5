"""
A query under way, and its candidates in order: what the steps of the pipeline hand on to one another.

Made by `pipeline`; read by `fetch` and `quality`. Frozen, without decisions of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.recall.as_of import widened
from engram.recall.fuse import explain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.policy import RecallPolicy
    from engram.recall.fuse import Fused, Signal
    from engram.recall.gather import Notes, Sources
    from engram.recall.plan import Planned
    from engram.store.contract import Found
    from engram.values import Query, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A query under way: what it is asked of, how it is to be answered, and what was noted so far."""

    query: Query
    sources: Sources
    notes: Notes
    now: datetime
    as_of: datetime | None
    strategy: str
    vector: NDArray[np.float32] | None
    plan: Planned

    @property
    def policy(self) -> RecallPolicy:
        """The numbers that it is answered by."""
        return self.sources.policy

    @property
    def search(self) -> Query:
        """What the indexes are asked: of the past, also what has another status or layer today."""
        if self.as_of is None:
            return self.query
        return replace(self.query, filters=widened(self.query.filters))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Candidates in order, and where their scores come from."""

    order: list[Fused]
    answers: Mapping[str, list[Found]]
    weights: Mapping[str, float]
    signals: Sequence[Signal]
    words: str
    """What the text index was asked."""

    def reasons(self, keys: Sequence[int]) -> dict[int, tuple[Reason, ...]]:
        """Return what each index and signal gave to each of these memories."""
        return explain(keys, self.answers, self.weights, self.signals)
