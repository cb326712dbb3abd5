"""
Extracted: one statement that was found in a turn, before the gate has seen it.

Made by both extractors, turned into a draft by `capture.pipeline`. The same fields whoever made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engram.values import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.values import Turn, TurnId

EXTRACTED_CATEGORIES = (
    "fact",
    "preference",
    "correction",
    "entity",
    "decision",
    "relationship",
    "principle",
    "commitment",
    "moment",
    "skill",
)
"""What an extractor may call a statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One atomic statement, in the third person, with dates resolved."""

    content: str
    turn_id: TurnId
    category: str = "fact"
    confidence: float = 0.7
    importance: float = 0.5
    kind: Kind = Kind.NOTE
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    is_negated: bool = False
    """Says that something no longer or never holds: "no longer uses vim"."""
    replaces: str | None = None
    """The object that this one takes the place of: vim in "switched from vim to Helix"."""
    entities: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    insight: str | None = None
    verbatim: str | None = None
    """The exact words, where they must not be paraphrased: a quotation, code, a command."""


class Extractor(Protocol):
    """Reads statements out of turns."""

    @property
    def name(self) -> str:
        """What history and `status` call it, with its version."""
        ...

    def extract(self, turns: Sequence[Turn], *, context: Sequence[Turn]) -> list[Extracted]:
        """Return what the turns state, in order; `context` are earlier turns that pronouns may point to."""
        ...
