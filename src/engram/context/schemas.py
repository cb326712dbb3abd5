"""
What is known of the people and things in play: the semantic memories of the entities that the hits speak of.

Called by `build` after recall; reads the store. An entity that the message names counts for more than one
that only the hits mention.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from engram.context.detail import Wish
from engram.context.lines import may_stand
from engram.text.terms import query_terms
from engram.values import Filters, Layer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.store.contract import Transaction
    from engram.values import Entity, Hit, Scope

HITS_LOOKED_AT = 4
ENTITIES_MOST = 2
MEMORIES_EACH = 12
NAMED_BONUS = 10
"""What being named in the message counts for, in mentions by hits."""

_KNOWLEDGE = Filters(layers=frozenset({Layer.SEMANTIC}))


def schemas(tx: Transaction, message: str, hits: Sequence[Hit], scope: Scope) -> list[Wish]:
    """Return what schemas would like to show, the newest of each entity first."""
    if tx.entities.is_empty():
        return []
    found: list[Wish] = []
    for entity in in_play(tx, message, hits, scope):
        keys = tx.entities.memories_of(entity.id, scope=scope, filters=_KNOWLEDGE, limit=MEMORIES_EACH)
        memories = tx.memories.by_keys(keys)
        told = [memories[key] for key in keys if key in memories]
        found += [Wish(one, 0.3 + 0.7 * one.importance) for one in told]
    return [wish for wish in {one.memory.id: one for one in found}.values() if may_stand(wish.memory)]


def in_play(tx: Transaction, message: str, hits: Sequence[Hit], scope: Scope) -> list[Entity]:
    """Return the entities that the best hits speak of, those that the message names first."""
    words = set(query_terms(message))
    known: dict[str, Entity] = {}
    spoken: Counter[str] = Counter()
    for hit in hits[:HITS_LOOKED_AT]:
        for entity in tx.entities.of_memory(hit.memory.id, scope=scope):
            is_named = bool(
                words & {term for name in (entity.name, *entity.aliases) for term in query_terms(name)}
            )
            known[entity.id] = entity
            spoken[entity.id] += 1 + (NAMED_BONUS if is_named and entity.id not in spoken else 0)
    return [known[entity_id] for entity_id, _ in spoken.most_common(ENTITIES_MOST)]
