"""
What an embedder is: text in, unit vectors out, with an identity.

Implemented by the files beside this one, asked for by `capture` and `recall` through the engine.
Vectors are only comparable within one identity, so every stored vector carries it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from engram.values.space import EmbedderIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.providers.calibration import Calibration

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
