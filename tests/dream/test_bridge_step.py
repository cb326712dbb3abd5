"""The same two things in different contexts connect the memories that speak of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engramdb import Engram, Scope
from engramdb.values import EdgeType, Provenance

from .learnt import links, take, tell

if TYPE_CHECKING:
    from engramdb.values import Memory

KITCHEN = "Anna Schmidt baked a walnut cake with Bob Miller in the kitchen"
CONTRACT = "Anna Schmidt signed the rent contract together with Bob Miller"
CLIMBING = "Anna Schmidt climbed a glacier route behind Bob Miller last summer"


def bridged(engram: Engram, memory: Memory) -> set[str]:
    """What the dream has linked a memory to."""
    related = [edge for edge in links(engram, memory) if edge.type is EdgeType.RELATED_TO]
    return {end for edge in related for end in (edge.source, edge.target)} - {memory.id}


def unlinked(engram: Engram, *memories: Memory) -> None:
    """Take away the links that capture made, to see those of the dream."""
    with engram._parts.store.atomic() as tx:
        for memory in memories:
            for edge in tx.edges.of(memory.id):
                tx.edges.remove(edge.source, edge.target, edge.type)


def test_a_pair_in_two_contexts_is_a_bridge(engram: Engram) -> None:
    """Cake and contract have nothing in common but the two people, and that is what links them."""
    cake, contract = tell(engram, KITCHEN, CONTRACT)
    unlinked(engram, cake, contract)

    report = take(engram, "bridges")

    assert report.counts == {"link": 1}
    assert bridged(engram, cake) == {contract.id}


def test_bridges_are_built_once(engram: Engram) -> None:
    """What is linked, by whomever, is not linked again."""
    found = tell(engram, KITCHEN, CONTRACT, CLIMBING)
    unlinked(engram, *found)
    first = take(engram, "bridges")

    assert first.counts == {"link": 2}
    assert take(engram, "bridges").counts == {}


def test_one_conversation_is_one_context(engram: Engram) -> None:
    """What was said in the same session needs no bridge, whatever the topics."""
    found = tell(engram, KITCHEN, CONTRACT, provenance=Provenance(session="s1"))
    unlinked(engram, *found)

    assert take(engram, "bridges").counts == {}


def test_one_thing_alone_bridges_nothing(engram: Engram) -> None:
    """A single name in common is not enough: half of all memories share one."""
    found = tell(engram, "Anna Schmidt baked a walnut cake", "Anna Schmidt signed the rent contract")
    unlinked(engram, *found)

    assert take(engram, "bridges").counts == {}


def test_bridges_stay_in_a_scope(engram: Engram) -> None:
    """The same two people in two scopes are two pairs of people."""
    cake = tell(engram, KITCHEN, scope=Scope(user="ann"))
    contract = tell(engram, CONTRACT, scope=Scope(user="bob"))
    unlinked(engram, *cake, *contract)

    assert take(engram, "bridges").counts == {}


def test_attacks_and_a_dreams_own_words_are_not_bridged(engram: Engram) -> None:
    """Only what was stated, and stated without warning, is linked."""
    cake, contract, climbing = tell(engram, KITCHEN, CONTRACT, CLIMBING)
    unlinked(engram, cake, contract, climbing)
    with engram._parts.store.atomic() as tx:
        tx.memories.replace(contract.evolve(flags=("injection",)))
        tx.memories.replace(climbing.evolve(extractor="dream.crystals/1"))

    assert take(engram, "bridges").counts == {}
