"""
What a store can do, in Engram's own words: no SQL, no driver's types.

Implemented by `store.sqlite`; written so that another database can do the same. Used by the rooms above
through `Transaction`, whose tables share one snapshot (`read`) or one all-or-nothing write (`atomic`).
"""

from __future__ import annotations

from engram.store.contract.attention import Attention, KeptMind, KeptTopic
from engram.store.contract.dreams import Dreams, Leases, Mark, Merged, Outline, Run
from engram.store.contract.imports import Imported, Imports
from engram.store.contract.insight import Gaps, Naming, Node, Reading, Replays, Tree
from engram.store.contract.lookup import Candidates, Edges, Snapshots, Terms, TraitRows, Vectors
from engram.store.contract.memories import Boxes, Entities, HandedOut, Memories, Scopes, Turns
from engram.store.contract.records import Ages, Audit, Feedback, History, Sweeps
from engram.store.contract.shapes import (
    Appearance,
    Changes,
    EdgeColumns,
    Found,
    Objection,
    Part,
    Quantised,
    Recalled,
    SharedEntities,
    Sketch,
    Sweep,
)
from engram.store.contract.shelf import Corner, Pointer, Shelf
from engram.store.contract.whole import Store, Transaction

__all__ = [
    "Ages",
    "Appearance",
    "Attention",
    "Audit",
    "Boxes",
    "Candidates",
    "Changes",
    "Corner",
    "Dreams",
    "EdgeColumns",
    "Edges",
    "Entities",
    "Feedback",
    "Found",
    "Gaps",
    "HandedOut",
    "History",
    "Imported",
    "Imports",
    "KeptMind",
    "KeptTopic",
    "Leases",
    "Mark",
    "Memories",
    "Merged",
    "Naming",
    "Node",
    "Objection",
    "Outline",
    "Part",
    "Pointer",
    "Quantised",
    "Reading",
    "Recalled",
    "Replays",
    "Run",
    "Scopes",
    "SharedEntities",
    "Shelf",
    "Sketch",
    "Snapshots",
    "Store",
    "Sweep",
    "Sweeps",
    "Terms",
    "TraitRows",
    "Transaction",
    "Tree",
    "Turns",
    "Vectors",
]
