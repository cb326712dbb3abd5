"""The store's contract for dreams, gaps, the summary tree and replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.values import (
    ActorKind,
    Breadth,
    DreamReport,
    EdgeType,
    EntityType,
    Gap,
    Layer,
    Memory,
    MemoryId,
    Scope,
    SecurityTier,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# The tables of the slow path: who is at work, how far runs came, what was merged, and what a run looks at.
#
# Part of `store.contract`. Reports hold ids and reasons, never the words of a memory; a merge holds what
# the keeper was given, so that it can be taken back to the letter.


class DreamRun(Struct, frozen=True, kw_only=True):
    """A dream as stored: `step` is the one that it is in, `finished_at` None while it is not done."""

    started_at: datetime
    policy: str
    steps: tuple[str, ...]
    report: DreamReport
    key: int = 0
    step: str | None = None
    finished_at: datetime | None = None

    def at(self, key: int) -> DreamRun:
        """Return the run under the key that the store gave it."""
        number = key if self.report.scope is None else self.report.number
        return replace(self, key=key, report=replace(self.report, number=number))


class StepMark(Struct, frozen=True):
    """Up to where a step has looked: when its last whole run began, and the newest change at that moment."""

    started_at: datetime
    cursor: int


class MergeRecord(Struct, frozen=True, kw_only=True):
    """A memory that another one stands for, and what that one was given for it."""

    keeper: MemoryId
    loser: MemoryId
    at: datetime
    given: Mapping[str, Any] = field(default_factory=dict)
    key: int = 0
    undone_at: datetime | None = None


class Outline(Struct, frozen=True, kw_only=True):
    """What a dream needs to know of an active memory before it reads the whole of it."""

    key: int
    id: MemoryId
    content: str
    speaker: str | None
    subject: str | None
    predicate: str | None
    object: str | None
    category: str
    layer: Layer
    security: SecurityTier
    extractor: str | None
    episodes: tuple[MemoryId, ...]
    evidence: int
    """How often it has been stated."""
    confidence: float
    importance: float
    recalls: int
    is_pinned: bool
    is_fresh: bool
    """Whether it has changed since the run last looked."""


class Leases(Protocol):
    """Who may do what only one may do at a time, across threads and processes."""

    def take(
        self, kind: str, owner: str, *, now: datetime, until: datetime, is_gone: Callable[[str], bool]
    ) -> bool:
        """Become the holder and say so, unless another one holds it whose time has not run out."""
        ...

    def renew(self, kind: str, owner: str, *, until: datetime) -> bool:
        """Hold it for longer; says False where someone else has taken it over."""
        ...

    def release(self, kind: str, owner: str) -> None:
        """Give it back, if it is still held by this owner."""
        ...

    def expire(self, *, before: datetime) -> None:
        """Forget those whose time ran out before a moment: anybody could have taken them since."""
        ...


class Dreams(Protocol):
    """Runs, merges, and what a dream reads."""

    def latest(self, scope: Scope | None = None) -> DreamRun | None:
        """Return the run that was begun last, of the whole store or of exactly this scope."""
        ...

    def put(self, run: DreamRun) -> DreamRun:
        """Store how far a run came; a new one has key 0 and is given its own."""
        ...

    def recent(
        self, *, limit: int, before: int | None = None, scope: Scope | None = None
    ) -> Sequence[DreamRun]:
        """Return the latest runs, newest first, all or a scope's, or those before the one with a number."""
        ...

    def mark(self, step: str) -> StepMark | None:
        """Return up to where a step has looked, or None where it never came to its end."""
        ...

    def set_mark(self, step: str, mark: StepMark) -> None:
        """Note up to where a step has looked."""
        ...

    def fresh_scopes(self, *, since: int) -> Sequence[Scope]:
        """Return the scopes in which an active memory has changed since this change."""
        ...

    def outlines(self, scope: Scope, *, since: int) -> Sequence[Outline]:
        """Return the active memories of exactly this scope that nothing warns of, in order of their keys."""
        ...

    def open_contradictions(self, *, scope: Scope | None = None) -> Sequence[tuple[int, int]]:
        """Return the pairs of active memories of one scope that are linked as contradicting, oldest first."""
        ...

    def withdrawn_memories(self, fingerprint: bytes, *, scope: Scope) -> Sequence[Memory]:
        """Return the memories of exactly this scope that once said this and are not active any more."""
        ...

    def uncompared(
        self, judge: str, *, limit: int, scope: Scope | None = None
    ) -> Sequence[tuple[int, Scope]]:
        """Return the keys and scopes of what a judge has not compared with what is near it, newest first."""
        ...

    def mark_compared(self, keys: Sequence[int], judge: str) -> None:
        """Note that a judge has compared these memories with what was near them."""
        ...

    def add_merge(self, merged: MergeRecord) -> None:
        """Note that a memory was merged into another, and what that one was given."""
        ...

    def merges_into(self, memory_id: MemoryId) -> Sequence[MergeRecord]:
        """Return what was merged into a memory and not taken back, oldest first."""
        ...

    def merge_of(self, memory_id: MemoryId) -> MergeRecord | None:
        """Return the merge by which a memory was lost, unless it was taken back."""
        ...

    def undo_merge(self, key: int, *, at: datetime) -> None:
        """Note that a merge was taken back, so that no rule makes it again."""
        ...

    def redo_merge(self, memory_id: MemoryId) -> None:
        """Note that the last merge of a memory into another holds after all."""
        ...

    def split_pairs(self, memory_ids: Sequence[MemoryId]) -> set[frozenset[MemoryId]]:
        """Return the pairs with any of these memories whose merge someone took back."""
        ...

    def count_old(self, table: str, *, before: datetime, keep: int) -> int:
        """Return how many rows of a table may go: older than `before`, and not among the latest `keep`."""
        ...

    def drop_old(self, table: str, *, before: datetime, keep: int, limit: int) -> int:
        """Drop the oldest of them, at most `limit`, and return how many went."""
        ...


# The tables of insight: open questions, and the tree of summaries over the memories of each scope.
#
# Part of `store.contract`; both are derived, and the next dream makes them again. Neither may outlive what
# it mentions: a memory that is forgotten takes its questions along and blanks every summary above it, in
# the same write, by whichever path it leaves.


class SummaryNode(Struct, frozen=True, kw_only=True):
    """A node of the tree; `centroid` is a unit vector of `space`, and no text means that it must be made."""

    id: str
    scope: Scope
    breadth: Breadth
    parent: str | None
    title: str
    summary: str
    maker: str
    members: int
    grain: int
    """How fine its clusters are: 0 as usual, 1 where it is weak and was looked at more closely."""
    is_whole: bool
    """Of a global node: whether the building of its tree came to an end."""
    space: int | None
    centroid: NDArray[np.float32] | None
    certainty: float
    doubted: int
    latest_at: datetime
    built_at: datetime


class ClusterStats(Struct, frozen=True):
    """What a cluster's members amount to, as they are now."""

    members: int
    certainty: float
    """The mean of confidence times trust in the source."""
    doubted: int
    latest: int
    """In microseconds: when one last came in, was confirmed or was recalled."""


class MemoryWeight(Struct, frozen=True):
    """How much a memory matters, how far it is to be believed, and whether a summary may use its words."""

    importance: float
    certainty: float
    is_quotable: bool


class EntityNaming(Struct, frozen=True):
    """A memory that names an entity of its own scope."""

    key: int
    entity: str
    name: str
    type: EntityType


class Gaps(Protocol):
    """Open questions, and those that were answered."""

    def put(self, gap: Gap) -> bool:
        """
        Ask a question, and return whether that changed anything.

        One that a person closed stays closed, and none is asked about what is no longer believed or disputed.
        """
        ...

    def is_news(self, gap: Gap) -> bool:
        """Return whether asking this question would change anything."""
        ...

    def close(self, gap_id: str, *, at: datetime, by: ActorKind, because: str) -> bool:
        """Note that a question is settled, and return whether it was open."""
        ...

    def is_settled_by_person(self, gap_id: str) -> bool:
        """Return whether somebody, and no rule, has settled a question."""
        ...

    def snooze(self, gap_id: str, *, until: datetime) -> None:
        """Let an open question rest until a moment."""
        ...

    def mark_asked(
        self, gap_ids: Sequence[str], *, at: datetime, scope: Scope, session: str | None = None
    ) -> None:
        """Note that these questions were put to someone, and in which session of a scope."""
        ...

    def asked_in(self, session: str, *, scope: Scope) -> dict[str, datetime]:
        """Return the ids of the questions put in a session of exactly this scope, and when each was last."""
        ...

    def ids_ending_with(self, ending: str, *, scope: Scope) -> Sequence[str]:
        """Return the ids of the questions that a scope may see and that end so."""
        ...

    def get(self, gap_id: str, *, scope: Scope) -> Gap | None:
        """Return a question that this scope may see, open or closed."""
        ...

    def open_for(self, scope: Scope, *, limit: int, after: str | None = None) -> Sequence[Gap]:
        """
        Return the open questions that a scope may see and whose ground is still there, best first.

        With the id of one, open or closed by now, those that follow it.
        """
        ...

    def open_in(self, scope: Scope) -> Sequence[Gap]:
        """Return every open question of exactly this scope."""
        ...

    def count_about(self, memory_ids: Sequence[MemoryId]) -> int:
        """Return how many open questions are about any of these memories."""
        ...

    def challenged_in(self, scope: Scope, *, limit: int) -> Sequence[int]:
        """Return the keys of the challenged memories of exactly this scope, newest first."""
        ...

    def open_about(self, memory_ids: Sequence[MemoryId], *, scope: Scope) -> Sequence[Gap]:
        """Return the open questions about any of these memories that a scope may see, best first."""
        ...

    def linked_in(self, scope: Scope, kind: EdgeType, *, limit: int) -> Sequence[tuple[int, int]]:
        """Return the living ends, source first, of the links of a kind within exactly this scope."""
        ...

    def mentioned_entities(
        self, scope: Scope, kinds: Sequence[EntityType], *, least: int, limit: int
    ) -> dict[str, list[int]]:
        """
        Return entities of exactly this scope that at least `least` usable memories mention, with their keys.

        The most mentioned come first, and of each the newest memories.
        """
        ...


class Replays(Protocol):
    """When each memory was last replayed, and which name files."""

    def since(self, moment: datetime, *, scope: Scope | None = None) -> dict[int, datetime]:
        """Return which memories, of exactly this scope or of any, were replayed after a moment, and when."""
        ...

    def mark(self, keys: Sequence[int], *, at: datetime) -> bool:
        """Note that these memories are replayed at this moment, and return whether that was news of any."""
        ...

    def received_unreplayed(self, *, limit: int, scope: Scope | None = None) -> Sequence[int]:
        """Return the keys of active memories that came from others and were never replayed, oldest first."""
        ...

    def unreplayed(self, *, limit: int, scope: Scope | None = None) -> Sequence[int]:
        """Return the keys of active memories never replayed, the most moving and then the newest first."""
        ...

    def naming_files(self, *, after_key: int, limit: int, scope: Scope | None = None) -> Sequence[int]:
        """Return the keys of the next active memories about code that name files."""
        ...


class Tree(Protocol):
    """Summaries of summaries, a tree for each scope."""

    def nodes(self, scope: Scope, breadth: Breadth | None = None) -> Sequence[SummaryNode]:
        """Return the nodes of exactly this scope, in the order of their ids."""
        ...

    def visible(self, scope: Scope, breadth: Breadth) -> Sequence[SummaryNode]:
        """Return the nodes of one breadth that a reader in this scope may see."""
        ...

    def get(self, node_id: str) -> SummaryNode | None:
        """Return a node as it is now."""
        ...

    def put(self, node: SummaryNode) -> bool:
        """Store a node in place of its earlier state, and return whether anything but the moment differs."""
        ...

    def assign(self, node_id: str, quoted: Mapping[int, int]) -> bool:
        """
        Make these memories the members of a cluster, and return whether any was not.

        The number is the highest level that quotes each.
        """
        ...

    def set_quoted(self, scope: Scope, keys: Sequence[int]) -> None:
        """Note that the summary of exactly this scope quotes these members, and no others."""
        ...

    def drop(self, node_ids: Sequence[str]) -> int:
        """Drop these nodes, and return how many there were."""
        ...

    def drop_all_except(self, scope: Scope, node_ids: Sequence[str]) -> int:
        """Drop every node of exactly this scope but these, and return how many that were."""
        ...

    def members(self, scope: Scope) -> dict[str, dict[int, int]]:
        """Return the members of every cluster of exactly this scope, and the highest level quoting each."""
        ...

    def clusters_of(self, keys: Sequence[int]) -> dict[int, str]:
        """Return in which cluster each of these memories is."""
        ...

    def domains_of(self, memory_ids: Sequence[MemoryId]) -> dict[MemoryId, SummaryNode]:
        """Return in which domain each of these memories is, those that are in any."""
        ...

    def usable(self, scope: Scope) -> Sequence[int]:
        """Return the keys of the memories of exactly this scope that belong into its tree, in order."""
        ...

    def weights(self, keys: Sequence[int]) -> dict[int, MemoryWeight]:
        """Return how much each of these memories matters, those that still belong into a tree."""
        ...

    def entity_namings(self, keys: Sequence[int]) -> Sequence[EntityNaming]:
        """Return which of these memories name which entities of their own scope."""
        ...

    def cluster_stats(self, scope: Scope) -> dict[str, ClusterStats]:
        """Return what the members of every cluster of exactly this scope amount to now."""
        ...

    def scopes(self) -> Sequence[Scope]:
        """Return every scope that has memories for a tree, or a tree."""
        ...
