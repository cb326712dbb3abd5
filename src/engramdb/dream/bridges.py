"""The step `bridges`: link statements to names that became known later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import combinations, pairwise

import numpy as np
from msgspec import Struct

from engramdb.dream.ground import PAGE_ROWS, is_usable_source, scopes_to_visit, usable_by_key
from engramdb.dream.step import AddLink, Dreaming, Proposal, SideWrite
from engramdb.lifecycle.questions import gap_id
from engramdb.store.contract import Transaction
from engramdb.store.contract.capture import Mentions, UniqueName
from engramdb.text.mentions import mentions, possible_names
from engramdb.text.names import fold_name
from engramdb.text.terms import terms
from engramdb.text.traits import TOPIC_CHANGED_BELOW, overlap, topic_terms
from engramdb.values import EdgeType, Entity, EntityType, Filters, Gap, GapKind, Memory, MemoryId, Scope

MENTIONS_REACH = 2000
"""How many older statements are searched for a name that has just become known."""
MAX_BRIDGE_MENTIONS = 200
"""What more memories than this mention connects nothing."""
BRIDGE_CONTEXTS = 5
"""Contexts of a pair in which a memory is linked to that of the next one."""
BRIDGE_WEIGHT = 0.5
"""Of such a link: more than a mere neighbor, less than what says the same."""

# Link statements to names that became known after them, and ask about two names that may mean the same.
#
# A name at the beginning of a sentence, or in small letters, proves nothing until it is known; what was
# stored before then is linked now, inside its own scope. Two entities are never made one here: that they
# share a name is evidence for a question and no more.

_LINKS_PER_WRITE = 16
_DUPLICATE_PRIORITY = 0.4
_MEMORIES_CHECKED = 20


def propose_late_links(dreaming: Dreaming, scope: Scope) -> Iterator[SideWrite]:
    """Yield links from older statements to the entities whose names they hold."""
    with dreaming.store.read() as tx:
        fresh = tx.dream_reads.names(scope=scope, since=dreaming.since)
    for name in fresh:
        found = [
            memory for memory in _unlinked_statements(dreaming, scope, name) if _uses_as_name(memory, name)
        ]
        for begin in range(0, len(found), _LINKS_PER_WRITE):
            some = found[begin : begin + _LINKS_PER_WRITE]
            yield SideWrite(
                what="mention",
                about=tuple(memory.id for memory in some),
                write=partial(_link_all, name=name, memories=some),
                reason="the name has become known since",
            )


def _unlinked_statements(dreaming: Dreaming, scope: Scope, name: UniqueName) -> Iterator[Memory]:
    """Yield statements that hold the words of a name and are not linked to what it means."""
    words, after, left = _name_terms(name), 0, MENTIONS_REACH
    while words and left > 0:
        with dreaming.store.read() as tx:
            page = tx.dream_reads.unlinked(
                name, words, scope=scope, after_key=after, limit=min(PAGE_ROWS, left)
            )
        yield from (memory for memory in page.values() if is_usable_source(memory))
        if len(page) < min(PAGE_ROWS, left):
            return
        after, left = max(page), left - len(page)


def _name_terms(name: UniqueName) -> list[str]:
    """Return the terms that every way of writing the name has: "Acme Inc." is also called Acme."""
    needed = set(name.folded.split())
    own = " ".join(word for word in name.name.split() if fold_name(word) in needed)
    return list(dict.fromkeys(terms(own or name.folded)))


def _uses_as_name(memory: Memory, name: UniqueName) -> bool:
    """Return whether a statement uses the name as a name."""
    written = [one.text for one in mentions(memory.content, speaker=memory.provenance.speaker)]
    return any(
        fold_name(one, name.type) == name.folded for one in (*written, *possible_names(memory.content))
    )


def _link_all(tx: Transaction, *, name: UniqueName, memories: Sequence[Memory]) -> bool:
    linked = [link_to_entity(tx, name.entity_id, memory, name=name.name) for memory in memories]
    return any(linked)


def link_to_entity(tx: Transaction, entity_id: str, memory: Memory, *, name: str) -> bool:
    """Link a statement to an entity of its scope, where both are still there; return whether that is news."""
    entity = tx.entities.get(entity_id, scope=memory.scope)
    current = tx.memories.get(memory.id, scope=memory.scope)
    if entity is None or entity.scope != memory.scope or current is None or not current.status.is_indexed:
        return False
    return tx.entities.link(entity_id, memory.id, name=name, at=memory.when)


def propose_duplicate_questions(dreaming: Dreaming, scope: Scope) -> Iterator[SideWrite]:
    """Yield a question for every two entities of a scope that may be one."""
    with dreaming.store.read() as tx:
        pairs = {(one, other) for _, one, other in tx.dream_reads.shared_names(scope=scope)}
        pairs |= set(_given_and_full_names(tx.dream_reads.names(scope=scope, since=None)))
        found = [_duplicate_question(tx, pair, scope, now=dreaming.now) for pair in sorted(pairs)]
        asked = [gap for gap in found if gap is not None and tx.gaps.is_news(gap)]
    for gap in asked:
        yield SideWrite(
            what="question",
            about=gap.memories,
            write=partial(_store_question, gap=gap),
            reason="two entities go by one name",
        )


def _store_question(tx: Transaction, *, gap: Gap) -> bool:
    return tx.gaps.put(gap)


def _given_and_full_names(names: Sequence[UniqueName]) -> Iterator[tuple[str, str]]:
    """Yield a person known by a given name alone with the only one whose full name begins with it."""
    full: defaultdict[str, set[str]] = defaultdict(set)
    people = [name for name in names if name.type is EntityType.PERSON and "'s " not in name.folded]
    for name in people:
        if " " in name.folded:
            full[name.folded.split()[0]].add(name.entity_id)
    for name in people:
        others = full[name.folded] - {name.entity_id} if " " not in name.folded else set()
        if len(others) == 1 and len(full[name.folded]) == 1:
            one, other = sorted([name.entity_id, *others])
            yield one, other


def _duplicate_question(tx: Transaction, pair: tuple[str, str], scope: Scope, *, now: datetime) -> Gap | None:
    """Return the question, with a statement about each; None where one has none, or they differ in kind."""
    entities = [tx.entities.get(one, scope=scope) for one in pair]
    one, other = entities
    if one is None or other is None or not _may_be_same_entity(one, other):
        return None
    told = [_statement_about(tx, entity, scope) for entity in (one, other)]
    about = tuple(memory_id for memory_id in told if memory_id is not None)
    if len(about) < len(pair):
        return None
    return Gap(
        id=gap_id(scope, GapKind.INTERFERENCE, "same", *pair),
        kind=GapKind.SAME_ENTITY,
        question=f"Are {one.name} ({one.mentions} notes) and {other.name} ({other.mentions} notes) the same?",
        scope=scope,
        memories=about,
        priority=_DUPLICATE_PRIORITY,
        found_at=now,
    )


def _may_be_same_entity(one: Entity, other: Entity) -> bool:
    return one.type is other.type or EntityType.UNKNOWN in (one.type, other.type)


def _statement_about(tx: Transaction, entity: Entity, scope: Scope) -> MemoryId | None:
    """Return a statement of exactly this scope that mentions an entity and is no secret."""
    keys = tx.entities.memories_of(entity.id, scope=scope, filters=Filters(), limit=_MEMORIES_CHECKED)
    found = [one for one in usable_by_key(tx, keys).values() if one.scope == scope]
    return found[0].id if found else None


# Link memories of different contexts that mention the same two things.
#
# A pair of entities that turns up in the kitchen and again in a contract connects the two; a pair that
# turns up twice in one conversation connects nothing new. Contexts differ when the topics do and the
# session does. Each context gives its weightiest memory, linked to that of the next context: a chain, so
# that the number of links grows with the number of memories.

MAX_ENTITIES = 6
"""Of one memory, the rarest: a memory that names more is a list."""
MAX_MEMORIES_PER_PAIR = 20
"""Memories of one pair that are looked at, the newest."""

Pair = tuple[int, int]
Topics = dict[str, frozenset[str]]
"""What memories are about, by id: a memory is looked at for every pair that it names."""


class BridgeContext(Struct, frozen=True):
    """A context that a pair turns up in: its topics, and the memory that stands for it."""

    memory: Memory
    topics: frozenset[str]

    def differs_from(self, memory: Memory, topics: frozenset[str]) -> bool:
        """Return whether a memory belongs to another context than this."""
        session = self.memory.provenance.session
        is_same_talk = session is not None and session == memory.provenance.session
        return not is_same_talk and overlap(self.topics, topics) < TOPIC_CHANGED_BELOW


class BridgesStep:
    """Links across contexts."""

    name = "bridges"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield the links, pair by pair."""
        for scope in scopes_to_visit(dreaming, changed=True):
            with dreaming.store.read() as tx:
                spoken = tx.dream_reads.mentions(scope=scope)
            bridged: set[frozenset[str]] = set()
            topics: Topics = {}
            for keys in _entity_pairs(spoken, max_mentions=MAX_BRIDGE_MENTIONS).values():
                for link in _propose_links(dreaming, keys, topics):
                    ends = frozenset({link.source.id, link.target.id})
                    if ends not in bridged:
                        bridged.add(ends)
                        yield link


def _entity_pairs(mentions: Mentions, *, max_mentions: int) -> dict[Pair, list[int]]:
    """Return the pairs of entities that two memories or more mention, with those memories, oldest first."""
    entities, counts = np.unique(mentions.entities, return_counts=True)
    often = dict(zip(entities.tolist(), counts.tolist(), strict=True))
    named: defaultdict[int, list[int]] = defaultdict(list)
    for memory, entity in zip(mentions.memories.tolist(), mentions.entities.tolist(), strict=True):
        if 1 < often[entity] <= max_mentions:
            named[memory].append(entity)
    found: defaultdict[Pair, list[int]] = defaultdict(list)
    for memory, some in named.items():
        rarest = sorted(some, key=lambda entity: (often[entity], entity))[:MAX_ENTITIES]
        for one, other in combinations(sorted(rarest), 2):
            found[one, other].append(memory)
    return {pair: found[pair] for pair in sorted(found) if len(found[pair]) > 1}


def _propose_links(dreaming: Dreaming, keys: Sequence[int], topics: Topics) -> Iterator[AddLink]:
    """Yield links between the contexts that these memories, all of one pair, belong to."""
    with dreaming.store.read() as tx:
        memories = usable_by_key(tx, keys[-MAX_MEMORIES_PER_PAIR:])
        contexts = _group_by_context(list(memories.values()), topics, max_contexts=BRIDGE_CONTEXTS)
        linked = {
            frozenset({edge.source, edge.target}) for one in contexts for edge in tx.edges.of(one.memory.id)
        }
    for one, other in pairwise(contexts):
        if frozenset({one.memory.id, other.memory.id}) not in linked:
            yield AddLink(
                source=one.memory,
                target=other.memory,
                type=EdgeType.RELATED_TO,
                weight=BRIDGE_WEIGHT,
                reason="the same two things in another context",
            )


def _topics_of(memory: Memory) -> frozenset[str]:
    """Return what a memory is about besides the things that it names."""
    named = [topic_terms(one.text) for one in mentions(memory.content, speaker=memory.provenance.speaker)]
    return topic_terms(memory.content).difference(*named)


def _group_by_context(
    memories: Sequence[Memory], topics: Topics, *, max_contexts: int
) -> list[BridgeContext]:
    """Return the contexts of these memories, each with its weightiest memory, in the order of time."""
    found: list[BridgeContext] = []
    for memory in sorted(memories, key=lambda one: (-one.importance * one.confidence, one.id)):
        if memory.id not in topics:
            topics[memory.id] = _topics_of(memory)
        about = topics[memory.id]
        if len(found) < max_contexts and all(one.differs_from(memory, about) for one in found):
            found.append(BridgeContext(memory, about))
    return sorted(found, key=lambda one: (one.memory.when, one.memory.id))
