"""
The nearest memories of exactly the same scope, by the vectors that the store holds, for a few at once.

Used by the steps `replay` and `tree`. The scope is read a page at a time and compared with all that are asked
for in one product, so the work grows with the scope and not with its square. Nearness here only names
candidates: raw cosines mean something else for every embedder, so no threshold looks at them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engram.store.contract import Quantised, Transaction
    from engram.values import EmbedderIdentity, Scope

    Rows = NDArray[np.float32]

PAGE_ROWS = 5_000


def nearest(
    tx: Transaction, identity: EmbedderIdentity | None, keys: Sequence[int], *, scope: Scope, limit: int
) -> dict[int, list[int]]:
    """Return for each of these memories the keys of those of its scope that lie nearest, nearest first."""
    space = None if identity is None else tx.vectors.space(identity)
    if space is None or not keys:
        return {}
    asked, rows = unit_vectors(tx, space, keys)
    if not asked:
        return {}
    best_keys, best = (
        np.full((len(asked), limit), -1, np.int64),
        np.full((len(asked), limit), -np.inf, np.float32),
    )
    everyone = tx.tree.usable(scope)
    for start in range(0, len(everyone), PAGE_ROWS):
        page, vectors = unit_vectors(tx, space, everyone[start : start + PAGE_ROWS])
        if page:
            best_keys, best = _merged(best_keys, best, np.array(page, np.int64), rows @ vectors.T, asked)
    return {
        key: [int(other) for other, near in zip(best_keys[row], best[row], strict=True) if np.isfinite(near)]
        for row, key in enumerate(asked)
    }


def unit_vectors(tx: Transaction, space: int, keys: Sequence[int]) -> tuple[list[int], Rows]:
    """Return the keys that have a vector, in order, and their vectors at length one."""
    found, quantised = tx.vectors.fetch(space, keys)
    order = np.argsort(np.array(found, np.int64), kind="stable")
    return [found[place] for place in order], unit(dequantised(quantised)[order])


def dequantised(quantised: Quantised) -> Rows:
    """Return vectors as plain numbers."""
    rows: Rows = quantised.numbers.astype(np.float32) * quantised.scales[:, None]
    return rows


def unit(rows: Rows) -> Rows:
    """Return the rows at length one; a row of nothing stays as it is."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: Rows = rows / np.maximum(lengths, 1e-12)
    return scaled


def _merged(
    best_keys: NDArray[np.int64], best: Rows, page: NDArray[np.int64], scores: Rows, asked: Sequence[int]
) -> tuple[NDArray[np.int64], Rows]:
    """Return the best of what was found so far and of a page; nobody is near to itself."""
    limit = best.shape[1]
    scores = np.where(page[None, :] == np.array(asked, np.int64)[:, None], -np.inf, scores)
    if len(page) > limit:
        few = np.argpartition(-scores, limit - 1, axis=1)[:, :limit]
        page_keys, page_scores = page[few], np.take_along_axis(scores, few, axis=1)
    else:
        page_keys, page_scores = np.broadcast_to(page, scores.shape), scores
    keys = np.concatenate([best_keys, page_keys], axis=1)
    near = np.concatenate([best, page_scores], axis=1)
    order = np.lexsort((keys, -near), axis=1)[:, :limit]
    return np.take_along_axis(keys, order, axis=1), np.take_along_axis(near, order, axis=1)
