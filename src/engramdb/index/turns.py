"""
The index of turns: who said these words?

Asked by `recall` where memories fall short. Scores as the lexical index of memories does, by the share of the
question that a turn's words cover. Words are counted among the turns that the asker may see, and no further
than a search would look, so an answer tells nothing about the turns of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from engramdb.index.lexical import MAX_TERMS, coverage_shares, searchable_terms
from engramdb.store.contract import ScoredKey, Transaction
from engramdb.text.terms import query_terms
from engramdb.values import Filters, Scope

MAX_HOLDERS = 2000
"""In how many turns the asked terms may stand, added up; fewer than of memories, for a last resort."""


class TurnMatches(Struct, frozen=True):
    """The turns that hold words of a question, best first, and what each of its words is worth."""

    found: list[ScoredKey]
    shares: Mapping[str, float]
    """All together make 1; a word that no turn holds counts too."""
    unsearched: float = 0.0
    """The shares of words that are too common to look for: a turn may hold them besides."""


def search_turns(
    tx: Transaction, text: str, *, scope: Scope, filters: Filters, heard_by: datetime | None, limit: int
) -> TurnMatches:
    """Return the turns that cover most of the question; with `heard_by`, those that were stored by then."""
    terms = query_terms(text)[:MAX_TERMS]
    frequencies = tx.turn_terms.frequencies(terms, scope=scope, at_most=MAX_HOLDERS)
    present = sorted((term for term in terms if frequencies[term]), key=frequencies.__getitem__)
    if not present:
        return TurnMatches([], {})
    shares = coverage_shares(frequencies, tx.turn_terms.count(scope=scope, at_most=MAX_HOLDERS))
    weights = {term: shares[term] for term in searchable_terms(present, frequencies, max_holders=MAX_HOLDERS)}
    if weights:
        found = tx.turn_terms.search(weights, scope=scope, filters=filters, heard_by=heard_by, limit=limit)
    else:
        found = tx.turn_terms.newest(present[0], scope=scope, filters=filters, heard_by=heard_by, limit=limit)
    return TurnMatches(found, shares, sum(shares[term] for term in present if term not in weights))
