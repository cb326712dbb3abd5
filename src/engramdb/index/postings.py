"""
Which memories hold a term, kept in memory for the terms that are asked for.

Questions share their common words, and those are what takes long to look up: every memory that holds one is
looked at. What was looked up is kept by term and scope, as far as a bound allows; what changed since is read
again by the feed of changes and counts in place of what was kept. The store says who may see what.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from engramdb.erasable_cache import ErasableTable
from engramdb.store.contract import ScoredKey, Transaction, scope_term
from engramdb.values import Filters, Scope

MAX_KEPT_KEYS: Final = 1_000_000
"""Eight megabytes; with more, all are dropped and read again as they are asked for."""
ENTRY_KEYS: Final = 32
"""What keeping the holders of a term costs besides them, counted in keys."""
MAX_CHANGED: Final = 500
"""With more changed memories than these, looking them through takes longer than reading all again."""
SPARE: Final = 16
"""So many more than are wanted are checked at first: some may have been replaced, or be somebody else's."""
_STATE: Final = "postings"
_DENSE_SPAN: Final = 32
"""Up to so many times as many numbers as keys, adding up by number beats sorting."""


class _KeptPostings(Struct):
    """Terms as they stood at one change of the store, and what has changed since."""

    cursor: int
    keys: dict[tuple[str, Scope], NDArray[np.int64]] = field(default_factory=dict)
    count: int = 0
    changed: dict[int, frozenset[str]] = field(default_factory=dict)
    """The terms that changed memories have now; none for one that is gone."""
    changed_keys: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def note(self, changed: Mapping[int, frozenset[str]]) -> None:
        self.changed |= changed
        self.changed_keys = np.array(sorted(self.changed), np.int64)


class KnowsMemories(Protocol):
    """What knows in memory who may see which memory; None where it does not, and the store is asked."""

    def passing(
        self, tx: Transaction, keys: NDArray[np.int64], *, scope: Scope, filters: Filters
    ) -> NDArray[np.bool_] | None: ...


class Postings:
    """Keys by term, for one store."""

    def __init__(self, roster: KnowsMemories | None = None) -> None:
        self._roster = roster
        self._lock = threading.Lock()
        self._kept: ErasableTable[_KeptPostings] = ErasableTable()  # erasing empties it

    def search(
        self, tx: Transaction, weights: Mapping[str, float], *, scope: Scope, filters: Filters, limit: int
    ) -> list[ScoredKey]:
        """Return memories with any of the terms, best first, as the store's own search would."""
        with self._lock:
            kept = self._caught_up(tx)
            found = None if kept is None else self._holders(tx, kept, list(weights), scope)
        if found is None:
            return tx.terms.search(weights, scope=scope, filters=filters, limit=limit)
        keys, scores = _added_up(found, list(weights.values()))
        passes = None
        if self._roster is not None:
            passes = self._roster.passing(tx, keys, scope=scope, filters=filters)
        if passes is not None:
            keys, scores = keys[passes], scores[passes]
            best = next(_best_first(keys, scores, at_once=limit), np.empty(0, np.intp))[:limit]
            return [ScoredKey(int(keys[at]), float(scores[at])) for at in best]
        return self._passing(tx, keys, scores, scope=scope, filters=filters, limit=limit)

    @staticmethod
    def _passing(
        tx: Transaction,
        keys: NDArray[np.int64],
        scores: NDArray[np.float64],
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
    ) -> list[ScoredKey]:
        """Return the best that the store lets through."""
        passing: list[ScoredKey] = []
        for some in _best_first(keys, scores, at_once=limit + SPARE):
            seen = tx.candidates.filter_keys(keys[some].tolist(), scope=scope, filters=filters)
            passing += [ScoredKey(int(keys[at]), float(scores[at])) for at in some if int(keys[at]) in seen]
            if len(passing) >= limit:
                break
        return passing[:limit]

    def _caught_up(self, tx: Transaction) -> _KeptPostings | None:
        """Return what is kept, as far as the snapshot has come; None where it is older than that."""
        if not tx.is_snapshot:  # what it has written may be taken back
            return None
        latest = tx.vectors.latest_change()
        kept = self._kept.get(_STATE)
        if kept is not None and latest < kept.cursor:
            return None
        if kept is not None and latest > kept.cursor:
            changed = tx.terms.changed_since(kept.cursor, limit=MAX_CHANGED + 1)
            if len(kept.changed.keys() | changed.keys()) > MAX_CHANGED:
                kept = None
            else:
                kept.note(changed)
                kept.cursor = latest
        if kept is None or kept.count > MAX_KEPT_KEYS:
            kept = self._kept[_STATE] = _KeptPostings(latest)
        return kept

    def _holders(
        self, tx: Transaction, kept: _KeptPostings, terms: Sequence[str], scope: Scope
    ) -> list[NDArray[np.int64]]:
        """Return for each term the memories that hold it and that the scope may see."""
        found = []
        for term in terms:
            keys = kept.keys.get((term, scope))
            if keys is None:
                keys = kept.keys[term, scope] = np.array(tx.terms.holders(term, scope=scope), np.int64)
                kept.count += len(keys) + ENTRY_KEYS
            found.append(keys)
        if not kept.changed:
            return found
        marks = {scope_term(number) for number in tx.scopes.visible(scope)}
        seen = {key: words for key, words in kept.changed.items() if not marks.isdisjoint(words)}
        return [
            np.concatenate(
                [
                    keys[~np.isin(keys, kept.changed_keys)],
                    np.array([key for key, words in seen.items() if term in words], np.int64),
                ]
            )
            for term, keys in zip(terms, found, strict=True)
        ]


def _added_up(
    found: list[NDArray[np.int64]], weights: list[float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return every key once, with the sum of the weights of the lists that it is on."""
    every = np.concatenate(found)
    if not len(every):
        return every, np.empty(0)
    weighed = np.repeat(weights, [len(keys) for keys in found])
    first, span = int(every.min()), int(every.max() - every.min()) + 1
    if span > _DENSE_SPAN * len(every):
        keys, places = np.unique(every, return_inverse=True)
        return keys, np.asarray(np.bincount(places, weighed), np.float64)
    sums = np.asarray(np.bincount(every - first, weighed), np.float64)
    places = np.flatnonzero(sums)
    return places.astype(np.int64) + first, sums[places]


def _best_first(
    keys: NDArray[np.int64], scores: NDArray[np.float64], *, at_once: int
) -> Iterator[NDArray[np.intp]]:
    """Yield the places of the best, then of ever more that follow; of equal ones the newest first."""
    begin, end = 0, min(at_once, len(keys))
    while begin < end:
        least = np.partition(scores, len(keys) - end)[len(keys) - end]
        good = np.flatnonzero(scores >= least)
        order = good[np.lexsort((-keys[good], -scores[good]))]
        yield order[begin:]
        begin, end = len(order), min(2 * len(order), len(keys))
