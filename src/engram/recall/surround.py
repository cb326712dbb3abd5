"""
What was said beside a good memory is worth something too: an answer often stands next to its question.

Called by `recall.signals` once the indexes have been fused; asks the store who stands beside whom in a
session. Only what lies above the crowd counts, and only by how much: otherwise the neighbours of one good
find would push other sessions out of the answer, which cost multi-hop questions most.
docs/lab/0018-recall.md.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.policy import RecallPolicy
    from engram.recall.fuse import Fused
    from engram.store.contract import Transaction
    from engram.values import Query


def crowd_score(ranked: Sequence[Fused], policy: RecallPolicy) -> float:
    """Return the score of the rank from which on candidates are a crowd; of the last, if there are fewer."""
    return ranked[min(policy.session_crowd, len(ranked) - 1)].score if ranked else 0.0


def surround(
    tx: Transaction, ranked: Sequence[Fused], query: Query, policy: RecallPolicy
) -> dict[int, float]:
    """Return what each memory gains from the good ones beside it in its session."""
    crowd = crowd_score(ranked, policy)
    above = {one.key: one.score - crowd for one in ranked[: policy.session_crowd] if one.score > crowd}
    if not above or not policy.session_reach:
        return {}
    best: defaultdict[tuple[int, int], float] = defaultdict(float)
    beside = tx.candidates.beside(
        list(above), reach=len(policy.session_reach), scope=query.scope, filters=query.filters
    )
    for seed, neighbour, distance in beside:
        best[neighbour, distance] = max(best[neighbour, distance], above[seed])
    gained: defaultdict[int, float] = defaultdict(float)
    for (neighbour, distance), excess in best.items():
        gained[neighbour] += policy.session_reach[distance - 1] * excess
    return dict(gained)
