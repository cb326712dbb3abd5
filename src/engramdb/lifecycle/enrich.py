"""Infer what a statement's words tell: tier, affect, traits, detail, entities."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from engramdb.erasable_cache import cached
from engramdb.lifecycle.entities import register
from engramdb.store.contract import Store, Transaction
from engramdb.text.affect import affect, sentiment
from engramdb.text.detail import levels
from engramdb.text.mentions import mentions, type_of
from engramdb.text.names import fold, fold_name, speaks_of_self, told_names
from engramdb.text.pii import classify
from engramdb.text.terms import index_terms
from engramdb.text.traits import infer_traits
from engramdb.values import Entity, EntityType, Memory, Outcome

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
    """Register whom and what the memory speaks of, the speaker too, and the names that it tells."""
    speaker = memory.provenance.speaker
    told = told_names(memory.content, speaker=speaker)
    found = register(
        tx,
        memory if told.rest == memory.content else memory.evolve(content=told.rest),
        speaker=speaker,
        names=(*names, *_first_person(memory.content, speaker), *_owners(told.rest)),
        now=now,
    )
    for name, other in told.pairs:
        called = [entity for entity in found if _ends_with_name(name, entity)]
        if len(called) == 1:
            _call(tx, called[0], other, memory, at=min(memory.when, now))


def _first_person(content: str, speaker: str | None) -> tuple[str, ...]:
    """Return the speaker's name where a person speaks of himself."""
    is_person = speaker is not None and _type_of(speaker) is EntityType.PERSON
    return (speaker,) if speaker is not None and is_person and speaks_of_self(content) else ()


def _owners(text: str) -> tuple[str, ...]:
    """Return whose relations are spoken of: what is said of Bob's daughter is said of Bob."""
    if "'s " not in text and "’s " not in text:
        return ()
    owned = [one.text.partition("'s ") for one in mentions(text)]
    return tuple(owner for owner, is_owned, _ in owned if is_owned)


def _ends_with_name(text: str, entity: Entity) -> bool:
    """Say whether a text is a name of the entity, maybe after what it is: the tool Moneta."""
    folded = [fold_name(one, entity.type) for one in (entity.name, *entity.aliases)]
    return any(f" {fold(text)}".endswith(f" {one}") for one in folded)


_type_of = cached(1000)(type_of)


def _call(tx: Transaction, entity: Entity, other: str, memory: Memory, *, at: datetime) -> None:
    """Note that a memory gives an entity another name, under which it is known from now on."""
    tx.entities.update(replace(entity, aliases=(*entity.aliases, other)))
    tx.entities.link(entity.id, memory.id, name=other, at=at)


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
