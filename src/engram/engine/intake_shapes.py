"""
What an import passes around: a record on its way in, and the tally of what became of all.

Used by `intake` and by `carried_links`; calls nothing. A record is known by its mark from the moment that its
scope is known. Of those that are refused the tally names place and code, and never a word.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.values import ImportReport, Refusal

if TYPE_CHECKING:
    from engram.portability.record import Message, Statement
    from engram.values import ImportKind, Scope

MOST_REFUSALS = 100
"""So many refused records are named; all of them are counted."""


@dataclass(frozen=True, slots=True)
class Item:
    """A record on its way in: its kind, the scope that it goes to and its mark."""

    kind: ImportKind
    record: Statement | Message
    scope: Scope
    mark: bytes


@dataclass(slots=True)
class Tally:
    """What an import has done so far."""

    counts: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)
    by_scope: Counter[str] = field(default_factory=Counter)
    by_code: Counter[str] = field(default_factory=Counter)
    refusals: list[Refusal] = field(default_factory=list)

    def refuse(self, place: str, code: str) -> None:
        """Count a record that does not come in."""
        self.by_code[code] += 1
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append(Refusal(place=place, code=code))

    def report(self, *, dry_run: bool, turns_read: int = 0) -> ImportReport:
        """Return the whole as a value."""
        return ImportReport(
            dry_run=dry_run,
            found=self.by_kind.total(),
            by_kind=dict(self.by_kind),
            statements=self.counts["statements"],
            added=self.counts["added"],
            turns=self.counts["turns"],
            turns_read=turns_read,
            already=self.counts["already"],
            flagged=self.counts["flagged"],
            by_scope=dict(self.by_scope),
            refused=self.by_code.total(),
            by_code=dict(self.by_code),
            refusals=tuple(self.refusals),
            links=self.counts["links"],
            left_out=self.counts["left out"],
        )
