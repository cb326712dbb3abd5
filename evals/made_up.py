"""
Made-up sentences and vectors, where an eval needs many and what they say does not matter.

What is timed on real text takes `evals.natural` in their place.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from engramdb.models.wordpiece import VOCABULARY_PATH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engramdb.models.calibration import Calibration
    from engramdb.models.embedder import Embedder
    from engramdb.values import EmbedderIdentity

CENTRES = 400


class RandomDocuments:
    """Real questions, made-up documents: random points around centres, in the embedder's own space."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._random = np.random.default_rng(0)
        self._centres = self._random.normal(size=(CENTRES, embedder.identity.dimension)).astype(np.float32)
        self.batch = 1024
        self.similarity_floor = embedder.similarity_floor
        self.similarity_ceiling = getattr(embedder, "similarity_ceiling", 1.0)

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the embedder inside."""
        return self._embedder.identity

    @property
    def calibration(self) -> Calibration:
        """The calibration of the embedder inside."""
        return self._embedder.calibration

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a random unit vector per text."""
        chosen = self._centres[self._random.integers(CENTRES, size=len(texts))]
        noise = self._random.normal(size=chosen.shape).astype(np.float32)
        rows: NDArray[np.float32] = chosen + 0.7 * noise
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return what the embedder says."""
        return self._embedder.embed_queries(texts)


class Sentences:
    """Endless sentences of words with natural frequencies; the same seed gives the same sentences."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        every = VOCABULARY_PATH.read_text(encoding="utf-8").split("\n")
        self._words = [word for word in every if word.isascii() and word.isalpha() and len(word) > 1]
        self._weights = list(np.cumsum(1 / np.arange(1, len(self._words) + 1)))

    def next(self) -> str:
        """Return the next sentence, of six to twenty words."""
        count = self._random.randint(6, 20)
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=count))

    def question(self, sentence: str) -> str:
        """Return a question about a sentence, with some of its words."""
        words = sentence.split()
        return "what did we say about " + " ".join(self._random.sample(words, min(4, len(words)))) + "?"
