"""
How near two vectors are, on one scale for every metric: 1 for the same, larger is nearer.

Used wherever the vector index scores rows exactly; knows arrays and nothing else. Each metric is put so
that it says what the cosine would say if the vectors had the length one (or, for `hamming`, held signs
alone), so the floor and the calibration of an embedder mean the same under all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from engram.errors import DimensionMismatch
from engram.providers.products import products

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engram.store.contract import Quantised

METRICS: Final = ("cosine", "dot", "euclidean", "hamming")
COMPRESSIBLE: Final = frozenset({"cosine"})
"""Metrics that directions alone decide: signs around the mean say nothing about a vector's length."""

_BLOCK_ROWS = 1024  # as floating-point numbers a block stays in the processor's cache: twice as fast


def similarities(metric: str, vectors: Quantised, queries: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how near each vector is to each query: a row for every query."""
    asked = _asked(metric, queries)
    scores = np.empty((len(queries), len(vectors)), np.float32)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        scores[:, block] = _score(metric, vectors.numbers[block], vectors.scales[block], asked)
    return scores


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows with the length one; a row of zeros stays as it is."""
    scaled: NDArray[np.float32] = rows / _lengths(rows)[:, None]
    return scaled


def check_dimension(vectors: NDArray[np.float32], dimension: int) -> None:
    """Raise where vectors cannot belong to a space of this dimension."""
    if vectors.shape[-1] != dimension:
        raise DimensionMismatch(
            f"a vector of {vectors.shape[-1]} numbers was brought to a space of {dimension}",
            hint="Use the embedder that the space belongs to, or let its memories be embedded anew.",
        )


def _asked(metric: str, queries: NDArray[np.float32]) -> NDArray[np.float32]:
    if metric == "cosine":
        return unit(queries)
    return _signs(queries) if metric == "hamming" else queries


def _score(
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
