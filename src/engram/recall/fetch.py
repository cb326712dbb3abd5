"""
From candidates to memories: the best that fit, as they are or as they were, and which of them are disputed.

Called by `pipeline` inside its snapshot. Whatever an index remembers wrongly is left out here once more, and
so is what has a last day that is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.recall.as_of import believed
from engram.recall.collapse import collapse
from engram.values import EdgeType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.recall.asking import Asking
    from engram.recall.fuse import Fused
    from engram.store.contract import Transaction
    from engram.values import Memory, Query

PAST_CANDIDATES = 4
"""Of the past so many times as many candidates are looked at, since many were not there yet."""
_SPARE = 3
"""Of the past so many more than asked are fetched, since some stand for the same thing."""


def answering(asking: Asking, best: Sequence[tuple[Fused, Memory]]) -> list[tuple[Fused, Memory]]:
    """Return what fits well enough to be an answer, and a few at any rate: the best may be asked in vain."""
    policy = asking.policy
    return [
        pair
        for place, pair in enumerate(best)
        if pair[0].score >= (policy.nothing_below if place < policy.least_hits else policy.least_score)
    ]


def fetch(
    tx: Transaction, asking: Asking, order: Sequence[Fused], *, wanted: int
) -> list[tuple[Fused, Memory]]:
    """Return the best as memories; whatever an index remembers wrongly is left out here once more."""
    if asking.as_of is not None:
        return _fetch_past(tx, asking, order, asking.as_of, wanted=wanted)
    best: list[tuple[Fused, Memory]] = []
    for start in range(0, len(order), wanted):
        page = order[start : start + wanted]
        memories = tx.memories.by_keys([one.key for one in page])
        found = [(one, memories[one.key]) for one in page if one.key in memories]
        best += [(one, memory) for one, memory in found if _fits(memory, asking.query, asking.now)]
        best = collapse(best, lambda pair: pair[1])
        if len(best) >= wanted:
            break
    return best[:wanted]


def _fetch_past(
    tx: Transaction, asking: Asking, order: Sequence[Fused], moment: datetime, *, wanted: int
) -> list[tuple[Fused, Memory]]:
    """Return the best as the memories that they were at that moment."""
    scored = {one.key: one for one in order}
    found = believed(
        tx,
        list(scored),
        moment=moment,
        scope=asking.query.scope,
        statuses=asking.query.filters.statuses,
        layers=asking.query.filters.layers,
        limit=wanted + _SPARE,
    )
    if len(found) < wanted and len(order) >= asking.plan.candidates * PAST_CANDIDATES:
        asking.notes.lost("past", "most candidates were stored later; older ones may be missing")
    return collapse([(scored[key], memory) for key, memory in found], lambda pair: pair[1])[:wanted]


def _fits(memory: Memory, query: Query, now: datetime) -> bool:
    """Say whether a memory may be shown; one whose last day is over counts as gone before a sweep comes."""
    is_seen = query.scope.sees(memory.scope) and memory.status in query.filters.statuses
    return is_seen and not memory.is_over(now)


def contradicted(tx: Transaction, asking: Asking, best: Sequence[tuple[Fused, Memory]]) -> set[str]:
    """Return which of these memories stand against another one, by the moment that is asked about."""
    until = asking.as_of or asking.now
    keys = [one.key for one, _ in best]
    linked = tx.edges.touching(keys)
    against = {
        key
        for source, target, kind in zip(linked.sources, linked.targets, linked.types, strict=True)
        if kind == EdgeType.CONTRADICTS
        for key in (int(source), int(target))
    }
    return {
        memory.id
        for one, memory in best
        if one.key in against
        and any(
            edge.type is EdgeType.CONTRADICTS and edge.created_at <= until for edge in tx.edges.of(memory.id)
        )
    }
