"""
What a store can do, in Engram's own words: no SQL, no driver's types.

Implemented by `store.sqlite`; written so that another database can do the same. Used by the rooms above
through `Transaction`, whose tables share one snapshot (`read`) or one all-or-nothing write (`atomic`).
A name is loaded when it is first used: most of these are protocols, which only a type checker reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.store.contract.attention import (
        Attention as Attention,
        KeptMind as KeptMind,
        KeptTopic as KeptTopic,
    )
    from engram.store.contract.dreams import (
        Dreams as Dreams,
        Leases as Leases,
        Mark as Mark,
        Merged as Merged,
        Outline as Outline,
        Run as Run,
    )
    from engram.store.contract.feed import (
        FeedPage as FeedPage,
    )
    from engram.store.contract.imports import (
        Imported as Imported,
        Imports as Imports,
    )
    from engram.store.contract.insight import (
        Gaps as Gaps,
        Naming as Naming,
        Node as Node,
        Reading as Reading,
        Replays as Replays,
        Tree as Tree,
    )
    from engram.store.contract.lookup import (
        Candidates as Candidates,
        Edges as Edges,
        Snapshots as Snapshots,
        Terms as Terms,
        TraitRows as TraitRows,
        Vectors as Vectors,
    )
    from engram.store.contract.memories import (
        Boxes as Boxes,
        Entities as Entities,
        HandedOut as HandedOut,
        Memories as Memories,
        Scopes as Scopes,
        Turns as Turns,
    )
    from engram.store.contract.records import (
        Ages as Ages,
        Audit as Audit,
        Feedback as Feedback,
        History as History,
        Sweeps as Sweeps,
    )
    from engram.store.contract.shapes import (
        Appearance as Appearance,
        Changes as Changes,
        EdgeColumns as EdgeColumns,
        Found as Found,
        Objection as Objection,
        Part as Part,
        Quantised as Quantised,
        Recalled as Recalled,
        SharedEntities as SharedEntities,
        Sketch as Sketch,
        Sweep as Sweep,
    )
    from engram.store.contract.shelf import (
        Corner as Corner,
        Pointer as Pointer,
        Shelf as Shelf,
    )
    from engram.store.contract.whole import (
        Store as Store,
        Transaction as Transaction,
    )
else:
    from engram.late import names_of

_NOUNS = {
    "attention": "Attention KeptMind KeptTopic",
    "dreams": "Dreams Leases Mark Merged Outline Run",
    "feed": "FeedPage",
    "imports": "Imported Imports",
    "insight": "Gaps Naming Node Reading Replays Tree",
    "lookup": "Candidates Edges Snapshots Terms TraitRows Vectors",
    "memories": "Boxes Entities HandedOut Memories Scopes Turns",
    "records": "Ages Audit Feedback History Sweeps",
    "shapes": (
        "Appearance Changes EdgeColumns Found Objection Part Quantised Recalled SharedEntities Sketch Sweep"
    ),
    "shelf": "Corner Pointer Shelf",
    "whole": "Store Transaction",
}
"""Where each name stands. A test holds this to what is imported above for types."""

if not TYPE_CHECKING:  # with this in sight a checker would take any name for one that is there
    __getattr__ = names_of(__name__, _NOUNS)
