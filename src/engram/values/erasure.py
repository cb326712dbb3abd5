"""
What an erasure took, or would take: ids and counts, since the words are gone.

Made by `capture.erase`, returned by `Engram.erase`. It says whether the file itself is clean, because pages
that were freed, and a log that somebody still reads, can keep words after every table has lost them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.values.ids import MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """One memory, or everything of one user, and what went along with it."""

    memories: tuple[MemoryId, ...] = ()
    """Erased: the named ones first, then what says the same or was concluded from them."""
    turns: int = 0
    """Messages that were dropped because the words were read from them or stand in them."""
    gaps: int = 0
    """Open questions about them."""
    minds: int = 0
    """Working memories of agents that held them."""
    scopes: int = 0
    """Places of a user that lost their name."""
    token: str = ""
    """What stands in the place of the user's name from now on; the audit has it as well."""
    dry_run: bool = False
    is_file_clean: bool = False
    """Whether the file was written anew, so that not a byte of the words is left in it."""
    why: str = ""
    """Why it is not clean."""
