"""What an embedder is, the stand-in for one that cannot be loaded, and the watch over one that can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

from engramdb.errors import EmbedderUnavailable, EmbeddingError, EngramError
from engramdb.health import EMBEDDER, Health
from engramdb.models.calibration import Calibration
from engramdb.values.memory import EmbedderIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder", "EmbedderIdentity"]


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


class WatchedEmbedder:
    """An embedder whose calls are noted."""

    def __init__(self, embedder: Embedder, health: Health) -> None:
        self._embedder = embedder
        self._health = health

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the embedder inside."""
        with self._health.watch(EMBEDDER):
            return self._embedder.identity

    @property
    def similarity_floor(self) -> float:
        """The floor of the embedder inside."""
        return self._embedder.similarity_floor

    @property
    def similarity_ceiling(self) -> float:
        """The cosine of a question and what answers it, where the embedder inside knows it to be below 1."""
        ceiling: float = getattr(self._embedder, "similarity_ceiling", 1.0)
        return ceiling

    @property
    def calibration(self) -> Calibration:
        """The calibration of the embedder inside, which may have to ask its server for it."""
        with self._health.watch(EMBEDDER):
            return self._embedder.calibration

    @property
    def batch(self) -> int:
        """How many texts are worth handing over at once."""
        return self._embedder.batch

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text that will be stored."""
        with self._health.watch(EMBEDDER):
            return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per question that will be asked."""
        with self._health.watch(EMBEDDER):
            return self._embedder.embed_queries(texts)
