"""
The shelf of an open memory: exact documents of other programs, and recall among what they say.

`Engram.shelf`, used by the adapters for other frameworks: `writes` puts and removes, `reads` gives and
finds. Below them `ready` checks a document before a write, `shelving` does the write with the memory
that follows, and `search` asks recall for the memories of a few documents alone.
"""

from engram.engine.shelf.ground import Surroundings
from engram.engine.shelf.reads import ShelfReads
from engram.engine.shelf.writes import ShelfWrites

__all__ = ["Shelf", "Surroundings"]


class Shelf(ShelfWrites, ShelfReads):
    """Documents by place and key."""
