"""
A store as a whole, and the transactions it gives out.

Part of `store.contract`; implemented by `store.sqlite`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from engram.store.contract.attention import Attention
    from engram.store.contract.dreams import Dreams, Leases
    from engram.store.contract.erasure import Erasures
    from engram.store.contract.feed import Feed
    from engram.store.contract.gleanings import Gleanings
    from engram.store.contract.imports import Imports
    from engram.store.contract.insight import Gaps, Replays, Tree
    from engram.store.contract.lookup import Candidates, Edges, Snapshots, Terms, TraitRows, Vectors
    from engram.store.contract.memories import Boxes, Entities, HandedOut, Memories, Scopes, Turns
    from engram.store.contract.parts import PartTallies
    from engram.store.contract.records import Ages, Audit, Feedback, History, Sweeps
    from engram.store.contract.replies import Replies
    from engram.store.contract.shelf import Shelf
    from engram.values import (
        Check,
    )


class Transaction(Protocol):
    """Every table, in one snapshot or one write."""

    @property
    def memories(self) -> Memories: ...
    @property
    def turns(self) -> Turns: ...
    @property
    def terms(self) -> Terms: ...
    @property
    def vectors(self) -> Vectors: ...
    @property
    def history(self) -> History: ...
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
    def gleanings(self) -> Gleanings: ...
    @property
    def attention(self) -> Attention: ...
    @property
    def imports(self) -> Imports: ...
    @property
    def erasures(self) -> Erasures: ...
    @property
    def parts(self) -> PartTallies: ...
    @property
    def shelf(self) -> Shelf: ...
    @property
    def replies(self) -> Replies: ...
    @property
    def feed(self) -> Feed: ...


class Store(Protocol):
    """One place where memories are kept."""

    @property
    def location(self) -> str:
        """Where the store is, without secrets."""
        ...

    def atomic(self) -> AbstractContextManager[Transaction]:
        """Open a write: all of it is durable when the block ends, none of it if it raises. Nests."""
        ...

    def read(self) -> AbstractContextManager[Transaction]:
        """Open a snapshot: what it shows does not change while the block runs."""
        ...

    def describe(self) -> Mapping[str, object]:
        """Return format version, size and room in bytes, and whether the store is encrypted."""
        ...

    def check(self) -> Iterable[Check]:
        """Look for damage and disagreement between the tables."""
        ...

    def back_up(self, path: Path) -> None:
        """Write a whole copy, as it is at one moment, to a path where nothing is; others go on meanwhile."""
        ...

    def scrub(self) -> None:
        """Leave nothing of what was deleted in the store's files; raises where somebody still reads it."""
        ...

    def close(self) -> None:
        """Let go of the store; nothing that was acknowledged is pending."""
        ...
