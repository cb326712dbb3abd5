"""
Link memories of different contexts that speak of the same two things.

A step of the dream. A pair of entities that turns up in the kitchen and again in a contract connects the two;
a pair that turns up twice in one conversation connects nothing new. Contexts differ when the topics do and
the session does. Each context gives its weightiest memory, linked to that of the next context: a chain, so
that the number of links grows with the number of memories.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from engram.dream.knowledge.ground import grounded, scopes
from engram.dream.proposal import Link
from engram.text.mentions import mentions
from engram.text.topics import TOPIC_CHANGED_BELOW, overlap, topic_terms
from engram.values import EdgeType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.dream.proposal import Proposal
    from engram.dream.step import Dreaming
    from engram.store.contract.gleanings import Mentions
    from engram.values import Memory

MOST_ENTITIES = 6
"""Of one memory, the rarest: a memory that names more is a list."""
MOST_OF_PAIR = 20
"""Memories of one pair that are looked at, the newest."""

Pair = tuple[int, int]
Topics = dict[str, frozenset[str]]
"""What memories are about, by id: a memory is looked at for every pair that it names."""


@dataclass(frozen=True, slots=True)
class Context:
    """A context that a pair turns up in: its topics, and the memory that stands for it."""

    memory: Memory
    topics: frozenset[str]

    def is_other(self, memory: Memory, topics: frozenset[str]) -> bool:
        """Say whether a memory belongs to another context than this."""
        session = self.memory.provenance.session
        is_same_talk = session is not None and session == memory.provenance.session
        return not is_same_talk and overlap(self.topics, topics) < TOPIC_CHANGED_BELOW


class BridgesStep:
    """Links across contexts."""

    name = "bridges"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield the links, pair by pair."""
        for scope in scopes(dreaming, changed=True):
            with dreaming.store.read() as tx:
                spoken = tx.gleanings.mentions(scope=scope)
            bridged: set[frozenset[str]] = set()
            topics: Topics = {}
            for keys in _pairs(spoken, most=dreaming.policy.knowledge.bridge_mentions_most).values():
                for link in _links(dreaming, keys, topics):
                    ends = frozenset({link.source.id, link.target.id})
                    if ends not in bridged:
                        bridged.add(ends)
                        yield link


def _pairs(spoken: Mentions, *, most: int) -> dict[Pair, list[int]]:
    """Return the pairs of entities that two memories or more speak of, with those memories, oldest first."""
    entities, counts = np.unique(spoken.entities, return_counts=True)
    often = dict(zip(entities.tolist(), counts.tolist(), strict=True))
    named: defaultdict[int, list[int]] = defaultdict(list)
    for memory, entity in zip(spoken.memories.tolist(), spoken.entities.tolist(), strict=True):
        if 1 < often[entity] <= most:
            named[memory].append(entity)
    found: defaultdict[Pair, list[int]] = defaultdict(list)
    for memory, some in named.items():
        rarest = sorted(some, key=lambda entity: (often[entity], entity))[:MOST_ENTITIES]
        for one, other in combinations(sorted(rarest), 2):
            found[one, other].append(memory)
    return {pair: found[pair] for pair in sorted(found) if len(found[pair]) > 1}


def _links(dreaming: Dreaming, keys: Sequence[int], topics: Topics) -> Iterator[Link]:
    """Yield links between the contexts that these memories, all of one pair, belong to."""
    with dreaming.store.read() as tx:
        memories = grounded(tx, keys[-MOST_OF_PAIR:])
        contexts = _contexts(list(memories.values()), topics, most=dreaming.policy.knowledge.bridge_contexts)
        linked = {
            frozenset({edge.source, edge.target}) for one in contexts for edge in tx.edges.of(one.memory.id)
        }
    for one, other in pairwise(contexts):
        if frozenset({one.memory.id, other.memory.id}) not in linked:
            yield Link(
                source=one.memory,
                target=other.memory,
                type=EdgeType.RELATED_TO,
                weight=dreaming.policy.knowledge.bridge_weight,
                reason="the same two things in another context",
            )


def _topics(memory: Memory) -> frozenset[str]:
    """Return what a memory is about besides the things that it names."""
    named = [topic_terms(one.text) for one in mentions(memory.content, speaker=memory.provenance.speaker)]
    return topic_terms(memory.content).difference(*named)


def _contexts(memories: Sequence[Memory], topics: Topics, *, most: int) -> list[Context]:
    """Return the contexts of these memories, each with its weightiest memory, in the order of time."""
    found: list[Context] = []
    for memory in sorted(memories, key=lambda one: (-one.importance * one.confidence, one.id)):
        if memory.id not in topics:
            topics[memory.id] = _topics(memory)
        about = topics[memory.id]
        if len(found) < most and all(one.is_other(memory, about) for one in found):
            found.append(Context(memory, about))
    return sorted(found, key=lambda one: (one.memory.when, one.memory.id))
