"""
Notice what should be known and is not: a field that is missing, a contradiction that nobody settled.

A step of the dream, after the contradictions and the profiles; reads entities by scope, yields a question
each, the weightiest first, and closes those whose answer has come in. Old beliefs are asked about by `probe`;
here their questions are closed once they are confirmed. Flagged and confidential sources raise no question.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from engram.dream.insight.questions import INJECTION, contradiction, gap_id, shortened
from engram.dream.insight.templates import TEMPLATES, Field
from engram.dream.proposal import Note
from engram.text.entity_names import fold_name
from engram.values import ActorKind, Gap, GapKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.dream.proposal import Proposal
    from engram.dream.step import Dreaming
    from engram.store.contract import Transaction
    from engram.values import Entity, Memory, Scope

READ_MOST = 200
"""Of the memories that speak of an entity, so many of the newest are read for what is known of it."""
ABOUT_MOST = 5
"""So many of them a question names; it goes when any of those is forgotten."""
ENTITIES_MOST = 500
"""So many entities of a scope are looked at a run, those most spoken of."""
PAIRS_MOST = 500
MENTIONS_FULL = 20
"""Whoever so many memories speak of could hardly matter more."""
CONTRADICTED = 0.9
DISPUTED = 0.8


class GapsStep:
    """The step `gaps`."""

    name = "gaps"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield questions to close, and then the weightiest that are not asked yet, scope by scope."""
        with dreaming.store.read() as tx:
            scopes = tx.tree.scopes()
        for scope in scopes:
            if dreaming.is_stopped():
                return
            with dreaming.store.read() as tx:
                found = _found(tx, scope, dreaming)
                settled = list(_settled(tx, scope, found))
                new = _news(tx, scope, found, settled, most=dreaming.policy.insight.gap_most)
            for gap, because in settled:
                yield _closing(gap, because, dreaming)
            for gap in new:
                yield asking(gap)


def asking(gap: Gap) -> Note:
    """Return the proposal to ask a question."""
    return Note(
        what="question",
        about=gap.memories,
        reason=f"{gap.kind.replace('_', ' ')}: a question is open",
        write=lambda tx: tx.gaps.put(gap),
    )


def _closing(gap: Gap, because: str, dreaming: Dreaming) -> Note:
    return Note(
        what="answer",
        about=gap.memories,
        reason=because,
        write=lambda tx: tx.gaps.close(gap.id, at=dreaming.now, by=ActorKind.RULE, because=because),
    )


def _news(
    tx: Transaction,
    scope: Scope,
    found: Mapping[str, Gap],
    settled: Sequence[tuple[Gap, str]],
    *,
    most: int,
) -> list[Gap]:
    """Return the questions to ask now, as many as there is room for."""
    is_open = {gap.id for gap in tx.gaps.open_in(scope)} - {gap.id for gap, _ in settled}
    best = sorted(found.values(), key=lambda gap: (-gap.priority, gap.id))
    room = max(0, most - len(is_open))
    fresh = [gap for gap in best if gap.id not in is_open and tx.gaps.is_news(gap)][:room]
    changed = [gap for gap in best if gap.id in is_open and tx.gaps.is_news(gap)]
    return [*changed, *fresh]


def _settled(tx: Transaction, scope: Scope, found: Mapping[str, Gap]) -> Iterator[tuple[Gap, str]]:
    """Yield the open questions that need no answer any more, and why."""
    for gap in tx.gaps.open_in(scope):
        memories = [tx.memories.get(memory, scope=scope) for memory in gap.memories]
        living = [one for one in memories if one is not None and not one.status.is_terminal]
        if gap.id in found:
            continue  # there is ground for it still, if another than before
        if len(living) < len(gap.memories):
            yield gap, "what it was about is settled"
        elif gap.kind is GapKind.STALE and any(_confirmed_since(one, gap) for one in living):
            yield gap, "it was confirmed"
        elif gap.kind in (GapKind.MISSING_FIELD, GapKind.CONTRADICTION):
            yield gap, "it was answered"


def _confirmed_since(memory: Memory, gap: Gap) -> bool:
    return memory.confirmed_at is not None and memory.confirmed_at > gap.found_at


def _found(tx: Transaction, scope: Scope, dreaming: Dreaming) -> dict[str, Gap]:
    """Return every question that there is ground for now, by id."""
    missing = partial(_missing_of, tx, scope, dreaming)
    kinds = list(TEMPLATES)
    least = dreaming.policy.insight.gap_mentions
    spoken_of = tx.gaps.spoken_of(scope, kinds, least=least, limit=ENTITIES_MOST)
    gaps = [gap for entity_id, keys in spoken_of.items() for gap in missing(entity_id, keys)]
    gaps += _contradictions(tx, scope, dreaming)
    return {gap.id: gap for gap in gaps}


def _missing_of(
    tx: Transaction, scope: Scope, dreaming: Dreaming, entity_id: str, keys: Sequence[int]
) -> Iterator[Gap]:
    """Yield a question for each field of an entity that no memory fills."""
    entity = tx.entities.get(entity_id, scope=scope)
    if entity is None or entity.scope != scope:
        return
    memories = tx.memories.by_keys(keys[:READ_MOST])
    told = [memories[key] for key in keys[:READ_MOST]]
    weight = math.log1p(len(keys)) / math.log1p(MENTIONS_FULL)
    for field in TEMPLATES[entity.type]:
        if not any(fills(memory, entity, field) for memory in told):
            yield Gap(
                id=gap_id(scope, GapKind.MISSING_FIELD, entity.id, field.name),
                kind=GapKind.MISSING_FIELD,
                question=field.question.format(shortened(entity.name)),
                scope=scope,
                memories=tuple(memory.id for memory in told[:ABOUT_MOST]),
                priority=round(0.7 * field.weight * min(1.0, weight), 2),
                found_at=dreaming.now,
            )


def fills(memory: Memory, entity: Entity, field: Field) -> bool:
    """Say whether a memory that speaks of an entity tells the field, by its relation or by its words."""
    if memory.predicate in field.predicates and _is_about(memory, entity):
        return True
    return field.cues.search(memory.content) is not None


def _is_about(memory: Memory, entity: Entity) -> bool:
    """Say whether the entity is what the memory states something of, under any of its names."""
    said = f" {fold_name(memory.subject or '', entity.type)} "
    return any(f" {fold_name(name, entity.type)} " in said for name in (entity.name, *entity.aliases))


def _contradictions(tx: Transaction, scope: Scope, dreaming: Dreaming) -> list[Gap]:
    """Return a question for every pair that contradicts and for every disputed memory outside of a pair."""
    pairs = tx.gaps.contradictions_in(scope, limit=PAIRS_MOST)
    alone = set(tx.gaps.challenged_in(scope, limit=PAIRS_MOST)) - {key for pair in pairs for key in pair}
    memories = tx.memories.by_keys(sorted({*alone, *(key for pair in pairs for key in pair)}))
    found = [
        contradiction(memories[first], memories[second], priority=CONTRADICTED, now=dreaming.now)
        for first, second in pairs
        if not _flagged(memories[first], memories[second])
    ]
    disputed = [memories[key] for key in sorted(alone) if not _flagged(memories[key])]
    return found + [contradiction(one, None, priority=DISPUTED, now=dreaming.now) for one in disputed]


def _flagged(*memories: Memory) -> bool:
    return any(INJECTION in memory.flags for memory in memories)
