"""
The table of parts: how each has fared and what it has cost, in every process that had the store open.

Part of `store.contract`. Counts are added up and moments only move on, so that several processes can note
beside each other in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
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

    def add(self, tally: Tally) -> None:
        """Add what happened since the last time; an older moment does not replace a later one."""
        ...

    def list(self) -> Sequence[Tally]:
        """Return every part that was ever noted, by name."""
        ...
