"""
The different numbers of an array, and where each stands first.

Used by the graph. Gives what `np.unique` would; that one, at its first call, loads `numpy.ma`, which takes as
long as a whole recall and which nothing else of ours needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def distinct(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return every number once, in ascending order, and the place where it stands first."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first], order[is_first]
