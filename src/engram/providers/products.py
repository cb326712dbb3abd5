"""
Compare a few hundred vectors with a few hundred others, without waking the threads of the arithmetic library.

Used by `likeness` and by the vector index for batches; knows arrays and nothing else. OpenBLAS shares out a
product above a certain size, and its threads then spin for a while in wait of the next one: a batch of 256
statements cost 37 ms of processor time instead of one, and on a busy machine ten times as long by the clock
too. So such a product is made in tiles that stay below that size: docs/lab/0026-import.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_MULTIPLICATIONS: Final = 262_144
"""From more than these on OpenBLAS shares a product of matrices out (`interface/gemm.c`, 4 × 65,536)."""
_COLUMNS = 64


def products(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the products of each row of the first with every row of the second, as a row."""
    if len(first) == 1:  # a vector and a matrix are another routine, which does not share out so early
        single: NDArray[np.float32] = first @ second.T
        return single
    found = np.empty((len(first), len(second)), np.float32)
    rows = max(1, MOST_MULTIPLICATIONS // (_COLUMNS * max(1, first.shape[1])))
    for left in range(0, len(second), _COLUMNS):
        columns = second[left : left + _COLUMNS].T
        for top in range(0, len(first), rows):
            tile = found[top : top + rows, left : left + _COLUMNS]
            np.matmul(first[top : top + rows], columns, out=tile)
    return found
