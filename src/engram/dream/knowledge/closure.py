"""
Follow a relation that carries on from link to link, and say how certain its ends are.

Called by the step `inference`; pure. A chain is as certain as all its links together, and less with every
further one. Whatever stands in a circle concludes nothing: if A is part of B and B of A, one of the two is
wrong. The work is bounded for each start, so the whole grows with the number of starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engram.policy.knowledge import KnowledgePolicy

WIDEST = 20
"""Links that are followed from one node, the most certain."""
MOST_REACHED = 200
"""Nodes that are reached from one start."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A start and an end that follow from a chain of links, and how certain that is."""

    path: tuple[int, ...]
    certainty: float

    @property
    def start(self) -> int:
        """Where the chain begins."""
        return self.path[0]

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.path[-1]

    def beats(self, other: Conclusion | None) -> bool:
        """Say whether it is more certain than another chain, or there is no other."""
        return other is None or self.certainty > other.certainty


def conclusions(links: Mapping[int, Mapping[int, float]], policy: KnowledgePolicy) -> Iterator[Conclusion]:
    """
    Yield what follows over two links or more, for each start the most certain first.

    `links` maps the number of a node to those that the relation leads to, with a certainty each. What a
    link says itself is no conclusion.
    """
    for start in sorted(links):
        reached = _reached(start, links, policy)
        if start in reached:
            continue  # a circle
        found = [
            one
            for one in reached.values()
            if one.end not in links[start] and one.certainty >= policy.inference_least
        ]
        yield from sorted(found, key=lambda one: (-one.certainty, one.path))[: policy.inference_fan]


def _reached(
    start: int, links: Mapping[int, Mapping[int, float]], policy: KnowledgePolicy
) -> dict[int, Conclusion]:
    """Return the best chain to every node that one leads to; to the start itself, if there is a circle."""
    best: dict[int, Conclusion] = {}
    edge: dict[int, Conclusion] = {start: Conclusion((start,), 1.0)}
    for hop in range(policy.inference_hops):
        further: dict[int, Conclusion] = {}
        for one in edge.values():
            for longer in _longer(one, links, damping=policy.inference_damping if hop else 1.0):
                if longer.end == start:
                    best[start] = longer
                elif longer.beats(best.get(longer.end)) and longer.beats(further.get(longer.end)):
                    further[longer.end] = longer
        best |= further
        edge = further
        if not edge or len(best) > MOST_REACHED:
            break
    return best


def _longer(
    chain: Conclusion, links: Mapping[int, Mapping[int, float]], *, damping: float
) -> list[Conclusion]:
    """Return the chain with one link more, for the most certain links that leave its end."""
    targets = links.get(chain.end, {})
    strongest = sorted(targets, key=lambda target: (-targets[target], target))[:WIDEST]
    return [
        Conclusion((*chain.path, target), chain.certainty * targets[target] * damping) for target in strongest
    ]
