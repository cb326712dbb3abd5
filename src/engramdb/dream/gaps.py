"""The step `gaps`: what should be known and is not, as questions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct

from engramdb.dream.step import Dreaming, Proposal, SideWrite
from engramdb.lifecycle.questions import (
    CONTRADICTED,
    DISPUTED,
    contradiction_question,
    doubt_question,
    gap_id,
    shorten_name,
    stale_question,
)
from engramdb.store.contract import Transaction
from engramdb.text.lexicons import registry
from engramdb.text.names import fold_name
from engramdb.text.normalize import lazy
from engramdb.values import ActorKind, EdgeType, Entity, EntityType, Gap, GapKind, Memory, Scope

GAP_MENTIONS = 3
"""Mentions that make an entity worth asking about."""


class ExpectedField(Struct, frozen=True, kw_only=True):
    """Something that is usually known, by which predicates and words it shows, and how to ask for it."""

    name: str
    question: str
    predicates: frozenset[str]
    cues: re.Pattern[str]
    weight: float
    """How much its lack matters, 0 to 1."""


def _expected_field(name: str, question: str, predicates: str, cues: str, weight: float) -> ExpectedField:
    pattern = lazy(rf"\b(?:{cues})", re.IGNORECASE)
    return ExpectedField(
        name=name, question=question, predicates=frozenset(predicates.split()), cues=pattern, weight=weight
    )


EXPECTED_FIELDS = {
    EntityType(kind): tuple(_expected_field(**one) for one in fields)
    for kind, fields in registry("gaps").items()
}
"""By what sort of thing an entity is; the others have no fields that everyone would know."""


# Notice what should be known and is not: a field that is missing, a contradiction that no one settled.
#
# Runs after `contradictions` and `profiles`; reads entities by scope, asks the weightiest questions first,
# and closes those whose answer has come in. Old beliefs are asked about by `probe`; here their questions
# are closed once they are confirmed. Flagged and confidential sources raise no question.

MAX_MEMORIES_READ = 200
"""How many of the newest memories about an entity are read for what is known of it."""
MAX_MEMORIES_NAMED = 5
"""How many of them a question names; it goes when any of those is forgotten."""
MAX_ENTITIES = 500
"""Entities of a scope that one run looks at, the most mentioned."""
MAX_PAIRS = 500
MENTIONS_FULL = 20
"""An entity with this many mentions has full weight."""


class GapsStep:
    """The step `gaps`."""

    name = "gaps"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield questions to close, and then the weightiest that are not asked yet, scope by scope."""
        with dreaming.store.read() as tx:
            scopes = dreaming.among(tx.tree.scopes())
        for scope in scopes:
            if dreaming.is_stopped():
                return
            with dreaming.store.read() as tx:
                found = _find_questions(tx, scope, dreaming)
                settled = list(_answered_questions(tx, scope, found))
                new = _questions_to_ask(tx, scope, found, settled, max_open=dreaming.policy.insight.gap_most)
            for gap, because in settled:
                yield close_question(gap, because, dreaming)
            for gap in new:
                yield ask_question(gap)


def ask_question(gap: Gap) -> SideWrite:
    """Return the proposal to ask a question."""
    return SideWrite(
        what="question",
        about=gap.memories,
        reason=f"{gap.kind.replace('_', ' ')}: a question is open",
        write=lambda tx: tx.gaps.put(gap),
    )


def close_question(gap: Gap, because: str, dreaming: Dreaming) -> SideWrite:
    return SideWrite(
        what="answer",
        about=gap.memories,
        reason=because,
        write=lambda tx: tx.gaps.close(gap.id, at=dreaming.now, by=ActorKind.RULE, because=because),
    )


def _questions_to_ask(
    tx: Transaction,
    scope: Scope,
    found: Mapping[str, Gap],
    settled: Sequence[tuple[Gap, str]],
    *,
    max_open: int,
) -> list[Gap]:
    """Return the questions to ask now, as many as there is room for."""
    is_open = {gap.id for gap in tx.gaps.open_in(scope)} - {gap.id for gap, _ in settled}
    best = sorted(found.values(), key=lambda gap: (-gap.priority, gap.id))
    room = max(0, max_open - len(is_open))
    fresh = [gap for gap in best if gap.id not in is_open and tx.gaps.is_news(gap)][:room]
    changed = [gap for gap in best if gap.id in is_open and tx.gaps.is_news(gap)]
    return [*changed, *fresh]


def _answered_questions(tx: Transaction, scope: Scope, found: Mapping[str, Gap]) -> Iterator[tuple[Gap, str]]:
    """Yield the open questions that need no answer any more, and why."""
    for gap in tx.gaps.open_in(scope):
        memories = [tx.memories.get(memory, scope=scope) for memory in gap.memories]
        living = [one for one in memories if one is not None and not one.status.is_terminal]
        if gap.id in found:
            continue  # there is ground for it still, if another than before
        if len(living) < len(gap.memories):
            yield gap, "what it was about is settled"
        elif gap.kind in (GapKind.STALE, GapKind.MISSING_FILES) and any(
            _confirmed_since(one, gap) for one in living
        ):
            yield gap, "it was confirmed"
        elif gap.kind in (GapKind.MISSING_FIELD, GapKind.CONTRADICTION, GapKind.DOUBT):
            yield gap, "it was answered"


def _confirmed_since(memory: Memory, gap: Gap) -> bool:
    return memory.confirmed_at is not None and memory.confirmed_at > gap.found_at


def _find_questions(tx: Transaction, scope: Scope, dreaming: Dreaming) -> dict[str, Gap]:
    """Return every question that there is ground for now, by id."""
    missing = partial(_missing_fields, tx, scope, dreaming)
    kinds = list(EXPECTED_FIELDS)
    least = GAP_MENTIONS
    spoken_of = tx.gaps.mentioned_entities(scope, kinds, least=least, limit=MAX_ENTITIES)
    gaps = [gap for entity_id, keys in spoken_of.items() for gap in missing(entity_id, keys)]
    gaps += _contradiction_questions(tx, scope, dreaming)
    return {gap.id: gap for gap in gaps}


def _missing_fields(
    tx: Transaction, scope: Scope, dreaming: Dreaming, entity_id: str, keys: Sequence[int]
) -> Iterator[Gap]:
    """Yield a question for each field of an entity that no memory fills."""
    entity = tx.entities.get(entity_id, scope=scope)
    if entity is None or entity.scope != scope:
        return
    memories = tx.memories.by_keys(keys[:MAX_MEMORIES_READ])
    told = [memories[key] for key in keys[:MAX_MEMORIES_READ]]
    weight = math.log1p(len(keys)) / math.log1p(MENTIONS_FULL)
    for field in EXPECTED_FIELDS[entity.type]:
        if not any(fills_field(memory, entity, field) for memory in told):
            yield Gap(
                id=gap_id(scope, GapKind.MISSING_FIELD, entity.id, field.name),
                kind=GapKind.MISSING_FIELD,
                question=field.question.format(shorten_name(entity.name)),
                scope=scope,
                memories=tuple(memory.id for memory in told[:MAX_MEMORIES_NAMED]),
                priority=round(0.7 * field.weight * min(1.0, weight), 2),
                found_at=dreaming.now,
            )


def fills_field(memory: Memory, entity: Entity, field: ExpectedField) -> bool:
    """Return whether a memory that mentions an entity tells the field, by its relation or by its words."""
    if memory.predicate in field.predicates and _is_about(memory, entity):
        return True
    return field.cues.search(memory.content) is not None


def _is_about(memory: Memory, entity: Entity) -> bool:
    """Return whether the entity is what the memory states something of, under any of its names."""
    said = f" {fold_name(memory.subject or '', entity.type)} "
    return any(f" {fold_name(name, entity.type)} " in said for name in (entity.name, *entity.aliases))


def _contradiction_questions(tx: Transaction, scope: Scope, dreaming: Dreaming) -> list[Gap]:
    """Return a question for every pair that contradicts, every doubt, and every other disputed memory."""
    pairs = tx.gaps.linked_in(scope, EdgeType.CONTRADICTS, limit=MAX_PAIRS)
    doubts = tx.gaps.linked_in(scope, EdgeType.DOUBTS, limit=MAX_PAIRS)
    explained = {key for pair in pairs for key in pair} | {doubtful for _, doubtful in doubts}
    alone = set(tx.gaps.challenged_in(scope, limit=MAX_PAIRS)) - explained
    linked = {key for pair in (*pairs, *doubts) for key in pair}
    memories = tx.memories.by_keys(sorted(alone | linked))
    found = [
        contradiction_question(memories[first], memories[second], priority=CONTRADICTED, now=dreaming.now)
        for first, second in pairs
        if not _is_flagged(memories[first], memories[second])
    ]
    found += [
        doubt_question(memories[change], memories[doubtful], now=dreaming.now)
        for change, doubtful in doubts
        if not _is_flagged(memories[change], memories[doubtful])
    ]
    disputed = [memories[key] for key in sorted(alone) if not _is_flagged(memories[key])]
    disputed = [one for one in disputed if not _is_asked_otherwise(tx, one)]
    return found + [
        contradiction_question(one, None, priority=DISPUTED, now=dreaming.now) for one in disputed
    ]


def _is_asked_otherwise(tx: Transaction, memory: Memory) -> bool:
    """Return whether another kind of question asks already whether a memory holds, or was not answered."""
    open_ones = tx.gaps.open_about([memory.id], scope=memory.scope)
    if any(gap.kind.is_about_words and gap.kind is not GapKind.CONTRADICTION for gap in open_ones):
        return True
    return tx.gaps.is_settled_by_person(stale_question(memory, priority=0.0, now=memory.created_at).id)


def _is_flagged(*memories: Memory) -> bool:
    return any(memory.is_suspicious for memory in memories)
