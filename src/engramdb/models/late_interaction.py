"""
How well a text covers a question word by word, in the space of the built-in table (late interaction, MaxSim).

The built-in embedder adds the words of a text up, and a sum forgets which word was which. Here each word of
the question is held against the nearest word of the text: "hobby" finds "pottery" in whatever company.
What it is worth: docs/lab/0056-answers.md.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from engramdb.erasable_cache import cached
from engramdb.models.static import read_table
from engramdb.models.wordpiece import bert_uncased
from engramdb.text.terms import STOP_WORDS

if TYPE_CHECKING:
    from engramdb.models.static import Table

Floats = NDArray[np.float32]
MAX_TEXTS: Final = 20_000
"""Texts whose words are remembered: some 8 MB."""
MAX_WORDS: Final = 120
"""Of a text, that are looked at."""
TINY: Final = 1e-6


class WordMatcher:
    """Compares words by the built-in table; opened by the first question."""

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._table: Table | None = None
        self._lengths: Floats | None = None

    def covers(self, weights: Mapping[str, float], texts: Sequence[str]) -> Floats:
        """Return for each text how well it covers the words of a question, weighted, in [0, 1]."""
        table, lengths = self._open()
        words = [(word, weight) for word, weight in weights.items() if weight > 0 and word_pieces(word)]
        held = [word_pieces(text) for text in texts]
        counts = np.array([len(pieces) for pieces in held])
        if not words or not counts.any():
            return np.zeros(len(texts), np.float32)
        pieces, places = np.unique(
            np.concatenate([np.array(one, np.int64) for one in held]), return_inverse=True
        )
        rows = table.rows[pieces] * (table.scales[pieces] / lengths[pieces])[:, None]
        asked = np.stack([_vector(table, word_pieces(word)) for word, _ in words])
        # Word by word: a product of matrices is shared out among threads, which takes ten times as long.
        nearest = np.stack([rows @ one for one in asked])[:, places]
        shares = np.array([weight for _, weight in words], np.float32)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        covered = np.zeros(len(texts), np.float32)
        filled = counts > 0
        best = np.maximum.reduceat(nearest, starts[filled], axis=1)
        covered[filled] = np.clip(shares @ best / shares.sum(), 0, 1)
        return covered

    def _open(self) -> tuple[Table, Floats]:
        with self._loading:
            if self._table is None or self._lengths is None:
                self._table = read_table()
                norms = np.linalg.norm(self._table.rows.astype(np.float32), axis=1)
                self._lengths = np.maximum(norms * self._table.scales, TINY).astype(np.float32)
            return self._table, self._lengths


def _vector(table: Table, pieces: Sequence[int]) -> Floats:
    whole = (table.rows[list(pieces)] * table.scales[list(pieces), None]).sum(axis=0)
    return np.asarray(whole / max(float(np.linalg.norm(whole)), TINY), np.float32)


@cached(MAX_TEXTS)
def word_pieces(text: str) -> tuple[int, ...]:
    """Return the pieces of the words of a text that say something."""
    words = bert_uncased()
    telling = [word for word in words.words(text) if word not in STOP_WORDS and word[0].isalnum()]
    return tuple(
        piece for word in telling[:MAX_WORDS] for piece in words.pieces(word) if piece != words.unknown
    )
