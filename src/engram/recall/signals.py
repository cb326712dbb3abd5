"""
What else speaks for a memory, beside its words and its meaning: where it stands, whom and what time it is
about.

Called by `recall.pipeline` after the indexes were fused. Each signal adds to the score of memories that
were found, or finds others beside them; one whose weight is 0 in the policy is not asked. What each is
worth, and which were left out because they did not help: docs/lab/0018-recall.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.recall.entity import linked
from engram.recall.fuse import Signal
from engram.recall.period import nearness
from engram.recall.subject import subjects
from engram.recall.surround import surround

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.recall.fuse import Fused
    from engram.recall.gather import Notes, Sources
    from engram.recall.plan import Planned
    from engram.store.contract import Transaction
    from engram.values import Entity, Query

SESSION, SUBJECT, TIME = "session", "subject", "time"
GRAPH, LINKED, ENTITY = "graph", "linked", "entity"
SKETCHED = 80
"""Of so many of the best it is asked who said them and when: what lies lower cannot be lifted to the top."""
LINKED_FROM = 3
"""From so many of the best, linked neighbours join the answer."""


def signals(
    tx: Transaction,
    ranked: Sequence[Fused],
    query: Query,
    sources: Sources,
    *,
    plan: Planned,
    entities: Sequence[Entity],
    notes: Notes,
) -> list[Signal]:
    """Return what each signal adds."""
    policy = sources.policy
    with notes.timed(SESSION):
        found = [Signal(name=SESSION, gained=surround(tx, ranked, query, policy))]
    if plan.graph_bonus:
        with notes.timed(GRAPH):
            found.append(_linked(tx, ranked, query, sources, plan))
    if policy.linked_share:
        with notes.timed(LINKED):
            found.append(_neighbours(tx, ranked, query, sources))
    if policy.entity_bonus and entities:
        with notes.timed(ENTITY):
            about = linked(tx, entities, scope=query.scope, filters=query.filters, limit=policy.candidates)
            found.append(Signal(name=ENTITY, gained=dict.fromkeys(about, policy.entity_bonus)))
    with notes.timed("sketch"):
        keys = [one.key for one in ranked[:SKETCHED]] + [key for signal in found for key in signal.gained]
        sketches = tx.candidates.sketches(list(dict.fromkeys(keys)))
    if policy.subject_bonus:
        named = subjects(query.text, sketches)
        found.append(Signal(name=SUBJECT, gained=dict.fromkeys(named, policy.subject_bonus)))
    period = plan.period
    if policy.time_bonus and period is not None:
        near = nearness([sketch.when for sketch in sketches.values()], period)
        pairs = zip(sketches, near, strict=True)
        gained = {key: policy.time_bonus * float(one) for key, one in pairs if one > 0}
        found.append(Signal(name=TIME, gained=gained))
    return [signal for signal in found if signal.gained]


def _linked(
    tx: Transaction, ranked: Sequence[Fused], query: Query, sources: Sources, plan: Planned
) -> Signal:
    """Return what activation through links adds, spreading from the best."""
    policy = sources.policy
    # A seed is never reached itself: one too weak to give anything on would only be kept from gaining.
    seeds = [
        one for one in ranked[: policy.graph_seeds] if one.score * policy.graph_decay >= policy.graph_floor
    ]
    reached = sources.graph.activate(
        tx,
        {one.key: min(1.0, one.score) for one in seeds},
        scope=query.scope,
        filters=query.filters,
        limit=policy.candidates,
        hops=plan.hops,
        decay=policy.graph_decay,
        floor=policy.graph_floor,
        through_entities=policy.graph_through_entities,
    )
    return Signal(name=GRAPH, gained={one.key: plan.graph_bonus * one.score for one in reached})


def _neighbours(tx: Transaction, ranked: Sequence[Fused], query: Query, sources: Sources) -> Signal:
    """Return what lifts the neighbours of the best to a share of the best's own score."""
    reached = sources.graph.activate(
        tx,
        {one.key: min(1.0, one.score) for one in ranked[:LINKED_FROM]},
        scope=query.scope,
        filters=query.filters,
        limit=sources.policy.candidates,
        hops=1,
        decay=sources.policy.linked_share,
        floor=0.0,
        through_entities=False,
    )
    own = {one.key: one.score for one in ranked}
    gained = {one.key: one.score - own.get(one.key, 0.0) for one in reached}
    return Signal(name=LINKED, gained={key: more for key, more in gained.items() if more > 0})
