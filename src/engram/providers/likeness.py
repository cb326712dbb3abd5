"""
How much two statements say the same, on the common scale from 0 to 1.

Asked by the gate about new statements and their neighbours. Always the built-in static embedder on the bare
content, whatever embedder the store uses: passages share dates and speakers, which drowns the difference, and
duplicates must not depend on which model pack is installed. Scripts that the static table cannot read are
compared by their shared terms. Measured in docs/lab/0010-calibration.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from engram.providers.products import products
from engram.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engram.providers.calibration import Calibrated

_LAST_LATIN = "\u024f"


class Likeness:
    """Compares statements."""

    def __init__(self, embedder: Calibrated) -> None:
        self._embedder = embedder

    def between(self, statement: str, others: Sequence[str]) -> list[float]:
        """Return how alike the statement is to each of the others."""
        return self.among([statement], others)[0] if others else []

    def among(self, statements: Sequence[str], others: Sequence[str]) -> list[list[float]]:
        """Return for each statement how alike it is to each of the others."""
        if not statements or not others:
            return [[] for _ in statements]
        rows = self._embedder.embed_documents([*statements, *others])
        alike = self._compared(rows[: len(statements)], rows[len(statements) :], statements, others)
        found: list[list[float]] = alike.tolist()
        return found

    def pairwise(self, statements: Sequence[str], others: Sequence[str]) -> list[float]:
        """Return how alike each statement is to the other at its place; every text is embedded once."""
        texts = list(dict.fromkeys([*statements, *others]))
        rows = self._embedder.embed_documents(texts)
        row = {text: place for place, text in enumerate(texts)}
        first, second = [row[text] for text in statements], [row[text] for text in others]
        cosines = (rows[first] * rows[second]).sum(axis=1)
        alike: list[float] = self._embedder.calibration.similarities(cosines).tolist()
        unread = {text for text in texts if not is_latin(text)}
        if unread:
            for place, pair in enumerate(zip(statements, others, strict=True)):
                if not unread.isdisjoint(pair):
                    alike[place] = overlap(*pair)
        return alike

    def vectors(self, statements: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of the statements, which only compare with one another."""
        return self._embedder.embed_documents(statements)

    def similarity(self, cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return cosines of those vectors on the common scale."""
        return self._embedder.calibration.similarities(cosines).astype(np.float32)

    def within(self, statements: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return how alike the statements are to one another, a row for each."""
        rows = self._embedder.embed_documents(statements)
        return self._compared(rows, rows, statements, statements)

    def _compared(
        self,
        first: NDArray[np.float32],
        second: NDArray[np.float32],
        statements: Sequence[str],
        others: Sequence[str],
    ) -> NDArray[np.floating[Any]]:
        alike = self._embedder.calibration.similarities(products(first, second))
        unread = [place for place, other in enumerate(others) if not is_latin(other)]
        for row, statement in enumerate(statements):
            for place in unread if is_latin(statement) else range(len(others)):
                alike[row, place] = overlap(statement, others[place])
        return alike


def overlap(first: str, second: str) -> float:
    """Return the share of their terms that two statements have in common (Jaccard)."""
    one, two = set(terms(first)), set(terms(second))
    return len(one & two) / len(one | two) if one | two else 0.0


def is_latin(text: str) -> bool:
    """Say whether most letters of the text are Latin."""
    if text.isascii():
        return True
    letters = [character for character in text if character.isalpha()]
    return 2 * sum(character <= _LAST_LATIN for character in letters) >= len(letters)
