"""
The step `patterns`: what was said often enough, in variations, becomes one piece of knowledge.

Runs after `merge`, which has taken out what says exactly the same. The knowledge is stated in the words of
the statement that the others have in common, which becomes semantic and rests on them: nothing is invented.
The variations stay, and recall shows them only where the knowledge itself is not shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from engramdb.dream.merge import find_stars, similar_stars
from engramdb.dream.neighbors import changed_scopes
from engramdb.dream.step import Derive, Dreaming, Proposal
from engramdb.text.dates import dated
from engramdb.values import Layer, Memory, MemoryId

PATTERN_CONFIDENCE = 0.8
"""How sure statements must be together: one minus the chance that all of them are wrong."""

MAKER = "dream.patterns/1"
SOURCES_AT_ONCE = 16
"""Statements that one proposal links: what is written together must not hold up others."""


class PatternsStep(Struct, frozen=True):
    """Turns repeated statements into knowledge."""

    name: str = "patterns"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield one piece of knowledge for every cluster of variations."""
        for scene in changed_scopes(dreaming):
            place_of = {one.id: place for place, one in enumerate(scene.outlines)}
            taken = {place_of[id_] for one in scene.outlines for id_ in one.episodes if id_ in place_of}
            found = find_stars(scene, taken=frozenset(taken))
            above = dreaming.policy.dream.pattern_above
            clusters = list(similar_stars(scene, found, dreaming, at_least=above))
            yield from _propose_patterns(clusters, dreaming)


def _propose_patterns(clusters: list[tuple[Memory, list[Memory]]], dreaming: Dreaming) -> Iterator[Derive]:
    """Yield the knowledge of each cluster; a statement supports one, and knowledge supports none."""
    gone: set[MemoryId] = set()
    clusters.sort(key=lambda cluster: not cluster[0].provenance.episodes)  # stable: the widest stay first
    for core, supporting in clusters:
        left = [one for one in supporting if one.id not in gone and not one.provenance.episodes]
        members = [one for one in left if one.type is core.type]
        if core.id not in gone and _has_enough_evidence(core, members, dreaming):
            gone.update((core.id, *(one.id for one in members)))
            said = sum(one.evidence_count for one in (core, *members))
            for begin in range(0, len(members), SOURCES_AT_ONCE):
                yield _propose_knowledge(core, members[begin : begin + SOURCES_AT_ONCE], said=said)


def _has_enough_evidence(core: Memory, members: Sequence[Memory], dreaming: Dreaming) -> bool:
    """Return whether it was stated often and surely enough; what is knowledge already may gain one more."""
    if not members:
        return False
    policy, every = dreaming.policy.dream, (core, *members)
    sureness = 1 - math.prod(1 - one.confidence for one in every)
    is_often = (
        bool(core.provenance.episodes) or sum(one.evidence_count for one in every) >= policy.pattern_least
    )
    return is_often and sureness > PATTERN_CONFIDENCE


def _propose_knowledge(core: Memory, members: Sequence[Memory], *, said: int) -> Derive:
    sources = (core, *members)
    return Derive(
        content=dated(core),
        sources=sources,
        layer=Layer.SEMANTIC,
        type=core.type,
        kind=core.kind,
        category=core.category,
        confidence=sum(one.confidence for one in sources) / len(sources),
        maker=MAKER,
        reason=f"said {said} times, in variations",
    )
