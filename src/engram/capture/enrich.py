"""
What is inferred from a statement's words: security tier, affect, traits, levels of detail, entities.

Done by the gate at once for single statements, and afterwards, in the background, for statements that came in
bulk: it takes as long as everything else together, and nothing in it decides whether a statement may enter.
Derived: it can be done again at any time and gives the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.capture.entities import register
from engram.text.affect import affect, sentiment
from engram.text.detail import levels
from engram.text.passage import index_terms
from engram.text.pii import classify
from engram.text.traits import infer_traits

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.store.contract import Store, Transaction
    from engram.text.affect import Outcome
    from engram.values import Memory

BATCH = 128
"""Memories enriched in one write: a tenth of a second."""


def enriched(memory: Memory, *, outcome: Outcome | None = None) -> Memory:
    """Return the memory with security tier, affect, traits and levels of detail."""
    felt = affect(memory.content, outcome=outcome, is_correction=memory.category == "correction")
    return memory.evolve(
        security=classify(memory.content).tier,
        affect=felt,
        traits=infer_traits(memory.content, sentiment=sentiment(felt)),
        detail=levels(
            memory.content,
            subject=memory.subject,
            predicate=memory.predicate,
            object=memory.object,
            category=memory.category,
        ),
    )


def introduce(tx: Transaction, memory: Memory, *, names: Sequence[str] = (), now: datetime) -> None:
    """Register the entities that the memory speaks of."""
    register(tx, memory, speaker=memory.provenance.speaker, names=names, now=now)


def enrich_pending(
    store: Store,
    *,
    now: datetime,
    stop: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Enrich what came in bulk, a batch to a write, and return how many memories that were."""
    done = 0
    while stop is None or not stop.is_set():
        with store.atomic() as tx:
            waiting = tx.memories.unenriched(limit=BATCH)
            for key, memory in waiting.items():
                richer = enriched(memory)
                tx.memories.replace(richer)
                tx.memories.mark_enriched(key)
                tx.terms.put(key, index_terms(richer))
                introduce(tx, richer, now=now)
        if not waiting:
            break
        done += len(waiting)
        if progress is not None:
            progress(len(waiting))
    return done
