"""
What stands today for a memory that was superseded since.

Used by the adapters whose documents point to memories: `mem0` and `crewai`. Reads the engine and changes
nothing. A document goes on speaking for what took the place of its memory, through whichever door that
came; one whose memory was forgotten or erased speaks for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.values import Status

if TYPE_CHECKING:
    from engram import Engram, Memory, Scope

GONE = frozenset({Status.FORGOTTEN, Status.PRUNED, Status.ERASED})
"""What nobody is shown any more."""
_LONGEST_CHAIN = 1000


def latest(engram: Engram, memory_id: str, scope: Scope | None) -> Memory | None:
    """Return what stands today for a memory, or None where it is gone."""
    last = chain(engram, memory_id, scope)[-1]
    return None if last.status in GONE else last


def chain(engram: Engram, memory_id: str, scope: Scope | None) -> list[Memory]:
    """Return a memory and, one after the other, what took its place."""
    found = [engram.get(memory_id, scope=scope)]
    while (follows := found[-1].superseded_by) is not None and len(found) < _LONGEST_CHAIN:
        found.append(engram.get(follows, scope=scope))
    return found
