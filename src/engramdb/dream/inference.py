"""The step `inference`: conclude A → C from A → B and B → C."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import UNSET, Struct, field

from engramdb.dream.ground import (
    earlier_derivations,
    propose_if_changed,
    propose_withdrawals,
    scopes_to_visit,
    usable_by_key,
    usable_statements,
)
from engramdb.dream.step import AddLink, Derive, Dreaming, Proposal, Restatus
from engramdb.erasable_cache import cached
from engramdb.lifecycle.pair_rules import contradicts
from engramdb.policy.dream import KnowledgePolicy
from engramdb.text.mentions import type_of
from engramdb.text.names import fold_name
from engramdb.text.normalize import lazy
from engramdb.values import EdgeType, EntityType, Memory, Scope, Status

MAX_HOPS = 5
"""The longest chain of statements that is followed."""
MIN_CERTAINTY = 0.4
"""Below this a conclusion is speculation and is not stated;"""
MAX_CERTAINTY = 0.69
"""above this it would pass for something that was said."""

# Read relations that carry on: what is part of what, where it lies, who reports to whom, what depends on
# what.
#
# Cautious: a whole short sentence in the present tense between two plain names or nouns, nothing around it,
# no pronoun, no condition. Everything else says nothing here, however clear it is to a reader.

_THING = r"[\w./@#+-]+(?: [\w./@#+-]+){0,4}"
_IS = r"(?:is|are)(?P<no{0}> not|n['’]t)? "
_DOES = r"(?:do|does)(?P<not{0}> not|n['’]t) "
_VERBS = {
    "part_of": _IS.format(0) + r"(?:an? )?(?:integral |core )?(?:part|component|module|subsystem) of",
    "located_in": _IS.format(1) + r"(?:located|situated|based) in",
    "in_place": _IS.format(2) + r"in",
    "kind_of": _IS.format(3) + r"an? (?:kind|type|sort|form) of",
    "reports_to": rf"(?:reports?|{_DOES.format(4)}report) to",
    "depends_on": rf"(?:depends?|{_DOES.format(5)}depend) on",
}
_SENTENCE = lazy(
    rf"(?P<subject>{_THING}?) (?P<verb>"
    + "|".join(f"(?P<{name}>{verb})" for name, verb in _VERBS.items())
    + rf") (?P<object>{_THING})\.?",
    re.IGNORECASE,
)
_NAMED = {
    **dict.fromkeys(("part_of", "is_part_of", "belongs_to", "component_of"), ("part_of", "is part of")),
    **dict.fromkeys(("located_in", "is_located_in", "situated_in"), ("located_in", "is located in")),
    **dict.fromkeys(("reports_to",), ("reports_to", "reports to")),
    **dict.fromkeys(("depends_on", "is_dependent_on"), ("depends_on", "depends on")),
    **dict.fromkeys(("kind_of", "subclass_of", "type_of", "is_a_kind_of"), ("kind_of", "is a kind of")),
}
"""What an extractor may call these relations, and how they are said."""
_UNCLEAR = frozenset(
    "i me my we us our you your he him his she her they them their it its this that these those there here "  # noqa: SIM905
    "one who what which where when if unless maybe perhaps probably and or but not no never only also "
    "currently formerly previously until was were be being been every some any".split()
)
_MAX_CHARACTERS = 200


class StatedRelation(Struct, frozen=True):
    """One thing, a relation that carries on, and another thing."""

    subject: str
    predicate: str
    object: str
    phrase: str
    """How the relation was said between the two."""
    is_denied: bool = False

    @property
    def ends(self) -> tuple[str, str]:
        """The two things in the form in which two ways of writing them are equal."""
        return fold_name(self.subject), fold_name(self.object)


def parse_relation(memory: Memory) -> StatedRelation | None:
    """Return the relation that a memory states, by its own words or by how an extractor put it, or None."""
    return _relation_from_words(memory.told) or _relation_from_fields(memory)


def _relation_from_fields(memory: Memory) -> StatedRelation | None:
    meant = _NAMED.get((memory.predicate or "").casefold())
    if meant is None or memory.subject is None or memory.object is None:
        return None
    found = StatedRelation(memory.subject, meant[0], memory.object, meant[1])
    return found if _names_one_thing(memory.subject) and _names_one_thing(memory.object) else None


def _relation_from_words(content: str) -> StatedRelation | None:
    if len(content) > _MAX_CHARACTERS:
        return None
    told = _SENTENCE.fullmatch(" ".join(content.split()))
    if told is None or not (_names_one_thing(told["subject"]) and _names_one_thing(told["object"])):
        return None
    name = next(one for one in _VERBS if told[one])
    is_denied = any(value for key, value in told.groupdict().items() if key.startswith("no") and value)
    if name == "in_place":
        if not (told["subject"][0].isupper() and _is_place(told["object"])):
            return None
        name = "located_in"
    return StatedRelation(told["subject"], name, told["object"], told["verb"], is_denied)


def _names_one_thing(thing: str) -> bool:
    """Return whether a few words name one thing without context."""
    words = thing.casefold().split()
    return 0 < len(words) <= 5 and not any(word in _UNCLEAR for word in words)


@cached(2000)
def _is_place(name: str) -> bool:
    return type_of(name) is EntityType.LOCATION


# Follow a relation that carries on from link to link, and say how certain its ends are.
#
# A chain is as certain as all its links together, and less with every further one. Whatever stands in a
# circle concludes nothing: if A is part of B and B of A, one of the two is wrong. The work is bounded for
# each start, so the whole grows with the number of starts.

MAX_LINKS_PER_NODE = 20
"""Links that are followed from one node, the most certain."""
MAX_REACHED = 200
"""Nodes that are reached from one start."""


class Conclusion(Struct, frozen=True):
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

    def is_more_certain_than(self, other: Conclusion | None) -> bool:
        """Return whether it is more certain than another chain, or there is no other."""
        return other is None or self.certainty > other.certainty


def draw_conclusions(
    links: Mapping[int, Mapping[int, float]], policy: KnowledgePolicy
) -> Iterator[Conclusion]:
    """
    Yield what follows over two links or more, for each start the most certain first.

    `links` maps the number of a node to those that the relation leads to, with a certainty each. What a
    link says itself is no conclusion.
    """
    for start in sorted(links):
        reached = _best_chains(start, links, policy)
        if start in reached:
            continue  # a circle
        found = [
            one for one in reached.values() if one.end not in links[start] and one.certainty >= MIN_CERTAINTY
        ]
        yield from sorted(found, key=lambda one: (-one.certainty, one.path))[: policy.inference_fan]


def _best_chains(
    start: int, links: Mapping[int, Mapping[int, float]], policy: KnowledgePolicy
) -> dict[int, Conclusion]:
    """Return the best chain to every node that one leads to; to the start itself, if there is a circle."""
    best: dict[int, Conclusion] = {}
    edge: dict[int, Conclusion] = {start: Conclusion((start,), 1.0)}
    for hop in range(MAX_HOPS):
        further: dict[int, Conclusion] = {}
        for one in edge.values():
            for longer in _extend_chain(one, links, damping=policy.inference_damping if hop else 1.0):
                if longer.end == start:
                    best[start] = longer
                elif longer.is_more_certain_than(best.get(longer.end)) and longer.is_more_certain_than(
                    further.get(longer.end)
                ):
                    further[longer.end] = longer
        best |= further
        edge = further
        if not edge or len(best) > MAX_REACHED:
            break
    return best


def _extend_chain(
    chain: Conclusion, links: Mapping[int, Mapping[int, float]], *, damping: float
) -> list[Conclusion]:
    """Return the chain with one link more, for the most certain links that leave its end."""
    targets = links.get(chain.end, {})
    strongest = sorted(targets, key=lambda target: (-targets[target], target))[:MAX_LINKS_PER_NODE]
    return [
        Conclusion((*chain.path, target), chain.certainty * targets[target] * damping) for target in strongest
    ]


# Conclude A → C from A → B and B → C, where the relation carries on.
#
# A conclusion is a memory of its own, inferred from every statement of its chain and less certain than any;
# between linked memories it is a link. It is drawn from what was stated only, never from other conclusions,
# never against what was stated, and taken back when a statement of the chain no longer holds.

MAKER = "dream.inference/1"
_FOLLOWED = (EdgeType.CAUSED_BY, EdgeType.INSTANCE_OF, EdgeType.SUPPORTS)


class RelationGraph(Struct):
    """What the statements of one scope say by one relation, as a graph of numbered names."""

    numbers: dict[str, int] = field(default_factory=dict)
    links: dict[int, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    statements: dict[tuple[int, int], tuple[StatedRelation, Memory]] = field(default_factory=dict)
    denied: set[tuple[int, int]] = field(default_factory=set)

    def add(self, found: StatedRelation, memory: Memory) -> None:
        """Add one statement; of several that say the same, the most certain counts."""
        one, other = self.ends(found)
        if found.is_denied:
            self.denied.add((one, other))
        elif one != other and memory.confidence > self.links[one].get(other, 0.0):
            self.links[one][other] = memory.confidence
            self.statements[one, other] = (found, memory)

    def ends(self, found: StatedRelation) -> tuple[int, int]:
        """Return the numbers of the two things that a statement relates."""
        one, other = (self.numbers.setdefault(name, len(self.numbers)) for name in found.ends)
        return one, other

    def chain(self, path: Sequence[int]) -> list[tuple[StatedRelation, Memory]]:
        """Return the statements along a path."""
        return [self.statements[pair] for pair in pairwise(path)]


class InferenceStep:
    """What follows from what, over at most a few statements."""

    name = "inference"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield conclusions from statements, then links between memories that are linked by others."""
        for scope in scopes_to_visit(dreaming, changed=True):
            yield from _conclude_from_statements(dreaming, scope)
        yield from _conclude_from_links(dreaming)


def _conclude_from_statements(dreaming: Dreaming, scope: Scope) -> Iterator[Proposal]:
    relations = _relation_graphs(dreaming, scope)
    known = earlier_derivations(dreaming, MAKER, scope)
    by_content = {one.memory.content: one for one in known}
    kept: set[str] = set()
    for predicate in sorted(relations):
        graph = relations[predicate]
        for found in draw_conclusions(graph.links, dreaming.policy.knowledge):
            new = _propose_conclusion(graph, found)
            before = by_content.get(new.content)
            if _is_denied(graph, found, new):
                continue
            kept |= set() if before is None else {before.memory.id}
            proposed = propose_if_changed(new, before)
            if proposed is not None:
                yield proposed
    yield from propose_withdrawals(known, except_ids=kept)
    yield from _propose_withdrawals(relations, [one.memory for one in known if one.is_replaceable])


def _relation_graphs(dreaming: Dreaming, scope: Scope) -> dict[str, RelationGraph]:
    """Return the relations that statements of a scope which hold now mention, by predicate."""
    found: defaultdict[str, RelationGraph] = defaultdict(RelationGraph)
    for _, memory in usable_statements(dreaming, scope):
        relation = parse_relation(memory)
        if relation is not None and (memory.valid_to is None or memory.valid_to > dreaming.now):
            found[relation.predicate].add(relation, memory)
    return found


def _propose_conclusion(graph: RelationGraph, found: Conclusion) -> Derive:
    chain = graph.chain(found.path)
    (first, _), (last, _) = chain[0], chain[-1]
    return Derive(
        content=f"{first.subject} {first.phrase} {last.object}",
        sources=tuple(memory for _, memory in chain),
        category="fact",
        confidence=min(MAX_CERTAINTY, found.certainty),
        edge=EdgeType.INFERRED_FROM,
        maker=MAKER,
        reason=f"follows from {len(chain)} statements in a chain",
    )


def _is_denied(graph: RelationGraph, found: Conclusion, new: Derive) -> bool:
    """Return whether something that was stated speaks against a conclusion."""
    if (found.start, found.end) in graph.denied:
        return True
    first, last = graph.chain(found.path)[0][0], graph.chain(found.path)[-1][0]
    assumed = new.sources[0].evolve(
        content=new.content,
        private=UNSET,
        subject=first.subject,
        predicate=first.predicate,
        object=last.object,
        is_negated=False,
        replaces=None,
    )
    known = [graph.statements[found.start, other][1] for other in graph.links[found.start]]
    return any(contradicts(assumed, memory) for memory in known)


def _propose_withdrawals(relations: dict[str, RelationGraph], made: Sequence[Memory]) -> Iterator[Restatus]:
    """Yield the withdrawal of conclusions that someone has denied since."""
    for memory in made:
        relation = parse_relation(memory)
        graph = None if relation is None else relations.get(relation.predicate)
        if relation is not None and graph is not None and graph.ends(relation) in graph.denied:
            yield Restatus(memory=memory, status=Status.INVALIDATED, reason="the contrary was stated")


def _conclude_from_links(dreaming: Dreaming) -> Iterator[AddLink]:
    """Yield a link from the first to the last memory of a chain of links of one type, in any scope."""
    with dreaming.store.read() as tx:
        columns = tx.dream_reads.links([*_FOLLOWED, EdgeType.INFERRED_FROM], scope=dreaming.scope)
    linked = set(zip(columns.sources.tolist(), columns.targets.tolist(), strict=True))
    by_type: dict[str, dict[int, dict[int, float]]] = {kind: defaultdict(dict) for kind in _FOLLOWED}
    rows = zip(
        columns.sources.tolist(), columns.targets.tolist(), columns.types, columns.weights, strict=True
    )
    for source, target, kind, weight in rows:
        if kind in by_type:
            by_type[kind][source][target] = float(weight)
    for kind in _FOLLOWED:
        for found in draw_conclusions(by_type[kind], dreaming.policy.knowledge):
            if (found.start, found.end) not in linked:
                yield from _propose_shortcut(dreaming, found, kind)


def _propose_shortcut(dreaming: Dreaming, found: Conclusion, kind: EdgeType) -> Iterator[AddLink]:
    with dreaming.store.read() as tx:
        path = usable_by_key(tx, found.path)
    if len(path) == len(found.path):
        yield AddLink(
            source=path[found.start],
            target=path[found.end],
            type=EdgeType.INFERRED_FROM,
            weight=min(MAX_CERTAINTY, found.certainty),
            reason=f"linked over {len(found.path) - 1} links {kind}",
        )
