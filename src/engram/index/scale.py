"""
Put the scores of one vector space on the scale of another.

Used while memories move from an older embedder to a newer one, and knows numbers only. Raw cosines of
two models mean different things. Memories that have a vector in both spaces are scored in both for this
very question, and the older scores are stretched so that mean and spread agree; while there are too few,
the embedders' floors have to do. Measured against both: docs/lab/0015-vector-indexes.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from engram.store.contract import Found

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SAMPLE: Final = 128
"""Memories scored in both spaces; twice as many changed nothing."""
LEAST_SHARED: Final = 32
"""With fewer, a chance sample is worse than the floors."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight line from older scores to newer ones."""

    factor: float
    offset: float

    def __call__(self, found: Sequence[Found]) -> list[Found]:
        """Return the same memories with their scores on the newer scale."""
        return [Found(one.key, self.factor * one.score + self.offset) for one in found]


def fit_scale(
    older: Mapping[int, float], newer: Mapping[int, float], *, floors: tuple[float, float]
) -> Scale:
    """Return the scale that fits what was scored in both; `floors` are the older's and the newer's."""
    shared = sorted(older.keys() & newer.keys())
    before = np.array([older[key] for key in shared])
    after = np.array([newer[key] for key in shared])
    if len(shared) >= LEAST_SHARED and before.std() > 0:
        factor = float(after.std() / before.std())
        return Scale(factor, float(after.mean()) - factor * float(before.mean()))
    factor = (1 - floors[1]) / (1 - floors[0])
    return Scale(factor, floors[1] - factor * floors[0])
