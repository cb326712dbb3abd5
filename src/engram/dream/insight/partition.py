"""
Cut a set of vectors into groups that lie together: seeded, deterministic, and in linear time.

Called by `grow` for domains and for the clusters in each; pure NumPy. Starts from anchors where there are
any, then from whoever lies farthest from all starts so far, and lets the groups settle on a sample. Vectors
of one embedder crowd around their mean, so the mean is taken off first. A cut into many groups is made in two
steps, because comparing everyone with all of them would grow with the square of the set.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from engram.dream.insight.nearest import unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]
    Labels = NDArray[np.int64]

SAMPLE_ROWS = 4_000
"""Rows on which groups settle; the others join the nearest afterwards."""
ROUNDS = 8
"""Most groups of real statements stand still after five rounds."""
CENTRED_FROM = 8
"""With fewer rows the mean is mostly the rows themselves."""
MOST_GROUPS_AT_ONCE = 64
"""Comparing with more groups than this at once would grow with the square of the set."""


def spread(rows: Rows) -> Rows:
    """Return the rows without what they all share, at length one."""
    if len(rows) < CENTRED_FROM:
        return rows
    return unit(rows - rows.mean(axis=0, keepdims=True))


def partition(rows: Rows, count: int, *, anchors: Rows | None = None) -> Labels:
    """Return for each row the number of its group, from 0; at most `count` groups, none of them empty."""
    count = max(1, min(count, len(rows)))
    if count == 1:
        return np.zeros(len(rows), np.int64)
    if count > MOST_GROUPS_AT_ONCE:
        return _in_two_steps(rows, count)
    sample = rows[:: max(1, len(rows) // SAMPLE_ROWS)]
    centres = _settle(sample, _starts(sample, count, anchors))
    return _dense(_nearest(rows, centres))


def groups(labels: Labels) -> list[NDArray[np.intp]]:
    """Return the rows of each group, in the order of the groups."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(labels) else []


def _in_two_steps(rows: Rows, count: int) -> Labels:
    """Cut coarsely first, and then each part by itself, with its share of the groups."""
    coarse = partition(rows, min(MOST_GROUPS_AT_ONCE, math.ceil(math.sqrt(count))))
    labels, used = np.zeros(len(rows), np.int64), 0
    for members in groups(coarse):
        share = max(1, round(count * len(members) / len(rows)))
        inner = partition(rows[members], share)
        labels[members] = inner + used
        used += int(inner.max()) + 1
    return labels


def _starts(rows: Rows, count: int, anchors: Rows | None) -> Rows:
    """Return where groups begin: at the anchors that differ, then at the row farthest from all others."""
    chosen = [] if anchors is None else list(anchors[:count])
    if not chosen:
        chosen = [rows[int(np.argmin(rows @ unit(rows.mean(axis=0))))]]
    near = np.max(rows @ np.array(chosen).T, axis=1)
    while len(chosen) < count:
        farthest = int(np.argmin(near))
        chosen.append(rows[farthest])
        near = np.maximum(near, rows @ rows[farthest])
    return np.array(chosen, np.float32)


def _settle(rows: Rows, centres: Rows) -> Rows:
    """Move every centre to the middle of those who are nearest to it, until nobody moves."""
    labels = np.full(len(rows), -1, np.int64)
    for _ in range(ROUNDS):
        moved = _nearest(rows, centres)
        if np.array_equal(moved, labels):
            break
        labels = moved
        order = np.argsort(labels, kind="stable")
        used, starts = np.unique(labels[order], return_index=True)
        centres = centres.copy()
        centres[used] = unit(np.add.reduceat(rows[order], starts, axis=0))
    return centres


def _nearest(rows: Rows, centres: Rows) -> Labels:
    nearest: Labels = np.argmax(rows @ centres.T, axis=1).astype(np.int64)
    return nearest


def _dense(labels: Labels) -> Labels:
    """Return the labels numbered from 0 without holes, in the order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    dense: Labels = rank[inverse]
    return dense
