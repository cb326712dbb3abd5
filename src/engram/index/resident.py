"""
Eight-bit vectors held in memory, row for row beside the roster.

Used by the vector index to score its shortlist without asking the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engram.index.codes import Codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engram.store.contract import Quantised

_FIRST_CAPACITY = 1024
_GROWTH = 1.5
_MEAN_ROWS = 16_384  # more rows do not move the mean
_COMPARED_ROWS = 2_048  # times a few hundred vectors: a few megabytes at once
_BLOCK_ROWS = 8_192  # keeps the floating-point copy small while codes are made


class Resident:
    """Vectors by row; rows without a vector are zero."""

    def __init__(self, dimension: int) -> None:
        self._numbers = np.zeros((_FIRST_CAPACITY, dimension), np.int8)
        self._scales = np.zeros(_FIRST_CAPACITY, np.float32)
        self._length = 0

    @property
    def bytes(self) -> int:
        """How much memory the rows in use take."""
        return self._length * (self._numbers.shape[1] + self._scales.itemsize)

    def put(self, rows: NDArray[np.intp], vectors: Quantised) -> None:
        """Set the vectors of these rows, with room made for them."""
        self._length = max(self._length, int(rows.max(initial=-1)) + 1)
        self._grow(self._length)
        self._numbers[rows] = vectors.numbers
        self._scales[rows] = vectors.scales

    def scores(self, rows: NDArray[np.intp], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the similarity of each row to the query."""
        scores: NDArray[np.float32] = (self._numbers[rows].astype(np.float32) @ query) * self._scales[rows]
        return scores

    def best(
        self, rows: NDArray[np.intp], queries: NDArray[np.float32], limit: int
    ) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Return for each query the scores and rows of its best few, in no order."""
        scores = np.empty((len(queries), 0), np.float32)
        places = np.empty((len(queries), 0), np.intp)
        for start in range(0, len(rows), _COMPARED_ROWS):
            block = rows[start : start + _COMPARED_ROWS]
            fresh = queries @ self._floats(block).T
            scores = np.concatenate([scores, fresh], axis=1)
            places = np.concatenate([places, np.broadcast_to(block, fresh.shape)], axis=1)
            if scores.shape[1] > limit:
                top = np.argpartition(-scores, limit - 1, axis=1)[:, :limit]
                scores = np.take_along_axis(scores, top, axis=1)
                places = np.take_along_axis(places, top, axis=1)
        return scores, places

    def codes(self, has_vector: NDArray[np.bool_]) -> Codes:
        """Return the sign bits of all rows around the mean of those that have a vector."""
        mean = self._floats(np.flatnonzero(has_vector)[:_MEAN_ROWS]).mean(axis=0)
        codes = Codes(mean, self._length)
        for start in range(0, self._length, _BLOCK_ROWS):
            rows = np.arange(start, min(start + _BLOCK_ROWS, self._length))
            codes.put(rows, self._floats(rows))
        return codes

    def _floats(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        floats: NDArray[np.float32] = self._numbers[rows].astype(np.float32) * self._scales[rows, None]
        return floats

    def _grow(self, length: int) -> None:
        if length <= len(self._scales):
            return
        capacity = max(length, int(len(self._scales) * _GROWTH))
        numbers = np.zeros((capacity, self._numbers.shape[1]), np.int8)
        scales = np.zeros(capacity, np.float32)
        numbers[: len(self._scales)] = self._numbers
        scales[: len(self._scales)] = self._scales
        self._numbers, self._scales = numbers, scales
