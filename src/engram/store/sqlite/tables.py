"""
All tables of a file over one connection: what a transaction hands out.

Made by the store for every transaction. A table is loaded and made when it is first asked for: most
transactions ask for three of thirty, and so do most processes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from engram.late import load

if TYPE_CHECKING:
    import apsw

    from engram.store.sqlite.ages import AgesTable
    from engram.store.sqlite.attention import AttentionTable
    from engram.store.sqlite.boxes import BoxesTable
    from engram.store.sqlite.candidates import CandidatesTable
    from engram.store.sqlite.dreams import DreamsTable, LeasesTable
    from engram.store.sqlite.edges import EdgesTable
    from engram.store.sqlite.entities import EntitiesTable
    from engram.store.sqlite.erasure import ErasuresTable
    from engram.store.sqlite.feed import FeedTable
    from engram.store.sqlite.feedback import FeedbackTable
    from engram.store.sqlite.gaps import GapsTable
    from engram.store.sqlite.gleanings import GleaningsTable
    from engram.store.sqlite.handed_out import HandedOutTable
    from engram.store.sqlite.history import AuditTable, HistoryTable
    from engram.store.sqlite.imports import ImportsTable
    from engram.store.sqlite.memories import MemoriesTable
    from engram.store.sqlite.parts import PartsTable
    from engram.store.sqlite.replays import ReplaysTable
    from engram.store.sqlite.replies import RepliesTable
    from engram.store.sqlite.scopes import ScopesTable
    from engram.store.sqlite.shelf import ShelfTable
    from engram.store.sqlite.snapshots import SnapshotsTable
    from engram.store.sqlite.sweeps import SweepsTable
    from engram.store.sqlite.terms import TermsTable
    from engram.store.sqlite.traits import TraitsTable
    from engram.store.sqlite.tree import TreeTable
    from engram.store.sqlite.turns import TurnsTable
    from engram.store.sqlite.vectors import VectorsTable

_ELSEWHERE = {"audit": "history", "leases": "dreams", "erasures": "erasure"}
"""Tables that stand in a file of another name than their own."""


class Tables:
    """Every table over one connection."""

    memories: MemoriesTable
    turns: TurnsTable
    terms: TermsTable
    vectors: VectorsTable
    history: HistoryTable
    audit: AuditTable
    edges: EdgesTable
    entities: EntitiesTable
    scopes: ScopesTable
    boxes: BoxesTable
    handed_out: HandedOutTable
    candidates: CandidatesTable
    feedback: FeedbackTable
    snapshots: SnapshotsTable
    ages: AgesTable
    sweeps: SweepsTable
    traits: TraitsTable
    leases: LeasesTable
    dreams: DreamsTable
    gaps: GapsTable
    tree: TreeTable
    replays: ReplaysTable
    gleanings: GleaningsTable
    attention: AttentionTable
    imports: ImportsTable
    erasures: ErasuresTable
    parts: PartsTable
    shelf: ShelfTable
    replies: RepliesTable
    feed: FeedTable

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        """Return a table that was not asked for before."""
        if name not in Tables.__annotations__:
            raise AttributeError(f"there is no table {name!r}")
        table = _class_of(name)(self._connection)
        setattr(self, name, table)
        return table


@cache
def _class_of(name: str) -> Any:
    """Return the class of a table, which is what the annotation above calls it."""
    module = load(f"engram.store.sqlite.{_ELSEWHERE.get(name, name)}")
    return getattr(module, Tables.__annotations__[name])
