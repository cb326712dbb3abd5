"""
Eight-bit vectors held in memory, row for row beside the roster.

The vector backend of small stores, for which every allowed row is worth an exact look, and in larger
ones what the index scores its shortlist from, without asking the store. Knows rows, not memories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engram.index.backend import Snapshot
from engram.index.metrics import similarities
from engram.store.contract import Quantised

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIRST_CAPACITY = 1024
_GROWTH = 1.5
_COMPARED_ROWS = 2_048  # times a few hundred vectors: a few megabytes at once
_SCALE_BYTES = 4


class Resident:
    """Vectors by row; rows without a vector are zero."""

    def __init__(self, dimension: int, *, metric: str = "cosine") -> None:
        self._metric = metric
        self._numbers = np.zeros((_FIRST_CAPACITY, dimension), np.int8)
        self._scales = np.zeros(_FIRST_CAPACITY, np.float32)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def bytes(self) -> int:
        """How much memory the rows in use take."""
        return self._length * (self._numbers.shape[1] + _SCALE_BYTES)

    def put(self, rows: NDArray[np.intp], vectors: Quantised) -> None:
        """Set the vectors of these rows, with room made for them."""
        self._grow(int(rows.max(initial=-1)) + 1)
        self._numbers[rows] = vectors.numbers
        self._scales[rows] = vectors.scales

    def shortlist(
        self,
        query: NDArray[np.float32],  # noqa: ARG002 - what is near matters to other backends
        allowed: NDArray[np.bool_],
        count: int,  # noqa: ARG002
    ) -> NDArray[np.intp]:
        """Return every allowed row."""
        return np.flatnonzero(allowed)

    def read(self, rows: NDArray[np.intp]) -> Quantised:
        """Return the vectors of these rows."""
        return Quantised(self._numbers[rows], self._scales[rows])

    def scores(self, rows: NDArray[np.intp], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the similarity of each row to the query."""
        scores: NDArray[np.float32] = similarities(self._metric, self.read(rows), query[None, :])[0]
        return scores

    def best(
        self, rows: NDArray[np.intp], queries: NDArray[np.float32], limit: int
    ) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Return for each query the scores and rows of its best few, in no order."""
        scores = np.empty((len(queries), 0), np.float32)
        places = np.empty((len(queries), 0), np.intp)
        for start in range(0, len(rows), _COMPARED_ROWS):
            block = rows[start : start + _COMPARED_ROWS]
            fresh = similarities(self._metric, self.read(block), queries)
            scores = np.concatenate([scores, fresh], axis=1)
            places = np.concatenate([places, np.broadcast_to(block, fresh.shape)], axis=1)
            if scores.shape[1] > limit:
                top = np.argpartition(-scores, limit - 1, axis=1)[:, :limit]
                scores = np.take_along_axis(scores, top, axis=1)
                places = np.take_along_axis(places, top, axis=1)
        return scores, places

    def snapshot(self) -> Snapshot:
        """Return the scale and the numbers of each row."""
        scales = self._scales[: self._length].astype("<f4")[:, None].view(np.uint8)
        return Snapshot(b"", np.concatenate([scales, self._numbers[: self._length].view(np.uint8)], axis=1))

    @classmethod
    def restore(cls, snapshot: Snapshot, *, metric: str = "cosine") -> Resident:
        """Return the vectors that a snapshot was taken of."""
        scales = np.ascontiguousarray(snapshot.rows[:, :_SCALE_BYTES]).view("<f4")
        numbers = snapshot.rows[:, _SCALE_BYTES:].view(np.int8)
        resident = cls(numbers.shape[1], metric=metric)
        resident.put(np.arange(len(numbers)), Quantised(numbers, scales.reshape(-1).astype(np.float32)))
        return resident

    def _grow(self, length: int) -> None:
        self._length = max(self._length, length)
        if length <= len(self._scales):
            return
        capacity = max(length, int(len(self._scales) * _GROWTH))
        numbers = np.zeros((capacity, self._numbers.shape[1]), np.int8)
        scales = np.zeros(capacity, np.float32)
        numbers[: len(self._scales)] = self._numbers
        scales[: len(self._scales)] = self._scales
        self._numbers, self._scales = numbers, scales
