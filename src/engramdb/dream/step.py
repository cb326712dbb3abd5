"""What a step of the dream is: its input, its proposals, its questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from msgspec import Struct, field

from engramdb.lifecycle.neighbors import JudgesPairs
from engramdb.models.chat import CallLog, ChatModel
from engramdb.policy import Policy
from engramdb.store.contract import Store, Transaction
from engramdb.values import (
    EdgeType,
    EmbedderIdentity,
    Kind,
    Layer,
    Memory,
    MemoryId,
    MemoryType,
    Scope,
    Status,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Proposal(Struct, frozen=True, kw_only=True):
    """One change, and why; `action` is what reports call it."""

    action: ClassVar[str] = ""
    reason: str


class Derive(Proposal, frozen=True, kw_only=True):
    """
    State something that follows from memories of one scope.

    The new memory belongs to exactly their scope, is protected as the strictest of them is, flagged as any of
    them is, and linked to each. Said before, from the same sources, it changes nothing; with further sources
    it gains evidence.
    """

    action: ClassVar[str] = "derive"
    content: str
    sources: tuple[Memory, ...]
    layer: Layer = Layer.SEMANTIC
    type: MemoryType = MemoryType.FACT
    kind: Kind = Kind.NOTE
    category: str = "general"
    confidence: float = 0.6
    importance: float | None = None
    """None takes the highest of its sources."""
    stability: float = 1.0
    edge: EdgeType = EdgeType.DERIVED_FROM
    maker: str = ""
    """Which step and version states it, stored as the memory's extractor, such as `dream.patterns/1`."""
    is_introduced: bool = True
    """Whether the entities that it mentions are registered with it; a profile names no one new."""
    replaces: Memory | None = None
    """An earlier statement by the same step that this one is the new version of."""


class Merge(Proposal, frozen=True, kw_only=True):
    """Let one memory stand for others that say the same; it takes over their evidence, they become merged."""

    action: ClassVar[str] = "merge"
    keep: Memory
    lose: tuple[Memory, ...]


class Supersede(Proposal, frozen=True, kw_only=True):
    """Let one memory replace another that it contradicts."""

    action: ClassVar[str] = "supersede"
    winner: Memory
    loser: Memory


class Restatus(Proposal, frozen=True, kw_only=True):
    """Move a memory to another status, such as challenged or invalidated."""

    action: ClassVar[str] = "restatus"
    memory: Memory
    status: Status
    along: tuple[Memory, ...] = ()
    """Others that move with it, in the same write: all of them or none."""


class Adjust(Proposal, frozen=True, kw_only=True):
    """Set numbers of a memory: strength, stability, importance, confidence; or its layer. Never its words."""

    action: ClassVar[str] = "adjust"
    memory: Memory
    changes: Mapping[str, object] = field(default_factory=dict)


class AddLink(Proposal, frozen=True, kw_only=True):
    """Link two memories; a directed inference that would close a circle is dropped."""

    action: ClassVar[str] = "link"
    source: Memory
    target: Memory
    type: EdgeType = EdgeType.SIMILAR_TO
    weight: float = 1.0


class SaveProgress(Proposal, frozen=True, kw_only=True):
    """Note how far a step has come; no change that a report would tell of."""

    write: Callable[[Transaction], None]
    reason: str = ""


class SideWrite(Proposal, frozen=True, kw_only=True):
    """Write something that is not a memory: a question, a node of the tree, a profile; by a function."""

    what: str
    """In a word, for the report: `question`, `domain`, `profile`."""
    about: tuple[MemoryId, ...] = ()
    write: Callable[[Transaction], bool]
    """Writes it, and returns whether anything changed."""


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
    similarity_floor: float = 0.0
    """The cosine that unrelated statements have in that embedder."""
    judge: JudgesPairs | None = None
    """What says whether two statements are the same, where there is more than rules."""
    chat: ChatModel | None = None
    calls: CallLog | None = None
    scope: Scope | None = None
    """The one scope that is dreamt of, read and written; None for all of them."""
    roots: tuple[tuple[str | None, Path], ...] = ()
    """
    Folders that claims about files may be checked in, by the project that they are of.

    None unless the user said so; those of no project are for the memories of everybody.
    """
    is_stopped: Callable[[], bool] = lambda: False

    def among(self, scopes: Sequence[Scope]) -> list[Scope]:
        """Return those of the scopes that are dreamt of."""
        return [one for one in scopes if self.scope is None or one == self.scope]


class DreamStep(Protocol):
    """One way in which a dream changes the store."""

    @property
    def name(self) -> str:
        """What reports and history call it: one word."""
        ...

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield what should change, best first; raises `Skipped` where something it needs is missing."""
        ...
