"""
Which parts work: the last success and the last failure of each, with the reason.

Kept by the engine for its own process and shown by `status`. The embedder is watched by a wrapper that
notes how each call ended, so neither the gate nor recall has to.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.errors import (
    AccessDenied,
    ContentTooLarge,
    EdgeNotAllowed,
    EngramError,
    InjectionBlocked,
    InvalidContent,
    InvalidQuery,
    InvalidScope,
    MemoryNotFound,
    StatusNotAllowed,
)
from engram.values import PartHealth

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.engine.clock import Clock
    from engram.providers.calibration import Calibration
    from engram.providers.embedder import Embedder
    from engram.values import EmbedderIdentity

EMBEDDER = "embedder"
CHAT = "chat model"
REFUSALS = (
    AccessDenied,
    ContentTooLarge,
    EdgeNotAllowed,
    InjectionBlocked,
    InvalidContent,
    InvalidQuery,
    InvalidScope,
    MemoryNotFound,
    StatusNotAllowed,
)
"""What is wrong with a request: a part that refuses it works, and has not failed."""


class Health:
    """How each part fared."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._parts: dict[str, PartHealth] = {}

    @contextmanager
    def watch(self, part: str) -> Iterator[None]:
        """Note whether the block succeeded; its error goes on to the caller, and a refusal is not noted."""
        try:
            yield
        except REFUSALS:
            raise
        except EngramError as exc:
            self._note(part, failure=f"{exc.code} {exc}")
            raise
        self._note(part, failure=None)

    def failed(self, part: str, error: EngramError) -> None:
        """Note a failure that was dealt with where it happened."""
        self._note(part, failure=f"{error.code} {error}")

    def is_failing(self, part: str) -> bool:
        """Say whether the part's last attempt failed."""
        with self._lock:
            return part in self._parts and self._parts[part].is_failing

    def parts(self) -> tuple[PartHealth, ...]:
        """Return every part that has been used."""
        with self._lock:
            return tuple(self._parts.values())

    def _note(self, part: str, *, failure: str | None) -> None:
        now = self._clock.now()
        with self._lock:
            known = self._parts.get(part, PartHealth(name=part))
            if failure is None:
                self._parts[part] = replace(known, last_success=now)
            else:
                self._parts[part] = replace(
                    known, last_failure=now, failure=failure, failures=known.failures + 1
                )


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
