"""Vector backends: metrics, sign-bit codes for a shortlist, eight-bit vectors for rescoring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.errors import DimensionMismatch
from engramdb.models.calibration import products
from engramdb.store.contract import QuantizedVectors

# How near two vectors are, on one scale for every metric: 1 for the same, larger is nearer.
#
# Used wherever the vector index scores rows exactly; knows arrays and nothing else. Each metric is put so
# that it says what the cosine would say if the vectors had the length one (or, for `hamming`, held signs
# alone), so the floor and the calibration of an embedder mean the same under all of them.

METRICS: Final = ("cosine", "dot", "euclidean", "hamming")
COMPRESSIBLE: Final = frozenset({"cosine"})
"""Metrics that directions alone decide: signs around the mean say nothing about a vector's length."""

_BLOCK_ROWS = 1024  # as floating-point numbers a block stays in the processor's cache: twice as fast


def similarities(metric: str, vectors: QuantizedVectors, queries: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how near each vector is to each query: a row for every query."""
    asked = _prepared_queries(metric, queries)
    scores = np.empty((len(queries), len(vectors)), np.float32)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        scores[:, block] = _similarity_scores(metric, vectors.numbers[block], vectors.scales[block], asked)
    return scores


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows with the length one; a row of zeros stays as it is."""
    scaled: NDArray[np.float32] = rows / _lengths(rows)[:, None]
    return scaled


def check_dimension(vectors: NDArray[np.float32], dimension: int) -> None:
    """Raise where vectors cannot belong to a space of this dimension."""
    if vectors.shape[-1] != dimension:
        raise DimensionMismatch(
            f"a vector of {vectors.shape[-1]} numbers was brought to a space of {dimension}",
            hint="Use the embedder that the space belongs to, or re-embed its memories.",
        )


def _prepared_queries(metric: str, queries: NDArray[np.float32]) -> NDArray[np.float32]:
    if metric == "cosine":
        return unit_rows(queries)
    return _signs(queries) if metric == "hamming" else queries


def _similarity_scores(
    metric: str, numbers: NDArray[np.int8], scales: NDArray[np.float32], asked: NDArray[np.float32]
) -> NDArray[np.float32]:
    rows = numbers.astype(np.float32)
    if metric == "hamming":
        rows = _signs(rows)
    scores = products(asked, rows)
    if metric == "cosine":  # the scale of a row is a part of its length, and falls out with it
        scores /= _lengths(rows)
    elif metric == "hamming":  # 0 where as many signs agree as differ
        scores /= np.float32(rows.shape[1])
    else:
        scores *= scales
    if metric == "euclidean":  # one minus half of the squared distance
        scores += 1 - (_squares(rows) * scales**2 + _squares(asked)[:, None]) / 2
    return scores


def _squares(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    squares: NDArray[np.float32] = np.einsum("ij,ij->i", rows, rows)
    return squares


def _lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.sqrt(_squares(rows))
    lengths[lengths == 0] = 1
    return lengths


def _signs(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(rows > 0, np.float32(1), np.float32(-1))


# What a vector backend is, and which of the built-in ones fits a store.
#
# Declared for the vector index, which asks a backend one thing: which rows are worth an exact look? Scores
# are never a backend's: the index computes them from the vectors, so every backend ranks by the same
# numbers. The choice is a pure function of size, memory and filter. Why these:
# docs/decisions/0008-vector-backends.md.

EXACT_ROWS: Final = 4096
"""Up to this many rows every vector is scored: 0.7 ms, and choosing among them first would save little."""
MIN_SHORTLIST: Final = 500
"""Rows scored exactly for a question: 500 by bits hold 99.7 % of the true top ten on e5."""
SHORTLIST_PER_RESULT: Final = 20
STORED_PER_RESULT: Final = 8
"""And this many for each result: fewer where they are read from the store, which costs ten times more."""
_SCALE_BYTES: Final = 4


class VectorBackend(Protocol):
    """Vectors by row, in whatever form helps to find the near ones."""

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        ...

    def put(self, rows: NDArray[np.intp], vectors: QuantizedVectors) -> None:
        """Add the vectors of these rows, in place of any earlier ones; a row of zeros has none."""
        ...

    def shortlist(
        self, query: NDArray[np.float32], allowed: NDArray[np.bool_], count: int
    ) -> NDArray[np.intp]:
        """Return the rows that may be the nearest: `count` or more of those allowed, or all."""
        ...

    def snapshot(self) -> BackendSnapshot:
        """Return what `restore` makes the same backend of."""
        ...


class BackendSnapshot(Struct, frozen=True):
    """A backend at rest: what holds for all rows, and as many bytes for each row, in their order."""

    head: bytes
    rows: NDArray[np.uint8]


class BackendChoice(Struct, frozen=True):
    """Which backend, and whether the vectors themselves stay in memory beside it."""

    scan: Literal["exact", "compressed"]
    keeps_vectors: bool


def choose_backend(
    count: int, dimension: int, memory_bytes: int, selectivity: float = 1.0, *, metric: str = "cosine"
) -> BackendChoice:
    """
    Return how to search `count` vectors, a share of which passes the filter.

    Few rows are scored one and all, also where they must be read from the store: else what others store
    would decide how a small scope is searched. Of many, the nearest by their bits are, unless the metric
    looks at more than directions: then all are, and stay in memory whatever they take.
    """
    is_compressible = metric in COMPRESSIBLE and count > EXACT_ROWS
    keeps_vectors = not is_compressible or count * (dimension + _SCALE_BYTES) <= memory_bytes
    is_exact = not is_compressible or count * selectivity <= EXACT_ROWS
    return BackendChoice("exact" if is_exact else "compressed", keeps_vectors)


def shortlist_size(limit: int, *, from_memory: bool) -> int:
    """Return how many rows to score exactly for `limit` results."""
    return max(MIN_SHORTLIST, limit * (SHORTLIST_PER_RESULT if from_memory else STORED_PER_RESULT))


# The different numbers of an array, and where each stands first.


def first_occurrences(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return every number once, in ascending order, and the place where it stands first."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first], order[is_first]


# One bit per dimension: which vectors point roughly the same way?
#
# The vector backend of large stores. Bits are signs after the mean is taken away: some models crowd all
# their vectors into one corner, and there the raw signs say little. Codes are stored word by word, so that
# a scan runs through memory in a straight line; a narrow filter picks its rows first.

PICKED_SHARE: Final = 0.15
"""Below this share of allowed rows, scanning only those beats scanning all: docs/lab/0015."""
_WORD_BITS = 64
_WORD_BYTES = 8
_SCAN_ROWS = 1 << 15  # a block's words and distances stay in the processor's cache
_PUT_ROWS = 1024  # as floating-point numbers, the same
_READ_ROWS = 16_384
_MEAN_ROWS = 16_384  # more rows do not move the mean
_FARTHEST = np.uint16(0xFFFF)


class SignCodes:
    """Sign bits of many vectors, row by row, in words of 64."""

    def __init__(self, mean: NDArray[np.float32], capacity: int = 0) -> None:
        self._mean = mean
        self._words = np.zeros((-(-len(mean) // _WORD_BITS), capacity), np.uint64)
        self._length = 0

    @property
    def bytes(self) -> int:
        """How much memory the codes take."""
        return self._words.nbytes

    def put(self, rows: NDArray[np.intp], vectors: QuantizedVectors) -> None:
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

    def snapshot(self) -> BackendSnapshot:
        """Return the mean, and the bits of each row."""
        rows = np.ascontiguousarray(self._words[:, : self._length].T).view(np.uint8)
        return BackendSnapshot(self._mean.astype("<f4").tobytes(), rows)

    @classmethod
    def restore(cls, snapshot: BackendSnapshot) -> SignCodes:
        """Return the codes that a snapshot was taken of."""
        codes = cls(np.frombuffer(snapshot.head, "<f4").astype(np.float32))
        codes._words = np.ascontiguousarray(snapshot.rows.view(np.uint64).T)
        codes._length = len(snapshot.rows)
        return codes

    def _encode(self, vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
        bits = np.packbits(unit_rows(vectors) > self._mean, axis=1)
        padded = np.zeros((len(vectors), len(self._words) * _WORD_BYTES), np.uint8)
        padded[:, : bits.shape[1]] = bits
        return padded.view(np.uint64).T


def build_codes(
    read: Callable[[NDArray[np.intp]], QuantizedVectors], has_vector: NDArray[np.bool_]
) -> SignCodes:
    """Return the sign bits of all rows around the mean of those that have a vector, spread over all."""
    filled = np.flatnonzero(has_vector)
    sample = read(filled[:: max(1, len(filled) // _MEAN_ROWS)])
    codes = SignCodes(unit_rows(sample.numbers.astype(np.float32)).mean(axis=0), len(has_vector))
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


# Eight-bit vectors held in memory, row for row beside the roster.
#
# The vector backend of small stores, for which every allowed row is worth an exact look, and in larger ones
# what the index scores its shortlist from, without asking the store. Knows rows, not memories.

_FIRST_CAPACITY = 1024
_GROWTH = 1.5
_COMPARED_ROWS = 2_048  # times a few hundred vectors: a few megabytes at once
_ROW_SCALE_BYTES = 4


class VectorRows:
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
        return self._length * (self._numbers.shape[1] + _ROW_SCALE_BYTES)

    def put(self, rows: NDArray[np.intp], vectors: QuantizedVectors) -> None:
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

    def read(self, rows: NDArray[np.intp]) -> QuantizedVectors:
        """Return the vectors of these rows."""
        return QuantizedVectors(self._numbers[rows], self._scales[rows])

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

    def snapshot(self) -> BackendSnapshot:
        """Return the scale and the numbers of each row."""
        scales = self._scales[: self._length].astype("<f4")[:, None].view(np.uint8)
        return BackendSnapshot(
            b"", np.concatenate([scales, self._numbers[: self._length].view(np.uint8)], axis=1)
        )

    @classmethod
    def restore(cls, snapshot: BackendSnapshot, *, metric: str = "cosine") -> VectorRows:
        """Return the vectors that a snapshot was taken of."""
        scales = np.ascontiguousarray(snapshot.rows[:, :_ROW_SCALE_BYTES]).view("<f4")
        numbers = snapshot.rows[:, _ROW_SCALE_BYTES:].view(np.int8)
        resident = cls(numbers.shape[1], metric=metric)
        resident.put(
            np.arange(len(numbers)), QuantizedVectors(numbers, scales.reshape(-1).astype(np.float32))
        )
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
