"""
Merge the scored answers of several indexes into one.

Called by `recall.pipeline` once every index has answered; calls nothing itself. Scores of different indexes
cannot be compared, so each list is stretched to [0, 1] first and then mixed by weight. On LoCoMo this beat
fusing by rank: docs/lab/0003-fusion.md.
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
    """A memory's key, its mixed score in [0, 1] and what each index gave to it."""

    key: int
    score: float
    reasons: tuple[Reason, ...]


def fuse(answers: Mapping[str, Sequence[Found]], weights: Mapping[str, float]) -> list[Fused]:
    """
    Return one list, best first, from lists that are each best first.

    Weights of indexes that did not answer go to those that did, so the best possible score stays 1.
    Equal scores keep the order of the keys, newest first.
    """
    total = sum(weights[name] for name in answers) or 1.0
    reasons: defaultdict[int, list[Reason]] = defaultdict(list)
    for name, found in answers.items():
        for rank, (one, share) in enumerate(zip(found, stretch(found), strict=True), start=1):
            contribution = weights[name] / total * share
            reasons[one.key].append(Reason(index=name, rank=rank, score=one.score, contribution=contribution))

    fused = [Fused(key, sum(r.contribution for r in why), tuple(why)) for key, why in reasons.items()]
    return sorted(fused, key=lambda one: (-one.score, -one.key))


def stretch(found: Sequence[Found]) -> list[float]:
    """Return the scores stretched to [0, 1]; a single or equal scores are all 1."""
    scores = [one.score for one in found]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    if high == low:
        return [1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]
