"""
The indexes of recall, narrowed to the memories of a few documents.

Used by `search`. Without this, the few documents of one place would drown among a hundred thousand other
memories before a filter saw them. Each index is wrapped and asked as ever; none is changed or copied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from engram.index.vector import Nearest
    from engram.recall.gather import FindsByLinks, FindsByVector, FindsByWords, Sources
    from engram.store.contract import Found, Transaction
    from engram.values import Filters, Scope

MOST_BY_WORDS = 8192
"""So many memories with the words are looked through for those of the corner."""


@dataclass(frozen=True, slots=True)
class _WordsAmong:
    """The text index, answering with some memories only."""

    inner: FindsByWords
    keys: frozenset[int]

    def search(
        self, tx: Transaction, text: str, *, scope: Scope, filters: Filters, limit: int
    ) -> list[Found]:
        """Return those of the memories that cover most of the question."""
        size = limit
        while True:
            found = self.inner.search(tx, text, scope=scope, filters=filters, limit=size)
            kept = [one for one in found if one.key in self.keys]
            if len(kept) >= min(limit, len(self.keys)) or len(found) < size or size >= MOST_BY_WORDS:
                return kept[:limit]
            size = min(size * 8, MOST_BY_WORDS)


@dataclass(frozen=True, slots=True)
class _VectorsAmong:
    """The vector index, answering with some memories only."""

    inner: FindsByVector
    keys: NDArray[np.int64]

    def search(
        self,
        tx: Transaction,
        query: NDArray[np.float32],
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
        also: Sequence[int],
        among: NDArray[np.int64] | None = None,
        text: str = "",
    ) -> Nearest:
        """Return those of the memories that are nearest."""
        keys = self.keys if among is None else np.intersect1d(self.keys, among)
        return self.inner.search(
            tx, query, scope=scope, filters=filters, limit=limit, also=also, among=keys, text=text
        )


@dataclass(frozen=True, slots=True)
class _LinksAmong:
    """The graph, reaching some memories only."""

    inner: FindsByLinks
    keys: frozenset[int]

    def activate(
        self,
        tx: Transaction,
        seeds: Mapping[int, float],
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
        hops: int,
        decay: float,
        floor: float,
        through_entities: bool,
    ) -> list[Found]:
        """Return those of the memories that activation reaches."""
        found = self.inner.activate(
            tx,
            seeds,
            scope=scope,
            filters=filters,
            limit=limit,
            hops=hops,
            decay=decay,
            floor=floor,
            through_entities=through_entities,
        )
        return [one for one in found if one.key in self.keys]


def among(sources: Sources, keys: Sequence[int]) -> Sources:
    """Return the sources of recall, narrowed to these memories."""
    chosen = frozenset(keys)
    return replace(
        sources,
        lexical=_WordsAmong(sources.lexical, chosen),
        vector=_VectorsAmong(sources.vector, np.array(sorted(chosen), np.int64)),
        graph=_LinksAmong(sources.graph, chosen),
    )
