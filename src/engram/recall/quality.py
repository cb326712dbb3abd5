"""
How good an answer is, in numbers that go with it.

Called by `recall.pipeline` last. Relevancy is the similarity that the indexes saw; NDCG says whether the
order of the hits is the order of their trust, 1 meaning that it is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def average(grades: Sequence[float]) -> float:
    """Return the mean, 0 for none."""
    return sum(grades) / len(grades) if grades else 0.0


def ndcg(grades: Sequence[float]) -> float:
    """Return how close the order of these grades is to the best order of the same grades."""
    ideal = _gain(sorted(grades, reverse=True))
    return _gain(grades) / ideal if ideal else 0.0


def _gain(grades: Sequence[float]) -> float:
    return sum(grade / math.log2(place + 1) for place, grade in enumerate(grades, start=1))
