"""
The table of what was imported, so that a second import brings nothing twice and nothing back.

Part of `store.contract`. A record is known by a mark made of its source, its scope and its words. Marks are
never taken away: what somebody corrected, forgot or erased must stay so when the same source comes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.values import ImportKind, ImportOrigin, MemoryId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One record that was taken in, and the memory or the turn that it became."""

    mark: bytes
    kind: ImportKind
    place: str
    memory_id: MemoryId | None = None
    turn_id: TurnId | None = None


class Imports(Protocol):
    """Records by their marks."""

    def known(self, marks: Sequence[bytes]) -> set[bytes]:
        """Return those of the marks that an import has left before."""
        ...

    def became(self, marks: Sequence[bytes]) -> dict[bytes, MemoryId]:
        """Return the memories that the records of these marks became, as far as they became one."""
        ...

    def add(self, records: Sequence[Imported], *, at: datetime) -> None:
        """Note records that were taken in; a mark that is there already stays as it is."""
        ...

    def origin(self, memory_id: MemoryId) -> ImportOrigin | None:
        """Return where a memory, or the first turn that it rests on, was imported from."""
        ...

    def count(self) -> int:
        """Return how many records were ever taken in."""
        ...
