"""Find documents by meaning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.index.vector import Nearest
from engramdb.recall.gather import FindsByLinks, FindsByVector, Sources, WeighsWords
from engramdb.recall.pipeline import recall
from engramdb.store.contract import Pointer, ScoredKey, Transaction
from engramdb.values import Filters, Hit, Query, Recall, Scope, Status
from engramdb.values.query import MAX_LIMIT, MAX_QUERY_CHARACTERS

# The indexes of recall, narrowed to the memories of a few documents.
#
# Without this, the few documents of one place would drown among a hundred thousand other memories before a
# filter saw them. Each index is wrapped and asked as ever; none is changed or copied.

MAX_WORD_MATCHES = 8192
"""Memories with the words that are searched for those of the range."""


class _WordsAmong(Struct, frozen=True):
    """The text index, answering with some memories only."""

    inner: WeighsWords
    keys: frozenset[int]

    def rarity(self, tx: Transaction, words: Sequence[str], *, scope: Scope) -> dict[str, float]:
        """Return how much each word tells, among all memories that the scope may see."""
        return self.inner.rarity(tx, words, scope=scope)

    def search(
        self, tx: Transaction, text: str, *, scope: Scope, filters: Filters, limit: int
    ) -> list[ScoredKey]:
        """Return those of the memories that cover most of the question."""
        size = limit
        while True:
            found = self.inner.search(tx, text, scope=scope, filters=filters, limit=size)
            matching = [one for one in found if one.key in self.keys]
            if len(matching) >= min(limit, len(self.keys)) or len(found) < size or size >= MAX_WORD_MATCHES:
                return matching[:limit]
            size = min(size * 8, MAX_WORD_MATCHES)


class _VectorsAmong(Struct, frozen=True):
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


class _LinksAmong(Struct, frozen=True):
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
    ) -> list[ScoredKey]:
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


def narrow_sources(sources: Sources, keys: Sequence[int]) -> Sources:
    """Return the sources of recall, narrowed to these memories."""
    chosen = frozenset(keys)
    return replace(
        sources,
        lexical=_WordsAmong(sources.lexical, chosen),
        vector=_VectorsAmong(sources.vector, np.array(sorted(chosen), np.int64)),
        graph=_LinksAmong(sources.graph, chosen),
    )


# Find documents by what they mean: recall, among the memories that the documents of one range point to.
#
# `among` narrows the indexes to these memories. Several documents may point to one memory,
# and each is given its score. What was superseded is not found, unless a caller follows it to what took its
# place.

FINDABLE_STATUSES = frozenset({Status.ACTIVE, Status.CHALLENGED, Status.MERGED, Status.ARCHIVED})
"""A document is found by its words whatever aging or a dream did to it, unless it was replaced."""
_OVERFETCH = 10
"""Requested beyond what is wanted: signals may add memories of other ranges."""
_MAX_CHAIN = 50


def recall_pointers(
    query: str, pointers: Sequence[Pointer], sources: Sources, *, wanted: int, now: datetime
) -> list[Recall]:
    """Ask for the memories of these pointers, once in every scope that they are of."""
    by_scope: defaultdict[int, dict[int, str]] = defaultdict(dict)
    scopes = {id(pointer.scope): pointer.scope for pointer in pointers}  # few: the store shares them
    for pointer in pointers:
        if pointer.key is not None and pointer.memory_id is not None and pointer.status in FINDABLE_STATUSES:
            by_scope[id(pointer.scope)][pointer.key] = pointer.memory_id
    text = query.strip()[-MAX_QUERY_CHARACTERS:]
    answers = []
    for number, keys in by_scope.items():
        limit = min(MAX_LIMIT, min(len(keys), wanted) + _OVERFETCH)
        asked = Query(
            text=text, scope=scopes[number], filters=Filters(statuses=FINDABLE_STATUSES), limit=limit
        )
        answer = recall(asked, narrow_sources(sources, list(keys)), now=now)
        own = set(keys.values())
        hits = tuple(hit for hit in answer.hits if hit.memory.id in own)
        answers.append(replace(answer, hits=hits))
    return answers


def rank_documents(pointers: Sequence[Pointer], hits: Sequence[Hit]) -> list[tuple[int, float | None]]:
    """
    Return documents by number with their scores, best first.

    What has a memory that does not fit comes after all that fits, and then what nothing was remembered
    of; both in the order in which they were stored.
    """
    scores = {hit.memory.id: hit.score for hit in hits}
    fitting: list[tuple[int, float | None]] = []
    others: list[tuple[int, float | None]] = []
    untold: list[tuple[int, float | None]] = []
    for one in pointers:
        if one.memory_id is None:
            untold.append((one.id, None))
        elif one.memory_id in scores:
            fitting.append((one.id, scores[one.memory_id]))
        else:
            others.append((one.id, 0.0))
    return [*sorted(fitting, key=lambda pair: -(pair[1] or 0.0)), *others, *untold]


def follow_pointers(tx: Transaction, pointers: Sequence[Pointer]) -> list[Pointer]:
    """Return the pointers with what stands today for memories that were superseded or merged."""
    return [_follow(tx, one) if one.status in (Status.SUPERSEDED, Status.MERGED) else one for one in pointers]


def _follow(tx: Transaction, pointer: Pointer) -> Pointer:
    memory = tx.memories.get(pointer.memory_id or "", scope=pointer.scope)
    for _ in range(_MAX_CHAIN):
        if memory is None or memory.superseded_by is None:
            break
        memory = tx.memories.get(memory.superseded_by, scope=pointer.scope)
    if memory is None:
        return pointer
    key = tx.documents.key_of(memory.id)
    return pointer._replace(memory_id=memory.id, key=key, status=memory.status)
