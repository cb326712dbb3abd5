"""
Conclude A → C from A → B and B → C, where the relation carries on.

A step of the dream; `transitive` reads relations out of statements, `closure` follows them. A conclusion is a
memory of its own, inferred from every statement of its chain and less certain than any; between linked
memories it is a link. It is drawn from what was stated only, never from other conclusions, never against what
was stated, and taken back when a statement of the chain no longer holds.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from engram.dream.knowledge.closure import conclusions
from engram.dream.knowledge.ground import changed, earlier, grounded, scopes, statements, withdrawn
from engram.dream.knowledge.transitive import carried
from engram.dream.proposal import Derive, Link, Restatus
from engram.values import EdgeType, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.dream.knowledge.closure import Conclusion
    from engram.dream.knowledge.transitive import Carried
    from engram.dream.proposal import Proposal
    from engram.dream.step import Dreaming
    from engram.values import Memory, Scope

MAKER = "dream.inference/1"
_FOLLOWED = (EdgeType.CAUSED_BY, EdgeType.INSTANCE_OF, EdgeType.SUPPORTS)


@dataclass(slots=True)
class Relations:
    """What the statements of one scope say by one relation, as a graph of numbered names."""

    numbers: dict[str, int] = field(default_factory=dict)
    links: dict[int, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    said: dict[tuple[int, int], tuple[Carried, Memory]] = field(default_factory=dict)
    denied: set[tuple[int, int]] = field(default_factory=set)

    def add(self, found: Carried, memory: Memory) -> None:
        """Take in one statement; of several that say the same, the most certain counts."""
        one, other = self.ends(found)
        if found.is_denied:
            self.denied.add((one, other))
        elif one != other and memory.confidence > self.links[one].get(other, 0.0):
            self.links[one][other] = memory.confidence
            self.said[one, other] = (found, memory)

    def ends(self, found: Carried) -> tuple[int, int]:
        """Return the numbers of the two things that a statement relates."""
        one, other = (self.numbers.setdefault(name, len(self.numbers)) for name in found.ends)
        return one, other

    def chain(self, path: Sequence[int]) -> list[tuple[Carried, Memory]]:
        """Return the statements along a path."""
        return [self.said[pair] for pair in pairwise(path)]


class InferenceStep:
    """What follows from what, over at most a few statements."""

    name = "inference"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield conclusions from statements, then links between memories that are linked by others."""
        for scope in scopes(dreaming, changed=True):
            yield from _from_statements(dreaming, scope)
        yield from _from_links(dreaming)


def _from_statements(dreaming: Dreaming, scope: Scope) -> Iterator[Proposal]:
    relations = _read(dreaming, scope)
    known = earlier(dreaming, MAKER, scope)
    by_content = {one.memory.content: one for one in known}
    kept: set[str] = set()
    for predicate in sorted(relations):
        graph = relations[predicate]
        for found in conclusions(graph.links, dreaming.policy.knowledge):
            new = _concluded(dreaming, graph, found)
            before = by_content.get(new.content)
            if _is_denied(dreaming, graph, found, new):
                continue
            kept |= set() if before is None else {before.memory.id}
            proposed = changed(new, before)
            if proposed is not None:
                yield proposed
    yield from withdrawn(known, but=kept)
    yield from _disproved(relations, [one.memory for one in known if one.may_change])


def _read(dreaming: Dreaming, scope: Scope) -> dict[str, Relations]:
    """Return the relations that statements of a scope which hold now speak of, by predicate."""
    found: defaultdict[str, Relations] = defaultdict(Relations)
    for _, memory in statements(dreaming, scope):
        relation = carried(memory)
        if relation is not None and (memory.valid_to is None or memory.valid_to > dreaming.now):
            found[relation.predicate].add(relation, memory)
    return found


def _concluded(dreaming: Dreaming, graph: Relations, found: Conclusion) -> Derive:
    chain = graph.chain(found.path)
    (first, _), (last, _) = chain[0], chain[-1]
    return Derive(
        content=f"{first.subject} {first.phrase} {last.object}",
        sources=tuple(memory for _, memory in chain),
        category="fact",
        confidence=min(dreaming.policy.knowledge.inference_most, found.certainty),
        edge=EdgeType.INFERRED_FROM,
        maker=MAKER,
        reason=f"follows from {len(chain)} statements in a chain",
    )


def _is_denied(dreaming: Dreaming, graph: Relations, found: Conclusion, new: Derive) -> bool:
    """Say whether something that was stated speaks against a conclusion."""
    if (found.start, found.end) in graph.denied:
        return True
    first, last = graph.chain(found.path)[0][0], graph.chain(found.path)[-1][0]
    assumed = new.sources[0].evolve(
        content=new.content, subject=first.subject, predicate=first.predicate, object=last.object
    )
    known = [graph.said[found.start, other][1] for other in graph.links[found.start]]
    return any(dreaming.contradict(assumed, memory) for memory in known)


def _disproved(relations: dict[str, Relations], made: Sequence[Memory]) -> Iterator[Restatus]:
    """Yield the withdrawal of conclusions that somebody has denied since."""
    for memory in made:
        relation = carried(memory)
        graph = None if relation is None else relations.get(relation.predicate)
        if relation is not None and graph is not None and graph.ends(relation) in graph.denied:
            yield Restatus(memory=memory, status=Status.INVALIDATED, reason="the contrary was stated")


def _from_links(dreaming: Dreaming) -> Iterator[Link]:
    """Yield a link from the first to the last memory of a chain of links of one type, in any scope."""
    with dreaming.store.read() as tx:
        columns = tx.gleanings.links([*_FOLLOWED, EdgeType.INFERRED_FROM])
    linked = set(zip(columns.sources.tolist(), columns.targets.tolist(), strict=True))
    by_type: dict[str, dict[int, dict[int, float]]] = {kind: defaultdict(dict) for kind in _FOLLOWED}
    rows = zip(
        columns.sources.tolist(), columns.targets.tolist(), columns.types, columns.weights, strict=True
    )
    for source, target, kind, weight in rows:
        if kind in by_type:
            by_type[kind][source][target] = float(weight)
    for kind in _FOLLOWED:
        for found in conclusions(by_type[kind], dreaming.policy.knowledge):
            if (found.start, found.end) not in linked:
                yield from _shortcut(dreaming, found, kind)


def _shortcut(dreaming: Dreaming, found: Conclusion, kind: EdgeType) -> Iterator[Link]:
    with dreaming.store.read() as tx:
        path = grounded(tx, found.path)
    if len(path) == len(found.path):
        yield Link(
            source=path[found.start],
            target=path[found.end],
            type=EdgeType.INFERRED_FROM,
            weight=min(dreaming.policy.knowledge.inference_most, found.certainty),
            reason=f"linked over {len(found.path) - 1} links {kind}",
        )
