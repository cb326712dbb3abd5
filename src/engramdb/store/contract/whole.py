"""The whole store: transactions, health of parts, erasure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from engramdb.errors import StorageError
from engramdb.store.contract.acts import Acts
from engramdb.store.contract.capture import Attention, DreamReads, Feed, Imports
from engramdb.store.contract.documents import Documents, Replies
from engramdb.store.contract.dreams import Dreams, Gaps, Leases, Replays, Tree
from engramdb.store.contract.forgotten import Forgotten
from engramdb.store.contract.lookup import (
    Ages,
    Audit,
    Candidates,
    Edges,
    Feedback,
    History,
    Snapshots,
    Sweeps,
    Terms,
    TraitRows,
    TurnTerms,
    Vectors,
)
from engramdb.store.contract.memories import Boxes, Entities, HandedOut, Memories, Scopes, Turns
from engramdb.values import Action, Actor, Check, ErasureMention, Memory, MemoryId, Scope, TurnId
from engramdb.values.files import WrittenFile

# The table of parts: how each has fared and what it has cost, in every process that had the store open.


class PartTally(Struct, frozen=True, kw_only=True):
    """What happened to one part: since it was last noted, or, as read from the store, ever."""

    name: str
    last_success: datetime | None = None
    last_failure: datetime | None = None
    failure: str | None = None
    failures: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: float = 0.0


class PartTallies(Protocol):
    """How parts fared, by name."""

    def add(self, tally: PartTally) -> None:
        """Add what happened since the last time; an older moment does not replace a later one."""
        ...

    def list(self) -> Sequence[PartTally]:
        """Return every part that was ever noted, by name."""
        ...


# What erasing has to reach beside a memory's row: evidence, conclusions, notes, questions, slots, names.


class Erasures(Protocol):
    """Finds what holds the words of a memory or of a user, and takes it away."""

    def copies_of(self, memory: Memory) -> Sequence[Memory]:
        """Return what says the same as a memory, was merged into it or concluded from it, in its scope."""
        ...

    def evidence(self, memory: Memory) -> Sequence[TurnId]:
        """
        Return the turns that a memory was read from, and those of its scope that hold it word for word.

        What was concluded from other memories was read from none.
        """
        ...

    def retelling_forgotten(self, turn_ids: Sequence[TurnId]) -> set[TurnId]:
        """Return those of the turns that hold a forgotten memory of their scope word for word."""
        ...

    def forgotten_words(self, turn_ids: Sequence[TurnId]) -> dict[TurnId, list[str]]:
        """Return by turn the words of the forgotten memories of its session, where there are any."""
        ...

    def attention_scopes(
        self, references: Sequence[str], texts: Sequence[str], *, scope: Scope
    ) -> Sequence[Scope]:
        """
        Return the scopes, this and narrower ones, whose working memory points to one of these or
        holds such words.
        """
        ...

    def count_gaps(self, memory_ids: Sequence[MemoryId]) -> int:
        """Return how many questions, open or closed, are about any of these memories."""
        ...

    def delete_notes(self, memory_id: MemoryId, *, now: datetime) -> None:
        """Take away what is noted about a memory: feedback, questions, reasons, the topics of its box."""
        ...

    def drop_attention(self, scopes: Sequence[Scope]) -> None:
        """Drop the working memory of exactly these scopes."""
        ...

    def drop_turns(self, turn_ids: Sequence[TurnId]) -> int:
        """Drop turns with their words, and return how many there were."""
        ...

    def scopes_within(self, scope: Scope) -> Sequence[Scope]:
        """Return the scope and every narrower one, those in which something was ever stored."""
        ...

    def erased_among(self, memory_ids: Sequence[MemoryId]) -> Sequence[MemoryId]:
        """Return those of the memories that are erased."""
        ...

    def users_within(self, scope: Scope) -> Sequence[str]:
        """Return the names of the users of the scope and of every narrower one."""
        ...

    def mentions(
        self, words: Sequence[str], *, scope: Scope, without: Sequence[MemoryId] = ()
    ) -> Sequence[tuple[ErasureMention, str]]:
        """
        Return what holds one of the words, without regard to case, in the scope and every narrower one.

        Memories that are not erased and not among `without`, turns, documents and questions, each with its
        text.
        """
        ...

    def drop_mentions(self, mentions: Sequence[ErasureMention]) -> None:
        """Delete turns, documents and questions; memories are erased as such."""
        ...

    def memories_in(self, scope: Scope) -> Sequence[Memory]:
        """Return every memory of exactly this scope that is not erased."""
        ...

    def count_turns(self, scope: Scope) -> int:
        """Return how many turns exactly this scope has."""
        ...

    def count_gaps_in(self, scope: Scope) -> int:
        """Return how many questions exactly this scope has, open or closed."""
        ...

    def clear(self, scope: Scope) -> None:
        """Drop turns, questions, summaries, boxes, working memory and names of exactly this scope."""
        ...

    def rename_user(self, scope: Scope, token: str) -> None:
        """Put a token in the place of the user's name, in the scope, every narrower one, and their trail."""
        ...


# The files that were written from a store, wherever they are.


class Files(Protocol):
    """Files by their paths, and how often words were erased."""

    def add(self, file: WrittenFile) -> None:
        """Register a file; one that is written again has the latest moment."""
        ...

    def list(self) -> Sequence[WrittenFile]:
        """Return every registered file, in the order in which they were first written."""
        ...

    def drop(self, path: str) -> None:
        """Forget a file that is no more."""
        ...


# A store as a whole, and the transactions it gives out.
#
# Part of `store.contract`; implemented by `store.sqlite`.


class Transaction(Protocol):
    """Every table, in one snapshot or one write."""

    @property
    def is_snapshot(self) -> bool:
        """Whether nothing can change while it is open."""
        ...

    @property
    def memories(self) -> Memories: ...
    @property
    def turns(self) -> Turns: ...
    @property
    def terms(self) -> Terms: ...
    @property
    def turn_terms(self) -> TurnTerms: ...
    @property
    def vectors(self) -> Vectors: ...
    @property
    def history(self) -> History: ...
    @property
    def acts(self) -> Acts: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def edges(self) -> Edges: ...
    @property
    def entities(self) -> Entities: ...
    @property
    def scopes(self) -> Scopes: ...
    @property
    def boxes(self) -> Boxes: ...
    @property
    def handed_out(self) -> HandedOut: ...
    @property
    def candidates(self) -> Candidates: ...
    @property
    def feedback(self) -> Feedback: ...
    @property
    def snapshots(self) -> Snapshots: ...
    @property
    def ages(self) -> Ages: ...
    @property
    def sweeps(self) -> Sweeps: ...
    @property
    def traits(self) -> TraitRows: ...
    @property
    def leases(self) -> Leases: ...
    @property
    def dreams(self) -> Dreams: ...
    @property
    def gaps(self) -> Gaps: ...
    @property
    def tree(self) -> Tree: ...
    @property
    def replays(self) -> Replays: ...
    @property
    def dream_reads(self) -> DreamReads: ...
    @property
    def attention(self) -> Attention: ...
    @property
    def imports(self) -> Imports: ...
    @property
    def erasures(self) -> Erasures: ...
    @property
    def forgotten(self) -> Forgotten: ...
    @property
    def parts(self) -> PartTallies: ...
    @property
    def documents(self) -> Documents: ...
    @property
    def replies(self) -> Replies: ...
    @property
    def feed(self) -> Feed: ...
    @property
    def files(self) -> Files: ...


class Store(Protocol):
    """One place where memories are stored."""

    @property
    def location(self) -> str:
        """Where the store is, without secrets."""
        ...

    @property
    def unwritable(self) -> StorageError | None:
        """Why the store can be read and not written now, if so."""
        ...

    def atomic(self) -> AbstractContextManager[Transaction]:
        """Open a write: all of it is durable when the block ends, none of it if it raises. Nests."""
        ...

    def one_act(self, action: Action, *, actor: Actor, at: datetime) -> AbstractContextManager[None]:
        """Let what this thread writes inside the block be listed and undone as one act. Nests."""
        ...

    def background_writes(self) -> AbstractContextManager[None]:
        """Let writes of this thread, while the block runs, give way to those of others."""
        ...

    def read(self) -> AbstractContextManager[Transaction]:
        """Open a snapshot: what it shows does not change while the block runs."""
        ...

    def erasures(self) -> int:
        """Return a number that grows whenever words are erased, by whichever process."""
        ...

    def describe(self) -> Mapping[str, object]:
        """Return format version, size and room in bytes, and whether the store is encrypted."""
        ...

    def check(self) -> Iterable[Check]:
        """Look for damage and disagreement between the tables."""
        ...

    def room_for_forgetting(self) -> AbstractContextManager[bool]:
        """Give up the room that is kept for a full disk; yields whether there was any."""
        ...

    def remake(self, tables: Collection[str]) -> None:
        """Put empty tables in the place of derived ones whose pages are damaged."""
        ...

    def ids_in_copy(self, path: Path) -> frozenset[MemoryId] | None:
        """Return the memories whose words a copy of a store holds; None where it cannot be read."""
        ...

    def back_up(self, path: Path) -> None:
        """Write a whole, verified copy to a path where nothing is; others go on meanwhile."""
        ...

    def scrub(self) -> None:
        """Leave nothing of what was deleted in the store's files; raises where someone still reads it."""
        ...

    def close(self) -> None:
        """Release the store; nothing that was acknowledged is pending."""
        ...
