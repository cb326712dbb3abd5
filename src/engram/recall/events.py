"""
Say when an event was that a question hangs on: "since the release", "before I moved".

Called by `recall.pipeline` when a period has an anchor and no dates; asks the text index for the event's own
words. Only a memory that holds all of them is taken for the event, so a question is bound to no date rather
than to a wrong one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.text.passage import index_terms
from engram.text.terms import query_terms

if TYPE_CHECKING:
    from datetime import datetime

    from engram.recall.gather import FindsByWords
    from engram.store.contract import Transaction
    from engram.values import Memory, Query

LOOKED_AT = 20
"""So many memories that share words with the event are looked at."""


def happened_at(
    tx: Transaction, event: str, query: Query, *, lexical: FindsByWords, by: datetime
) -> datetime | None:
    """Return the moment of the latest memory up to `by` that holds every word of the event, if one does."""
    wanted = set(query_terms(event))
    if not wanted:
        return None
    found = lexical.search(tx, event, scope=query.scope, filters=query.filters, limit=LOOKED_AT)
    memories = tx.memories.by_keys([one.key for one in found]).values()
    moments = [one.when for one in memories if one.when <= by and _holds(one, wanted)]
    return max(moments, default=None)


def _holds(memory: Memory, wanted: set[str]) -> bool:
    return wanted <= set(index_terms(memory))
