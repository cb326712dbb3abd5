"""
Put candidates in another order: by rank, by being unlike one another, or by a model that reads both texts.

Called by `recall.pipeline` after everything was added up; the eval keeps `score`, which leaves the order
as it is (docs/lab/0018-recall.md). Every strategy returns what it was given, none is lost. Scores come
out in [0, 1], and single or equal ones as 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from engram.recall.fuse import Fused, in_order, share_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from engram.store.contract import Found

MMR_POOL = 50
"""So many of the best are weighed against one another; the rest follow in their order."""


class Reranker(Protocol):
    """A model that reads a question and a text together and says how well they fit, larger being better."""

    @property
    def name(self) -> str:
        """What the answer calls it."""
        ...

    def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score per text, in [0, 1]."""
        ...


def by_rank(
    ranked: Sequence[Fused],
    answers: Mapping[str, Sequence[Found]],
    weights: Mapping[str, float],
    *,
    constant: int,
) -> list[Fused]:
    """Return the candidates by weighted rank fusion of the indexes' lists."""
    scores = dict.fromkeys((one.key for one in ranked), 0.0)
    for name, found in answers.items():
        share = share_of(name, answers, weights)
        for rank, one in enumerate(found, start=1):
            if one.key in scores:
                scores[one.key] += share / (constant + rank)
    return in_order(normalised(scores))


def by_difference(
    ranked: Sequence[Fused],
    vectors: Mapping[int, NDArray[np.float32]],
    *,
    relevance: float,
    floor: float,
) -> list[Fused]:
    """
    Return the candidates so that each is good and unlike those before it (MMR).

    `floor` is the cosine of unrelated texts. One without a vector counts as unlike all others. The scores
    stay those of the candidates.
    """
    pool, rest = list(ranked[:MMR_POOL]), list(ranked[MMR_POOL:])
    if not pool:
        return []
    scores = np.array([one.score for one in pool])
    rows = _rows(pool, vectors)
    alike = np.maximum((rows @ rows.T - floor) / (1 - floor), 0)
    nearest = np.zeros(len(pool))
    is_left = np.ones(len(pool), np.bool_)
    chosen: list[Fused] = []
    while is_left.any():
        worth = np.where(is_left, relevance * scores - (1 - relevance) * nearest, -np.inf)
        best = int(np.argmax(worth))
        is_left[best] = False
        nearest = np.maximum(nearest, alike[best])
        chosen.append(pool[best])
    return chosen + rest


def by_model(
    ranked: Sequence[Fused], question: str, texts: Mapping[int, str], model: Reranker
) -> list[Fused]:
    """Return the candidates whose text is known as the model orders them, the others behind."""
    known = [one for one in ranked if one.key in texts]
    scores = model.score(question, [texts[one.key] for one in known])
    ordered = in_order(dict(zip([one.key for one in known], scores, strict=True)))
    return ordered + [one for one in ranked if one.key not in texts]


def normalised(scores: Mapping[int, float]) -> dict[int, float]:
    """Return scores stretched to [0, 1]; a single one, or all the same, become 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high <= low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def _rows(pool: Sequence[Fused], vectors: Mapping[int, NDArray[np.float32]]) -> NDArray[np.float32]:
    width = len(next(iter(vectors.values()))) if vectors else 1
    nothing = np.zeros(width, np.float32)
    return np.stack([vectors.get(one.key, nothing) for one in pool])
