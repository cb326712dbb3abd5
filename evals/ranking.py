"""
How much of what was looked for stands among the first of a ranked list, and BM25 to compare with.

A hit may stand for several turns, as a memory that was read from two of them does. Sessions are ranked by
their best hit and counted once each, so that session recall at 10 looks at ten sessions, not at ten hits.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

Matrix: TypeAlias = NDArray[np.float64]
BM25_SATURATION, BM25_LENGTH = 1.2, 0.75  # what FTS5 uses


def share_found(ranked: Sequence[Collection[str]], wanted: Collection[str], cut: int) -> float:
    """Return the share of what is wanted that the first entries stand for."""
    return len(set(wanted) & set[str]().union(*ranked[:cut])) / len(wanted)


def distinct(ranked: Iterable[Collection[str]]) -> list[str]:
    """Return what the entries stand for, each once, where it is met first."""
    return list(dict.fromkeys(one for names in ranked for one in sorted(names)))


def share_of_distinct(ranked: Iterable[Collection[str]], wanted: Collection[str], cut: int) -> float:
    """Return the share of what is wanted among the first different things that the entries stand for."""
    return share_found([{one} for one in distinct(ranked)], wanted, cut)


def bm25(counts: Sequence[Counter[str]], wanted: Sequence[Sequence[str]]) -> Matrix:
    """Return BM25 as FTS5 computes it: a row for each question, a column for each document."""
    frequencies = Counter(term for count in counts for term in count)
    lengths = np.array([count.total() for count in counts], float)
    norm = BM25_SATURATION * (1 - BM25_LENGTH + BM25_LENGTH * lengths / lengths.mean())
    scores = np.zeros((len(wanted), len(counts)))
    for row, asked in enumerate(wanted):
        for term in asked:
            n = frequencies[term]
            rarity = max(1e-6, math.log((len(counts) - n + 0.5) / (n + 0.5)))
            held = np.array([count[term] for count in counts], float)
            scores[row] += rarity * held * (BM25_SATURATION + 1) / (held + norm)
    return scores
