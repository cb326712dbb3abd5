"""
One bit per dimension: which vectors point roughly the same way?

Used by the vector index to choose the few that are worth an exact look. Bits are signs after the mean is
taken away: some models crowd all their vectors into one corner, and there the raw signs say little.
Codes are kept word by word, so that a scan runs through memory in a straight line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD_BITS = 64
_SCAN_ROWS = 1 << 16  # a block's words and distances stay in the processor's cache


class Codes:
    """Sign bits of many vectors, row by row, in words of 64."""

    def __init__(self, mean: NDArray[np.float32], capacity: int) -> None:
        self._mean = mean
        self._words = np.zeros((-(-len(mean) // _WORD_BITS), capacity), np.uint64)

    @property
    def bytes(self) -> int:
        """How much memory the codes take."""
        return self._words.nbytes

    def put(self, rows: NDArray[np.intp], vectors: NDArray[np.float32]) -> None:
        """Set the codes of these rows, with room made for them."""
        top = int(rows.max(initial=-1)) + 1
        if top > self._words.shape[1]:
            larger = np.zeros((len(self._words), max(2 * self._words.shape[1], top)), np.uint64)
            larger[:, : self._words.shape[1]] = self._words
            self._words = larger
        self._words[:, rows] = self._encode(vectors)

    def nearest(self, query: NDArray[np.float32], allowed: NDArray[np.bool_], count: int) -> NDArray[np.intp]:
        """Return the allowed rows that differ from the query in the fewest bits: `count` or a few more."""
        words, code = self._words, self._encode(query[None, :])[:, 0]
        distances = np.empty(len(allowed), np.uint16)
        for start in range(0, len(allowed), _SCAN_ROWS):
            stop = min(start + _SCAN_ROWS, len(allowed))
            block = np.bitwise_count(words[0, start:stop] ^ code[0]).astype(np.uint16)
            for word, bits in zip(words[1:], code[1:], strict=True):
                block += np.bitwise_count(word[start:stop] ^ bits)
            distances[start:stop] = block
        return _smallest(distances, allowed, count, bits=len(words) * _WORD_BITS)

    def _encode(self, vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
        bits = np.packbits(vectors > self._mean, axis=1)
        padded = np.zeros((len(vectors), len(self._words) * _WORD_BITS // 8), np.uint8)
        padded[:, : bits.shape[1]] = bits
        return padded.view(np.uint64).T


def _smallest(
    distances: NDArray[np.uint16], allowed: NDArray[np.bool_], count: int, *, bits: int
) -> NDArray[np.intp]:
    """Return the rows within the smallest radius that holds `count`: a count by distance, not a sort."""
    per_distance = np.bincount(distances[allowed], minlength=bits + 1)
    radius = int(np.searchsorted(np.cumsum(per_distance), count))
    return np.flatnonzero(allowed & (distances <= radius))
