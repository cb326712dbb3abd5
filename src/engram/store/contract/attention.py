"""
The table of minds: what each agent attends to, so that it is there again after a pause or a crash.

Part of `store.contract`. Memories and turns are kept by their ids; the only words are those of slots
that have none to point to. Vectors are comparable within one embedder's space only, so a mind says whose
they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.values import EmbedderIdentity, Scope, Slot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptTopic:
    """What was in mind on one topic, and the vectors of what was said last, one to a row."""

    slots: tuple[Slot, ...]
    vectors: NDArray[np.float32]
    confidence: float
    left_at: datetime | None = None
    """None for the topic that was still talked about."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptMind:
    """One agent's mind at rest."""

    topics: tuple[KeptTopic, ...]
    """Those that were left, the latest last, and then the present one."""
    at: datetime
    embedder: EmbedderIdentity | None = None
    stamp: int = 0
    """Given by the store at every save: another stamp means that somebody else saved since."""


class Attention(Protocol):
    """Minds by scope; the agent is part of it."""

    def get(self, scope: Scope) -> KeptMind | None:
        """Return the mind of exactly this scope, if one was kept."""
        ...

    def stamp(self, scope: Scope) -> int:
        """Return the stamp of the latest save of exactly this scope; 0 if there is none."""
        ...

    def put(self, scope: Scope, mind: KeptMind) -> int:
        """Keep a mind in place of its earlier state, and return its stamp."""
        ...

    def remove(self, scope: Scope) -> int:
        """Take away the minds of this scope and of every narrower one, words and all; return how many."""
        ...

    def count(self) -> int:
        """Return how many minds are kept."""
        ...
