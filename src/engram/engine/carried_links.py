"""
Links that an export carries between its memories, kept until both ends are there.

Used by `engine.intake`. An export names the ends by their ids in the store that it came from; the marks of
the import say which memories those became here. A link is set in the write that brings the later of its ends,
so an import that was killed completes it, and one that is repeated brings back no link that was taken away.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.capture.relate import GONE, SAID
from engram.errors import EdgeNotAllowed
from engram.portability.record import Statement
from engram.values import Edge, ImportKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from engram.engine.intake_shapes import Item
    from engram.portability.record import Link
    from engram.store.contract import Transaction
    from engram.values import MemoryId, Scope


@dataclass(frozen=True, slots=True)
class _Met:
    """A record that was read: what it is known by, and the scope that it belongs to."""

    mark: bytes
    scope: Scope


@dataclass(frozen=True, slots=True)
class _Carried:
    """A link as the source says it: the source's names of both ends, the one that it leaves first."""

    source: str
    link: Link


class CarriedLinks:
    """The links of one import."""

    def __init__(self) -> None:
        self._met: dict[str, _Met] = {}
        self._by_end: defaultdict[str, list[_Carried]] = defaultdict(list)

    def meet(self, items: Iterable[Item]) -> None:
        """Note what the records of a batch are called and linked to, also of those that are here already."""
        for item in items:
            record = item.record
            if not isinstance(record, Statement) or item.kind is not ImportKind.ENGRAM or not record.key:
                continue
            self._met[record.key] = _Met(item.mark, item.scope)
            for link in record.links:
                if link.type in SAID:
                    carried = _Carried(record.key, link)
                    self._by_end[record.key].append(carried)
                    self._by_end[link.to].append(carried)

    def settle(self, tx: Transaction, items: Iterable[Item], *, now: datetime) -> int:
        """Set the links of records that have just come in to those that are here; returns how many."""
        due = self._due({item.record.key for item in items})
        if not due:
            return 0
        ends = {key for one in due for key in (one.source, one.link.to)}
        became = tx.imports.became([self._met[key].mark for key in ends])
        here = {key: became[self._met[key].mark] for key in ends if self._met[key].mark in became}
        return sum(_set(tx, one, here, scope=self._met[one.source].scope, now=now) for one in due)

    def _due(self, fresh: set[str]) -> list[_Carried]:
        """Return the links that touch these records and of which both ends have been met."""
        touching = (one for key in fresh if key in self._by_end for one in self._by_end[key])
        met = self._met
        return list(dict.fromkeys(one for one in touching if one.source in met and one.link.to in met))


def _set(
    tx: Transaction, one: _Carried, here: Mapping[str, MemoryId], *, scope: Scope, now: datetime
) -> bool:
    """Set one link; what `relate` would refuse, because of scope, status or a circle, stays away."""
    source, target = here.get(one.source), here.get(one.link.to)
    if source is None or target is None:
        return False
    ends = (tx.memories.get(source, scope=scope), tx.memories.get(target, scope=scope))
    if any(end is None or end.status in GONE for end in ends):
        return False
    edge = Edge(source=source, target=target, type=one.link.type, weight=one.link.weight, created_at=now)
    try:
        tx.edges.add(edge)
    except EdgeNotAllowed:
        return False
    return True
