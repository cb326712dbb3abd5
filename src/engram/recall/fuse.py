"""
Merge the scored answers of several indexes into one.

Called by `recall.pipeline` once every index has answered; calls nothing itself. Every score it is given means
the same in any store: 0 for unrelated, 1 for a perfect match. So scores are mixed by weight as they are, and
a memory's score does not depend on which others were found. Measured against stretching each list to its
own best and worst, and against fusing by rank: docs/lab/0003-fusion.md.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.values import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.store.contract import Found


@dataclass(frozen=True, slots=True)
class Fused:
    """A memory's key and its mixed score in [0, 1]."""

    key: int
    score: float


def fuse(answers: Mapping[str, Sequence[Found]], weights: Mapping[str, float]) -> list[Fused]:
    """
    Return one list, best first, from lists that are each best first.

    Weights of indexes that did not answer go to those that did, so the best possible score stays 1.
    Equal scores keep the order of the keys, newest first.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for name, found in answers.items():
        share = share_of(name, answers, weights)
        for one in found:
            scores[one.key] += share * one.score

    best_first = sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))
    return [Fused(key, score) for key, score in best_first]


def explain(
    keys: Sequence[int], answers: Mapping[str, Sequence[Found]], weights: Mapping[str, float]
) -> dict[int, tuple[Reason, ...]]:
    """Return what each index gave to each of these memories."""
    reasons: dict[int, list[Reason]] = {key: [] for key in keys}
    for name, found in answers.items():
        share = share_of(name, answers, weights)
        for rank, one in enumerate(found, start=1):
            if one.key in reasons:
                reason = Reason(index=name, rank=rank, score=one.score, contribution=share * one.score)
                reasons[one.key].append(reason)
    return {key: tuple(why) for key, why in reasons.items()}


def share_of(name: str, answers: Mapping[str, object], weights: Mapping[str, float]) -> float:
    """Return an index's weight among those that answered."""
    total = sum(weights[each] for each in answers)
    return weights[name] / total if total else 1 / len(answers)
