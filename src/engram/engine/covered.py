"""
How well a question is covered by what is remembered.

Called by `Engram.confidence`; asks recall, the domains and the open questions, and lets `dream.insight`
judge. It gives no memory and counts as no recall. Loaded when somebody asks.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from engram.dream.insight.certainty import Evidence, assess, fitting
from engram.dream.insight.questions import INJECTION
from engram.dream.insight.unspoken import unspoken
from engram.errors import EmbeddingError
from engram.index.domains import domain_of
from engram.recall.pipeline import recall
from engram.values import Filters, Query, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.engine.assemble import Parts
    from engram.store.contract import Transaction
    from engram.values import Confidence, Domain, Hit, Memory, Scope

ASKED_HITS = 20
"""So many of the best memories are looked at to say how well a question is covered."""
KIN_LOOKED_AT = 9
"""The best memory itself and eight around it."""
LIVING = frozenset({Status.ACTIVE, Status.CHALLENGED})


def confidence(parts: Parts, question: str, *, scope: Scope, now: datetime) -> Confidence:
    """Say whether an answer to the question can be confident, is uncertain, or about the unknown."""
    asked = Query(text=question, scope=scope, filters=Filters(statuses=LIVING), limit=ASKED_HITS)
    answer = recall(asked, parts.sources, now=now)
    fits = fitting(answer.hits)
    with parts.store.read() as tx:
        domain = _domain_of(tx, fits, parts, now)
        count = tx.gaps.count_about([hit.memory.id for hit in fits])
    missing = tuple(f"{one.index}: {one.reason}" for one in answer.quality.missing)
    kin = _kin(parts, fits[0].memory, asked) if fits else []
    found = Evidence(
        answer.hits,
        kin=kin,
        domain=domain,
        gaps=count,
        unspoken=unspoken(question, [hit.memory for hit in fits]),
        missing=missing,
    )
    return assess(found, parts.policy.insight)


def _kin(parts: Parts, memory: Memory, asked: Query) -> list[tuple[Memory, float]]:
    """Return the memories around one, with how alike they are; none while there is no embedder."""
    try:
        (vector,) = parts.embedder.embed_documents([memory.content])
    except EmbeddingError:  # recall has said so in what is missing
        return []
    with parts.store.read() as tx:
        near = parts.spaces.search(tx, vector, scope=asked.scope, filters=asked.filters, limit=KIN_LOOKED_AT)
        found = tx.memories.by_keys([one.key for one in near.found])
    others = [one for one in found.values() if one.id != memory.id and INJECTION not in one.flags]
    alike = parts.gate.likeness.between(memory.content, [one.content for one in others])
    return list(zip(others, alike, strict=True))


def _domain_of(tx: Transaction, fits: Sequence[Hit], parts: Parts, now: datetime) -> Domain | None:
    """Return the domain that most of what fits is in, weighed by how well it fits."""
    relevance = {hit.memory.id: hit.trust.relevance for hit in fits}
    homes = tx.tree.domains_of(list(relevance))
    votes: defaultdict[str, float] = defaultdict(float)
    for memory_id, node in homes.items():
        votes[node.id] += relevance[memory_id]
    if not votes:
        return None
    winner = min(votes, key=lambda node: (-votes[node], node))
    node = next(one for one in homes.values() if one.id == winner)
    return domain_of(node, parts.policy.insight, now)
