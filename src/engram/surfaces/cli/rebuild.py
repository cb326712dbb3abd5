"""
`engram rebuild`: make every derived index anew.

Calls `Engram.rebuild`. Only what is derived from memories is dropped; memories, turns and their history are
not touched, and no answer should change by it. `engram doctor --fix` does this where something is wrong.
"""

from dataclasses import dataclass

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import out, present
from engram.surfaces.cli.progress import counting
from engram.text.counted import memories


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The answer: how many memories the indexes were made from."""

    memories: int


def rebuild(shared: Shared) -> None:
    """
    Make the text and vector indexes anew from the memories.

    Example: engram rebuild --store memory.db
    """
    with shared.open_existing() as engram, counting("rebuilding") as progress:
        done = engram.rebuild(progress=progress)

    present(Rebuilt(done), lambda found: out(f"rebuilt from {memories(found.memories)}"), as_json=shared.json)
