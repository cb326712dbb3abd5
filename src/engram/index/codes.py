"""
One bit per dimension: which vectors point roughly the same way?

The vector backend of large stores. Bits are signs after the mean is taken away: some models crowd all
their vectors into one corner, and there the raw signs say little. Codes are kept word by word, so that a
scan runs through memory in a straight line; a narrow filter picks its rows first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from engram.index.backend import Snapshot
from engram.index.metrics import unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from engram.store.contract import Quantised

PICKED_SHARE: Final = 0.15
"""Below this share of allowed rows, scanning only those beats scanning all: docs/lab/0015."""
_WORD_BITS = 64
_WORD_BYTES = 8
_SCAN_ROWS = 1 << 15  # a block's words and distances stay in the processor's cache
_PUT_ROWS = 1024  # as floating-point numbers, the same
_READ_ROWS = 16_384
_MEAN_ROWS = 16_384  # more rows do not move the mean
_FARTHEST = np.uint16(0xFFFF)


class Codes:
    """Sign bits of many vectors, row by row, in words of 64."""

    def __init__(self, mean: NDArray[np.float32], capacity: int = 0) -> None:
        self._mean = mean
        self._words = np.zeros((-(-len(mean) // _WORD_BITS), capacity), np.uint64)
        self._length = 0

    @property
    def bytes(self) -> int:
        """How much memory the codes take."""
        return self._words.nbytes

    def put(self, rows: NDArray[np.intp], vectors: Quantised) -> None:
        """Set the codes of these rows, with room made for them."""
        self._length = max(self._length, int(rows.max(initial=-1)) + 1)
        if self._length > self._words.shape[1]:
            larger = np.zeros((len(self._words), max(2 * self._words.shape[1], self._length)), np.uint64)
            larger[:, : self._words.shape[1]] = self._words
            self._words = larger
        for start in range(0, len(rows), _PUT_ROWS):
            block = slice(start, start + _PUT_ROWS)
            self._words[:, rows[block]] = self._encode(vectors.numbers[block].astype(np.float32))

    def shortlist(
        self, query: NDArray[np.float32], allowed: NDArray[np.bool_], count: int
    ) -> NDArray[np.intp]:
        """Return the allowed rows that differ from the query in the fewest bits: `count` or more."""
        words, code = self._words, self._encode(query[None, :])[:, 0]
        if np.count_nonzero(allowed) < PICKED_SHARE * len(allowed):
            picked = np.flatnonzero(allowed)
            return picked[_smallest(_distances(words[:, picked], code), count)]
        distances = _distances(words[:, : len(allowed)], code)
        distances[~allowed] = _FARTHEST
        return _smallest(distances, count)

    def snapshot(self) -> Snapshot:
        """Return the mean, and the bits of each row."""
        rows = np.ascontiguousarray(self._words[:, : self._length].T).view(np.uint8)
        return Snapshot(self._mean.astype("<f4").tobytes(), rows)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Codes:
        """Return the codes that a snapshot was taken of."""
        codes = cls(np.frombuffer(snapshot.head, "<f4").astype(np.float32))
        codes._words = np.ascontiguousarray(snapshot.rows.view(np.uint64).T)
        codes._length = len(snapshot.rows)
        return codes

    def _encode(self, vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
        bits = np.packbits(unit(vectors) > self._mean, axis=1)
        padded = np.zeros((len(vectors), len(self._words) * _WORD_BYTES), np.uint8)
        padded[:, : bits.shape[1]] = bits
        return padded.view(np.uint64).T


def build_codes(read: Callable[[NDArray[np.intp]], Quantised], has_vector: NDArray[np.bool_]) -> Codes:
    """Return the sign bits of all rows around the mean of those that have a vector, spread over all."""
    filled = np.flatnonzero(has_vector)
    sample = read(filled[:: max(1, len(filled) // _MEAN_ROWS)])
    codes = Codes(unit(sample.numbers.astype(np.float32)).mean(axis=0), len(has_vector))
    for start in range(0, len(has_vector), _READ_ROWS):
        rows = np.arange(start, min(start + _READ_ROWS, len(has_vector)))
        codes.put(rows, read(rows))
    return codes


def _distances(words: NDArray[np.uint64], code: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return in how many bits each column differs from the code."""
    distances = np.empty(words.shape[1], np.uint16)
    for start in range(0, len(distances), _SCAN_ROWS):
        block = slice(start, start + _SCAN_ROWS)
        sums = np.bitwise_count(words[0, block] ^ code[0]).astype(np.uint16)
        for word, bits in zip(words[1:], code[1:], strict=True):
            sums += np.bitwise_count(word[block] ^ bits)
        distances[block] = sums
    return distances


def _smallest(distances: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """Return where the smallest are, with all that are as small as the last of them."""
    if count >= len(distances):
        return np.flatnonzero(distances < _FARTHEST)
    radius = min(int(np.partition(distances, count - 1)[count - 1]), int(_FARTHEST) - 1)
    return np.flatnonzero(distances <= radius)
