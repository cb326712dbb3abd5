"""Infer what a statement's words tell: security tier, affect, traits and levels of detail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime

from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Store
from engramdb.text.affect import affect, sentiment
from engramdb.text.detail import levels
from engramdb.text.pii import classify
from engramdb.text.traits import infer_traits
from engramdb.values import Actor, ActorKind, Memory, Outcome

ENRICHING = Actor(name="enrichment", kind=ActorKind.RULE)
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
            writer = MemoryWriter(tx, ENRICHING, now)
            waiting = tx.memories.unenriched(limit=BATCH)
            for key, memory in waiting.items():
                writer.enrich(key, enriched(memory))
        if not waiting:
            break
        done += len(waiting)
        if progress is not None:
            progress(len(waiting))
    return done
