"""
An embedder that is not there: it answers every call with the reason.

Built by the engine when the chosen embedder cannot be opened, so that the store opens all the same,
memories are saved and found by their words, and every answer says why meaning did not take part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from engram.errors import EmbedderUnavailable, EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.errors import EngramError


class AbsentEmbedder:
    """Raises the error that its opening raised."""

    batch = 1
    similarity_floor = 0.0

    def __init__(self, error: EngramError) -> None:
        is_ours = isinstance(error, EmbeddingError)  # what the gate and recall know how to do without
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
