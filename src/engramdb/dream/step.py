"""
What a step of the dream is, and what it is given to work with.

Each step has a module of its own and is listed in `run`. It reads the store in snapshots, decides, and yields
proposals; it writes nothing itself. The runner applies each before it asks for the next, so a step sees what
it has changed, and may be stopped between any two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from engramdb.dream.proposals import Proposal
from engramdb.models.chat import CallLog, ChatModel
from engramdb.policy import Policy
from engramdb.store.contract import Store
from engramdb.values import EmbedderIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Skipped(Exception):
    """A step cannot be taken now; the message says what is missing, such as a chat model."""


class StatementSimilarity(Protocol):
    """How alike statements are, on the common scale of similarity."""

    def pairwise(self, statements: Sequence[str], others: Sequence[str]) -> list[float]:
        """Return the likeness of each pair, in [0, 1]."""
        ...

    def vectors(self, statements: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of the statements, which only compare with one another."""
        ...

    def similarity(self, cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return cosines of those vectors on the common scale."""
        ...


class Dreaming(Struct, frozen=True, kw_only=True):
    """One run, as a step sees it. `now` is the moment that the run began, also after it was interrupted."""

    store: Store
    policy: Policy
    now: datetime
    since: datetime | None
    """When this step's last whole run began; None for the first. Only what changed since needs a new look."""
    cursor: int = 0
    """The same as a change of the store: what has a higher one has changed since."""
    likeness: StatementSimilarity
    identity: EmbedderIdentity | None = None
    """Whose vectors the store holds now; None while the embedder cannot say."""
    chat: ChatModel | None = None
    calls: CallLog | None = None
    roots: tuple[Path, ...] = ()
    """Folders that claims about files may be checked in; none unless the user said so."""
    is_stopped: Callable[[], bool] = lambda: False


class DreamStep(Protocol):
    """One way in which a dream changes the store."""

    @property
    def name(self) -> str:
        """What reports and history call it: one word."""
        ...

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield what should change, best first; raises `Skipped` where something it needs is missing."""
        ...
