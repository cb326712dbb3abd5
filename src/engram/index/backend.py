"""
What a vector backend is, and which of the built-in ones fits a store.

Declared for the vector index, which asks a backend one thing: which rows are worth an exact look? Scores
are never a backend's: the index computes them from the vectors, so every backend ranks by the same
numbers. The choice is a pure function of size, memory and filter. Why these:
docs/decisions/0008-vector-backends.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

from engram.index.metrics import COMPRESSIBLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engram.store.contract import Quantised

EXACT_ROWS: Final = 4096
"""Up to so many rows every vector is scored: 0.7 ms, and choosing among them first would save little."""
MIN_SHORTLIST: Final = 500
"""Rows scored exactly for a question: 500 by bits hold 99.7 % of the true top ten on e5."""
SHORTLIST_PER_RESULT: Final = 20
STORED_PER_RESULT: Final = 8
"""And so many for each result: fewer where they are read from the store, which costs ten times more."""
_SCALE_BYTES: Final = 4


class VectorBackend(Protocol):
    """Vectors by row, in whatever form helps to find the near ones."""

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        ...

    def put(self, rows: NDArray[np.intp], vectors: Quantised) -> None:
        """Take in the vectors of these rows, in place of any earlier ones; a row of zeros has none."""
        ...

    def shortlist(
        self, query: NDArray[np.float32], allowed: NDArray[np.bool_], count: int
    ) -> NDArray[np.intp]:
        """Return the rows that may be the nearest: `count` or more of those allowed, or all."""
        ...

    def snapshot(self) -> Snapshot:
        """Return what `restore` makes the same backend of."""
        ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A backend at rest: what holds for all rows, and as many bytes for each row, in their order."""

    head: bytes
    rows: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which backend, and whether the vectors themselves stay in memory beside it."""

    scan: Literal["exact", "compressed"]
    keeps_vectors: bool


def choose_backend(
    count: int, dimension: int, memory_bytes: int, selectivity: float = 1.0, *, metric: str = "cosine"
) -> Choice:
    """
    Return how to look through so many vectors, a share of which passes the filter.

    Few rows are scored one and all. Of many, the nearest by their bits are, unless the metric looks at
    more than directions: then all are, and stay in memory whatever they take. A vector that must be read
    from the store costs many times more, so there the few are fewer.
    """
    is_compressible = metric in COMPRESSIBLE and count > EXACT_ROWS
    keeps_vectors = not is_compressible or count * (dimension + _SCALE_BYTES) <= memory_bytes
    affordable = EXACT_ROWS if keeps_vectors else MIN_SHORTLIST
    is_exact = not is_compressible or count * selectivity <= affordable
    return Choice("exact" if is_exact else "compressed", keeps_vectors)


def shortlist_size(limit: int, *, from_memory: bool) -> int:
    """Return how many rows to score exactly for so many results."""
    return max(MIN_SHORTLIST, limit * (SHORTLIST_PER_RESULT if from_memory else STORED_PER_RESULT))
