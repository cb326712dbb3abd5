"""
The lexical index: which memories hold these words?

Asked by `recall`; asks the store's text index. A memory's score is the share of the question that its words
cover, rare words counting for more, so it means the same in a store of ten memories and of a million. On
LoCoMo this beat BM25, whose counts and lengths say little about single statements: docs/lab/0003-fusion.md.
Every memory that holds a term costs time, so the rarest terms are asked for first, and common ones only
while that stays cheap.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence

from engramdb.erasable_cache import ErasableTable
from engramdb.index.postings import KnowsMemories, Postings
from engramdb.store.contract import ScoredKey, Transaction
from engramdb.text.terms import query_terms
from engramdb.values import Filters, Scope

MAX_TERMS = 48
"""A pasted page would otherwise be asked for word by word."""
MAX_HOLDERS = 5000
"""In how many memories the asked terms may stand, added up: about 4 ms."""
EXACT_MEMORIES = 5000
"""Up to this many memories, words are counted again after every change, so that scores are exact."""
STALE_GROWTH = 1.2
"""In larger stores counts are asked again when there were a fifth more changes: they need not be exact."""
_MAX_REMEMBERED = 50_000


class LexicalIndex:
    """Words to memories; remembers how common the words are."""

    def __init__(self, roster: KnowsMemories | None = None) -> None:
        self._lock = threading.Lock()
        self._frequencies: ErasableTable[int] = ErasableTable()
        self._memories = 0
        self._counted_at = -1
        self._postings = Postings(roster)

    def search(
        self, tx: Transaction, text: str, *, scope: Scope, filters: Filters, limit: int
    ) -> list[ScoredKey]:
        """Return the memories that cover most of the question, best first, each scored in [0, 1]."""
        frequencies, memories = self._count(tx, query_terms(text)[:MAX_TERMS])
        shares = coverage_shares(frequencies, memories)
        present = sorted((term for term in frequencies if frequencies[term]), key=frequencies.__getitem__)
        chosen = searchable_terms(present, frequencies)
        if chosen:
            weights = {term: shares[term] for term in chosen}
            return self._postings.search(tx, weights, scope=scope, filters=filters, limit=limit)
        if present:
            newest = tx.terms.newest(present[0], scope=scope, filters=filters, limit=limit)
            return [ScoredKey(one.key, shares[present[0]]) for one in newest]
        return []

    def rarity(self, tx: Transaction, words: Sequence[str]) -> dict[str, float]:
        """Return how much each word tells of what holds it: more the fewer memories have it."""
        terms = {word: query_terms(word)[:1] for word in words}
        counts, memories = self._count(tx, [term for found in terms.values() for term in found])
        told = inverse_frequencies(counts, memories)
        return {word: told[found[0]] if found else 0.0 for word, found in terms.items()}

    def _count(self, tx: Transaction, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """Return how many memories hold each term, and how many there are, as fresh as need be."""
        with self._lock:
            latest = tx.vectors.latest_change()
            if self._is_stale(latest):
                self._frequencies.clear()
                self._memories = tx.terms.count()
                self._counted_at = latest
            known = self._frequencies
            # A term that was not there may be there now, so only counts above zero are kept.
            unknown = [term for term in terms if term not in known]
            asked = tx.terms.frequencies(unknown) if unknown else {}
            known.update({term: count for term, count in asked.items() if count})
            return {term: known.get(term, 0) for term in terms}, self._memories

    def _is_stale(self, latest: int) -> bool:
        """Return whether the counts are too old: any change in a small store, a fifth more in a large one."""
        if len(self._frequencies) > _MAX_REMEMBERED:
            return True
        allowed = self._counted_at * STALE_GROWTH if self._memories > EXACT_MEMORIES else self._counted_at
        return latest > allowed


def coverage_shares(frequencies: Mapping[str, int], memories: int) -> dict[str, float]:
    """Return what each term contributes to covering the question; all together make 1."""
    rarity = inverse_frequencies(frequencies, memories)
    total = sum(rarity.values())
    return {term: value / total for term, value in rarity.items()}


def inverse_frequencies(frequencies: Mapping[str, int], memories: int) -> dict[str, float]:
    """Return the inverse document frequency of each term, as BM25 has it."""
    return {
        term: math.log(1 + (max(memories, count) - count + 0.5) / (count + 0.5))
        for term, count in frequencies.items()
    }


def searchable_terms(
    terms: Sequence[str], frequencies: Mapping[str, int], *, max_holders: int = MAX_HOLDERS
) -> list[str]:
    """Return the leading terms, rarest first, that stand in no more memories than a search may look at."""
    chosen, held = [], 0
    for term in terms:
        held += frequencies[term]
        if held > max_holders:
            break
        chosen.append(term)
    return chosen
