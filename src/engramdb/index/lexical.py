"""
The lexical index: which memories hold these words?

Asked by `recall`; asks the store's text index. A memory's score is the share of the question that its words
cover, rare words counting for more, so it means the same in a store of ten memories and of a million. On
LoCoMo this beat BM25, whose counts and lengths say little about single statements: docs/lab/0003-fusion.md.
Every memory that holds a term costs time, so the rarest terms are asked for first, and common ones only
while that stays cheap. Words are counted among the memories that the asker may see, so that no score tells
anything about those of others: docs/decisions/0024-scoped-statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from engramdb.index.postings import KnowsMemories, Postings
from engramdb.store.contract import ScoredKey, Transaction
from engramdb.text.terms import query_terms
from engramdb.values import Filters, Scope

MAX_TERMS = 48
"""A pasted page would otherwise be asked for word by word."""
MAX_HOLDERS = 5000
"""In how many memories the asked terms may stand, added up: about 4 ms."""
LEAST_MEMORIES = 10
"""Fewer count as so many: each word of the only memory would otherwise count as everybody's."""


class LexicalIndex:
    """Words to memories."""

    def __init__(self, roster: KnowsMemories | None = None) -> None:
        self._postings = Postings(roster)

    def search(
        self, tx: Transaction, text: str, *, scope: Scope, filters: Filters, limit: int
    ) -> list[ScoredKey]:
        """Return the memories that cover most of the question, best first, each scored in [0, 1]."""
        known = tx.terms.statistics(query_terms(text)[:MAX_TERMS], scope=scope)
        frequencies, shares = known.frequencies, coverage_shares(known.frequencies, _at_least(known.memories))
        present = sorted((term for term in frequencies if frequencies[term]), key=frequencies.__getitem__)
        chosen = searchable_terms(present, frequencies)
        if chosen:
            weights = {term: shares[term] for term in chosen}
            return self._postings.search(tx, weights, scope=scope, filters=filters, limit=limit)
        if present:
            newest = tx.terms.newest(present[0], scope=scope, filters=filters, limit=limit)
            return [ScoredKey(one.key, shares[present[0]]) for one in newest]
        return []

    def rarity(self, tx: Transaction, words: Sequence[str], *, scope: Scope) -> dict[str, float]:
        """Return how much each word tells of what holds it: more the fewer memories of a scope have it."""
        terms = {word: query_terms(word)[:1] for word in words}
        known = tx.terms.statistics([term for found in terms.values() for term in found], scope=scope)
        told = inverse_frequencies(known.frequencies, _at_least(known.memories))
        return {word: told[found[0]] if found else 0.0 for word, found in terms.items()}


def _at_least(memories: int) -> int:
    return max(memories, LEAST_MEMORIES)


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
