"""
One scale of similarity for every embedder, so that a threshold means the same whichever is installed.

Embedders that we ship hold committed numbers; a server's model is fitted on the shipped pairs when it is
first needed. Policies, bands and clusters read no other similarity. The scale: below 0.20 unrelated, from
0.40 worth a link, 0.60 about the same thing, from 0.70 close enough to contradict, from 0.85 says the same
unless it contradicts. It never tells a contradiction from a paraphrase. How it was fitted:
docs/lab/0010-calibration.md.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import msgspec
from msgspec import Struct

from engramdb.text.terms import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Relation = Literal["unrelated", "same_topic", "related", "paraphrase", "contradiction"]

PAIRS_FILE: Final = Path(__file__).parent / "calibration_pairs.json"
MIN_STEP: Final = 1e-3  # of cosine between two anchors; nearer ones would make a cliff out of noise

# Where the scale touches the labelled pairs; each number is a share of those pairs.
LOWEST_UNRELATED: Final = 0.05
MAX_RELATED_BELOW_SAME: Final = 0.95


class Pair(Struct, frozen=True):
    """Two short statements and how they relate."""

    a: str
    b: str
    relation: Relation
    language: str = "en"

    @property
    def is_held_out(self) -> bool:
        """Half of the pairs never shape a calibration, chosen by a hash, so that tests on them are honest."""
        return hashlib.sha256((self.a + self.b).encode()).digest()[0] % 2 == 1


# Made once, at import: threads that meet a type together for the first time can crash msgspec.
_read_pairs = msgspec.json.Decoder(tuple[Pair, ...]).decode


class Calibration(Struct, frozen=True):
    """
    A rising map from cosine to the common scale, straight between its anchors.

    `anchors` are pairs of cosine and similarity, both strictly rising, the similarities from 0 to 1. Below
    the first anchor everything is 0, above the last everything is 1.
    """

    anchors: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        steps = itertools.pairwise(self.anchors)
        is_rising = all(low[0] < high[0] and low[1] < high[1] for low, high in steps)
        if len(self.anchors) < 2 or not is_rising:
            raise ValueError("a calibration needs two anchors or more, rising in both numbers")
        if (self.anchors[0][1], self.anchors[-1][1]) != (0.0, 1.0):
            raise ValueError("a calibration leads from 0 to 1")

    def similarity(self, cosine: float) -> float:
        """Return the cosine on the common scale."""
        return float(self.similarities(cosine))

    def similarities(self, cosines: ArrayLike) -> NDArray[np.float64]:
        """Return many cosines on the common scale, in the shape that they came in."""
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

        known, meant = zip(*self.anchors, strict=True)
        return np.asarray(np.interp(np.asarray(cosines, np.float64), known, meant))

    def cosine(self, similarity: float) -> float:
        """Return the least cosine that reaches this similarity, to filter by before converting."""
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

        if similarity <= 0:
            return -1.0
        known, meant = zip(*self.anchors, strict=True)
        return float(np.interp(similarity, meant, known))


IDENTITY: Final = Calibration(((0.0, 0.0), (1.0, 1.0)))
"""For fakes that are blind to meaning, where a cosine is as good as anything."""


class FittableEmbedder(Protocol):
    """The part of an embedder that fitting needs."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class Calibrated(FittableEmbedder, Protocol):
    """The part of an embedder that comparing two statements needs."""

    @property
    def calibration(self) -> Calibration: ...


@cache
def labelled_pairs() -> tuple[Pair, ...]:
    """Return the pairs that ship with the package."""
    return _read_pairs(PAIRS_FILE.read_bytes())


def pairs_to_fit() -> tuple[Pair, ...]:
    """Return the half that calibrations are fitted on."""
    return tuple(pair for pair in labelled_pairs() if not pair.is_held_out)


def fit_embedder(embedder: FittableEmbedder) -> Calibration:
    """Return the calibration of an embedder, by embedding the shipped pairs: 190 short texts."""
    pairs = pairs_to_fit()
    return fit(pairs, cosines_of(embedder, pairs))


def cosines_of(embedder: FittableEmbedder, pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """Return the cosine of each pair, with every text embedded once and without a speaker or a date."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.a, pair.b)))
    rows = dict(zip(texts, embedder.embed_documents(texts).astype(np.float64), strict=True))
    return np.array([rows[pair.a] @ rows[pair.b] for pair in pairs])


def fit(pairs: Sequence[Pair], cosines: ArrayLike) -> Calibration:
    """
    Return the map that puts these labelled pairs where the scale says they belong.

    0.70 lies where as many of the closest kinds fall below as others rise above; 0.85 where hardly any pair
    is left that does not say or deny the same. An embedder that ranks the kinds wrongly loses the anchors
    that would not rise, and keeps a map that does.
    """
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    values = np.asarray(cosines, np.float64)
    kinds = np.array([pair.relation for pair in pairs])
    unrelated, same_topic, related = (
        values[kinds == kind] for kind in ("unrelated", "same_topic", "related")
    )
    close = values[np.isin(kinds, ("paraphrase", "contradiction"))]
    merely_near = np.concatenate([same_topic, related])
    wanted = [
        (np.quantile(unrelated, LOWEST_UNRELATED), 0.0),
        (np.median(unrelated), 0.10),
        (np.median(same_topic), 0.40),
        (np.median(related), 0.60),
        (_equal_error(close, merely_near), 0.70),
        (np.quantile(merely_near, MAX_RELATED_BELOW_SAME), 0.85),
    ]
    return Calibration(_rising([(float(cosine), similarity) for cosine, similarity in wanted]))


def _equal_error(above: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    """Return the cosine that as large a share of `above` misses as of `below` passes."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    candidates = np.unique(np.concatenate([above, below]))
    missed = np.searchsorted(np.sort(above), candidates, side="left") / len(above)
    passed = 1 - np.searchsorted(np.sort(below), candidates, side="left") / len(below)
    return float(candidates[np.argmin(np.abs(missed - passed))])


def _rising(wanted: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the anchors that rise, between the first one or the least cosine and the identical."""
    (lowest, _), *others = wanted
    kept = [(round(lowest, 4) if lowest <= 1 - MIN_STEP else -1.0, 0.0)]
    for cosine, similarity in others:
        if kept[-1][0] + MIN_STEP <= cosine <= 1 - MIN_STEP:
            kept.append((round(cosine, 4), similarity))
    return (*kept, (1.0, 1.0))


_LAST_LATIN = "\u024f"


MAX_MULTIPLICATIONS: Final = 262_144
"""From more than these on OpenBLAS shares a product of matrices out (`interface/gemm.c`, 4 × 65,536)."""
_COLUMNS = 64


def products(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the products of each row of the first with every row of the second, as a row."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    if len(first) == 1:  # a vector and a matrix are another routine, which does not share out so early
        single: NDArray[np.float32] = first @ second.T
        return single
    found = np.empty((len(first), len(second)), np.float32)
    rows = max(1, MAX_MULTIPLICATIONS // (_COLUMNS * max(1, first.shape[1])))
    for left in range(0, len(second), _COLUMNS):
        columns = second[left : left + _COLUMNS].T
        for top in range(0, len(first), rows):
            tile = found[top : top + rows, left : left + _COLUMNS]
            np.matmul(first[top : top + rows], columns, out=tile)
    return found


class Likeness:
    """
    How much two statements say the same, on the common scale.

    Always by the built-in static embedder on the bare content, whatever embedder the store uses: passages
    share dates and speakers, which drowns the difference, and duplicates must not depend on which model pack
    is installed. Scripts that the static table cannot read are compared by their shared terms.
    """

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
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

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
    """Return whether most letters of the text are Latin."""
    if text.isascii():
        return True
    letters = [character for character in text if character.isalpha()]
    return 2 * sum(character <= _LAST_LATIN for character in letters) >= len(letters)
