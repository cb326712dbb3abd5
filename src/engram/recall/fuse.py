"""
Merge the scored answers of several indexes, and what other signals add, into one order.

Called by `recall.pipeline` once every index has answered; calls nothing itself. Every score it is given
means the same in any store: 0 for unrelated, 1 for a perfect match. So scores are mixed by weight as they
are, and a memory's score does not depend on which others were found. Measured against stretching each
list to its own best and worst, and against fusing by rank: docs/lab/0003-fusion.md.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What one signal adds to memories that the indexes found, or finds beside them."""

    name: str
    gained: Mapping[int, float] = field(default_factory=dict)
    """The contribution to each memory's score."""


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
    return in_order(scores)


def with_signals(fused: Sequence[Fused], signals: Sequence[Signal], *, unfound: float) -> list[Fused]:
    """
    Return the list with what the signals add; `unfound` is what a memory has that no index listed.

    Scores may pass 1 here, so that the best keep their order; whoever shows one cuts it.
    """
    scores = {one.key: one.score for one in fused}
    for signal in signals:
        for key, gained in signal.gained.items():
            scores[key] = scores.get(key, unfound) + gained
    return in_order(scores)


def in_order(scores: Mapping[int, float]) -> list[Fused]:
    """Return scores as a list, best first, the newest of equals first."""
    best_first = sorted(((score, key) for key, score in scores.items()), reverse=True)
    return [Fused(key, score) for score, key in best_first]


def explain(
    keys: Sequence[int],
    answers: Mapping[str, Sequence[Found]],
    weights: Mapping[str, float],
    signals: Sequence[Signal] = (),
) -> dict[int, tuple[Reason, ...]]:
    """Return what each index and each signal gave to each of these memories."""
    reasons: dict[int, list[Reason]] = {key: [] for key in keys}
    for name, found in answers.items():
        share = share_of(name, answers, weights)
        for rank, one in enumerate(found, start=1):
            if one.key in reasons:
                reason = Reason(index=name, rank=rank, score=one.score, contribution=share * one.score)
                reasons[one.key].append(reason)
    for signal in signals:
        for rank, given in enumerate(in_order(signal.gained), start=1):
            if given.key in reasons:
                score = min(1.0, given.score)
                reason = Reason(index=signal.name, rank=rank, score=score, contribution=given.score)
                reasons[given.key].append(reason)
    return {key: tuple(why) for key, why in reasons.items()}


def share_of(name: str, answers: Mapping[str, object], weights: Mapping[str, float]) -> float:
    """Return an index's weight among those that answered."""
    total = sum(weights[each] for each in answers)
    return weights[name] / total if total else 1 / len(answers)
