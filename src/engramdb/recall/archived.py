"""
What fits a question better than all that is alive, and has left: announced, so that it can come back.

Looked for only where the living answer is weak, by the text and vector indexes alone, which still hold what
is archived. It is no hit: it is not ordered with the living, not counted as recalled, and not believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from engramdb.recall.fuse import fuse
from engramdb.recall.gather import Notes, gather
from engramdb.store.contract import ScoredKey, Transaction
from engramdb.text.normalize import normalize_text
from engramdb.values import BELIEVED, ArchivedMatch, Hit, Memory, Status

if TYPE_CHECKING:
    from engramdb.recall.pipeline import Asking

WEAK_BELOW = 0.6
"""Where the best living memory fits better than this, nothing else is looked for."""
FITS_FROM = 0.37
"""What fits less is not announced: it is about something else (docs/lab/0045-aging-by-kind.md)."""
MAX_ARCHIVED = 3
CANDIDATES = 10


def find_archived(
    tx: Transaction,
    asking: Asking,
    hits: Sequence[Hit],
    *,
    answers: Mapping[str, Sequence[ScoredKey]],
    words: str,
) -> tuple[ArchivedMatch, ...]:
    """Return archived memories that fit the question better than all the living, best first."""
    query, weights = asking.query, asking.plan.weights
    best = max((one.score for one in fuse(answers, weights)), default=0.0) if hits else 0.0
    is_past = asking.then.is_past or query.filters.statuses != BELIEVED
    if best >= WEAK_BELOW or is_past or not tx.memories.has_status(Status.ARCHIVED, scope=query.scope):
        return ()
    filters = replace(query.filters, statuses=frozenset({Status.ARCHIVED}))
    found = gather(
        tx,
        replace(query, filters=filters, limit=MAX_ARCHIVED),
        asking.vector,
        asking.sources,
        Notes(),
        words=words,
        candidates=CANDIDATES,
    )
    fused = [one for one in fuse(found, weights) if one.score >= FITS_FROM and one.score > best]
    better = {one.key: one.score for one in fused}
    memories = tx.memories.by_keys(list(better))
    told = [normalize_text(hit.memory.told) for hit in hits]
    fitting = [(score, memories[key]) for key, score in better.items() if _is_news(memories.get(key), told)]
    return tuple(_match(tx, memory, score) for score, memory in fitting[:MAX_ARCHIVED])


def _is_news(memory: Memory | None, told: Sequence[str]) -> bool:
    """Return whether a memory is still archived, says something that no hit tells, and gives no orders."""
    if memory is None or memory.status is not Status.ARCHIVED or memory.is_suspicious:
        return False
    words = normalize_text(memory.told)
    return not any(words in one for one in told)


def _match(tx: Transaction, memory: Memory, score: float) -> ArchivedMatch:
    moves = [event for event in tx.history.of(memory.id) if event.new_status is Status.ARCHIVED]
    return ArchivedMatch(
        memory=memory,
        relevance=min(1.0, score),
        archived_at=moves[-1].at if moves else memory.updated_at,
        reason=moves[-1].reason if moves else "",
    )
