"""What an embedder is, the stand-in for one that cannot be loaded, and the guard around one that can."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeVar

from engramdb.errors import EmbedderUnavailable, EmbeddingError, EngramError
from engramdb.health import EMBEDDER
from engramdb.models.calibration import Calibration
from engramdb.models.guard import ForeignGuard, Unusable
from engramdb.values.memory import EmbedderIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder", "EmbedderIdentity"]


MAX_DIMENSION = 65_536
"""No embedder has more dimensions; one that says so is mistaken."""

T = TypeVar("T")


class Embedder(Protocol):
    """
    Text in, float32 rows of length one out.

    Raises `EmbedderUnavailable` when it cannot work now; never returns fewer rows than texts.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """Name, dimension, revision and metric of the space that the vectors live in."""
        ...

    @property
    def similarity_floor(self) -> float:
        """The cosine of a question and a text that have nothing to do with each other."""
        ...

    @property
    def calibration(self) -> Calibration:
        """How the cosine of two stored texts reads on the common scale; policies see nothing else."""
        ...

    @property
    def batch(self) -> int:
        """How many texts are worth handing over at once."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text that will be stored."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per question that will be asked."""
        ...


class AbsentEmbedder:
    """Raises the error that its opening raised."""

    batch = 1
    similarity_floor = 0.0

    def __init__(self, error: EngramError) -> None:
        # The write pipeline and recall know how to do without an embedder that raises one of these.
        is_ours = isinstance(error, EmbeddingError)
        self._error = error if is_ours else EmbedderUnavailable(error.message, hint=error.hint)

    @property
    def identity(self) -> NoReturn:
        """Raise the reason."""
        raise self._error

    @property
    def calibration(self) -> NoReturn:
        """Raise the reason."""
        raise self._error

    def embed_documents(self, texts: Sequence[str]) -> NoReturn:  # noqa: ARG002
        """Raise the reason."""
        raise self._error

    def embed_queries(self, texts: Sequence[str]) -> NoReturn:  # noqa: ARG002
        """Raise the reason."""
        raise self._error


TEXTS_PER_TIMEOUT = 32
"""Texts that a foreign embedder gets one time-out for; a longer batch gets more."""
LENGTH_TOLERANCE = 1e-3
"""A vector whose length is this near to one counts as of length one; any other is brought to it."""
DEFAULT_BATCH = 32


class GuardedEmbedder:
    """
    An embedder behind the guard: what comes out is a row per text, finite, of length one.

    With a time-out it is foreign code: a server's, or the caller's own.
    """

    def __init__(
        self, embedder: Embedder, guard: ForeignGuard, *, timeout_seconds: float | None = None
    ) -> None:
        self._embedder = embedder
        self._guard = guard
        self._timeout_seconds = timeout_seconds
        self._identity: EmbedderIdentity | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the embedder inside, asked for until it is known."""
        if self._identity is None:
            self._identity = self._look(lambda: self._embedder.identity, _checked_identity)
        return self._identity

    @property
    def similarity_floor(self) -> float:
        """The floor of the embedder inside; 0 where it does not say."""
        return self._number("similarity_floor", 0.0)

    @property
    def similarity_ceiling(self) -> float:
        """The cosine of a question and what answers it, where the embedder inside knows it to be below 1."""
        return self._number("similarity_ceiling", 1.0)

    @property
    def calibration(self) -> Calibration:
        """The calibration of the embedder inside, which may have to ask its server for it."""
        return self._look(lambda: self._embedder.calibration, _checked_calibration)

    @property
    def batch(self) -> int:
        """How many texts are worth handing over at once."""
        return max(1, int(self._number("batch", DEFAULT_BATCH)))

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text that will be stored."""
        return self._embed(self._embedder.embed_documents, texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per question that will be asked."""
        return self._embed(self._embedder.embed_queries, texts)

    def _embed(
        self, embed: Callable[[Sequence[str]], NDArray[np.float32]], texts: Sequence[str]
    ) -> NDArray[np.float32]:
        identity, seconds = self.identity, self._timeout_seconds
        given = texts if seconds is None else list(texts)  # ours stay ours
        return self._guard.call(
            EMBEDDER,
            lambda: embed(given),
            failure=EmbedderUnavailable,
            check=lambda rows: checked_vectors(rows, len(texts), identity),
            timeout_seconds=None
            if seconds is None
            else seconds * -(-max(1, len(texts)) // TEXTS_PER_TIMEOUT),
            texts=texts,
        )

    def _look(self, look: Callable[[], T], check: Callable[[T], T]) -> T:
        """Return an attribute that may take work to find out; that it is there is no sign of health."""
        return self._guard.call(
            EMBEDDER,
            look,
            failure=EmbedderUnavailable,
            check=check,
            timeout_seconds=self._timeout_seconds,
            is_work=False,
        )

    def _number(self, name: str, default: float) -> float:
        """Return a plain attribute, or the default where it is none."""
        try:
            number = getattr(self._embedder, name, default)
            return number if math.isfinite(number) else default
        except Exception:  # noqa: BLE001 - the border: the embedder is the user's own
            return default


def checked_vectors(rows: object, count: int, identity: EmbedderIdentity) -> NDArray[np.float32]:
    """Return what an embedder made of so many texts as rows that can be stored and compared."""
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    try:
        found = np.asarray(rows)
        vectors = found.astype(np.float32, copy=False) if found.dtype.kind in "fiu" else None
    except (TypeError, ValueError, OverflowError):
        vectors = None
    if vectors is None or vectors.ndim != 2:
        raise Unusable("returned no rows of numbers")
    if len(vectors) != count:
        raise Unusable(f"returned {len(vectors)} vectors for {count} texts")
    if vectors.shape[1] != identity.dimension and count:
        raise Unusable(f"returned vectors of {vectors.shape[1]} dimensions in place of {identity.dimension}")
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if not np.isfinite(squares).all():
        raise Unusable("returned a vector with a number that is none, or is endless")
    if identity.metric != "cosine" or not count:
        return vectors
    if not squares.min() > 0:
        raise Unusable("returned a vector of zeros")
    if np.abs(squares - 1).max() <= 2 * LENGTH_TOLERANCE:
        return vectors
    unit: NDArray[np.float32] = vectors / np.sqrt(squares)[:, None]
    return unit


def _checked_identity(identity: EmbedderIdentity) -> EmbedderIdentity:
    is_whole = isinstance(identity, EmbedderIdentity) and isinstance(identity.dimension, int)
    if not is_whole or not 0 < identity.dimension <= MAX_DIMENSION or not identity.name:
        raise Unusable("has no identity: name, dimension, revision and metric of its space")
    return identity


def _checked_calibration(calibration: Calibration) -> Calibration:
    if not isinstance(calibration, Calibration):
        raise Unusable("has no calibration")
    return calibration
