"""
The lexical index: which memories hold these words?

Asked by `recall`; asks the store's text index. Ranking costs about a microsecond for every memory that
holds a term, so the rarest terms are asked for first, and common ones only while that stays cheap.
Without this a plain question over 100,000 memories takes a tenth of a second.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from engram.text.terms import query_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.store.contract import Found, Transaction
    from engram.values import Filters, Scope

MAX_TERMS = 48
"""A pasted page would otherwise be asked for word by word."""
MAX_POSTINGS = 3000
"""How many memories the asked terms may stand in, added up: about 4 ms."""
STALE_GROWTH = 1.2
"""Counts are asked again when the store has grown by a fifth: they only choose terms."""
_MAX_REMEMBERED = 50_000


class LexicalIndex:
    """Words to memories; remembers how common the words are."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._frequencies: dict[str, int] = {}
        self._counted_at = 0

    def search(
        self, tx: Transaction, text: str, *, scope: Scope, filters: Filters, limit: int
    ) -> list[Found]:
        """Return the memories that share the question's telling words, best first."""
        frequencies = self._count(tx, query_terms(text)[:MAX_TERMS])
        present = sorted((term for term in frequencies if frequencies[term]), key=frequencies.__getitem__)
        chosen = affordable(present, [frequencies[term] for term in present])
        if chosen:
            return tx.terms.search(chosen, scope=scope, filters=filters, limit=limit)
        if present:
            return tx.terms.newest(present[0], scope=scope, filters=filters, limit=limit)
        return []

    def _count(self, tx: Transaction, terms: Sequence[str]) -> dict[str, int]:
        """Return how many memories hold each term, from memory where that is fresh enough."""
        with self._lock:
            latest = tx.vectors.latest_change()
            if latest > self._counted_at * STALE_GROWTH or len(self._frequencies) > _MAX_REMEMBERED:
                self._frequencies.clear()
                self._counted_at = latest
            known = self._frequencies
            # A term that was not there may be there now, so only counts above zero are kept.
            unknown = [term for term in terms if term not in known]
            asked = tx.terms.frequencies(unknown) if unknown else {}
            known.update({term: count for term, count in asked.items() if count})
            return {term: known.get(term, 0) for term in terms}


def affordable(terms: Sequence[str], frequencies: Sequence[int]) -> list[str]:
    """Return the leading terms, rarest first, whose frequencies add up to what a ranking may cost."""
    chosen, spent = [], 0
    for term, frequency in zip(terms, frequencies, strict=True):
        spent += frequency
        if spent > MAX_POSTINGS:
            break
        chosen.append(term)
    return chosen
