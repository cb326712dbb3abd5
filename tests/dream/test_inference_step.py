"""What carries on from statement to statement is concluded, no further than it may be, and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Engram, Scope
from engramdb.dream.inference import MAKER, MAX_HOPS, MIN_CERTAINTY, draw_conclusions, parse_relation
from engramdb.policy.dream import KnowledgePolicy
from engramdb.values import ConfidenceTier, Edge, EdgeType, Memory, SecurityTier, Status, new_id

from .dreamt import NOW
from .learnt import contents, links, made, take, tell

if TYPE_CHECKING:
    from engramdb.testing import ManualClock

PARTS = ("The parser is part of the compiler", "The compiler is part of the toolchain")
POLICY = KnowledgePolicy()


def statement(content: str) -> Memory:
    """A memory with just these words."""
    return Memory(id=new_id(NOW), content=content, created_at=NOW, updated_at=NOW)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("The parser is part of the compiler", ("part_of", False)),
        ("Porto is located in Portugal", ("located_in", False)),
        ("Porto is in Portugal", ("located_in", False)),
        ("Ann reports to Bob", ("reports_to", False)),
        ("The web app depends on the API.", ("depends_on", False)),
        ("A whale is a kind of mammal", ("kind_of", False)),
        ("The parser is not part of the compiler", ("part_of", True)),
        ("Ann does not report to Bob", ("reports_to", True)),
    ],
)
def test_relations_that_carry_on_are_read(content: str, expected: tuple[str, bool]) -> None:
    """A plain sentence in the present tense between two names or nouns states such a relation."""
    found = parse_relation(statement(content))

    assert found is not None
    assert (found.predicate, found.is_denied) == expected


@pytest.mark.parametrize(
    "content",
    [
        "The parser was part of the compiler",
        "It is part of the compiler",
        "My phone is in my bag",
        "Ann is in trouble",
        "If it rains the party is part of the plan",
        "The parser is part of the compiler and the linker",
        "I like tea",
        "Success depends on you",
    ],
)
def test_what_is_past_unclear_or_conditional_says_nothing(content: str) -> None:
    """Where a reader would have to know more than the sentence, nothing follows from it."""
    assert parse_relation(statement(content)) is None


def test_a_chain_gives_a_conclusion_that_is_less_certain(engram: Engram) -> None:
    """A → B and B → C give A → C: inferred, linked to both, and never as sure as what was said."""
    told = tell(engram, *PARTS)

    take(engram, "inference")

    (found,) = made(engram, MAKER)
    assert found.content == "The parser is part of the toolchain"
    assert found.category == "fact"
    assert found.confidence_tier is ConfidenceTier.INFERRED
    edges = {
        (edge.source, edge.target) for edge in links(engram, found) if edge.type is EdgeType.INFERRED_FROM
    }
    assert edges == {(found.id, one.id) for one in told}


def test_a_conclusion_is_drawn_once(engram: Engram) -> None:
    """Dreaming again adds nothing, and conclusions are no ground for further ones."""
    tell(engram, *PARTS, "The toolchain is part of the platform")
    take(engram, "inference")
    before = contents(made(engram, MAKER))

    again = take(engram, "inference")

    assert (again.counts, again.dropped) == ({}, 0)
    assert contents(made(engram, MAKER)) == before
    assert len(before) == 3


def test_what_was_denied_is_not_concluded(engram: Engram) -> None:
    """A conclusion that contradicts a statement is not drawn."""
    tell(engram, *PARTS, "The parser is not part of the toolchain")

    take(engram, "inference")

    assert made(engram, MAKER) == []


def test_a_conclusion_goes_with_its_ground(engram: Engram) -> None:
    """When a statement of the chain is forgotten, what followed from it no longer holds."""
    first, _ = tell(engram, *PARTS)
    take(engram, "inference")
    (found,) = made(engram, MAKER)

    engram.forget(first.id, reason="wrong")
    take(engram, "inference")

    assert engram.get(found.id).status is Status.PRUNED


def test_a_conclusion_that_is_denied_later_is_taken_back(engram: Engram) -> None:
    """What somebody states outweighs what was concluded."""
    tell(engram, *PARTS)
    take(engram, "inference")

    tell(engram, "The parser is not part of the toolchain")
    take(engram, "inference")

    assert "The parser is part of the toolchain" not in contents(made(engram, MAKER))


def test_what_a_person_took_away_is_not_concluded_again(engram: Engram, clock: ManualClock) -> None:
    """A forgotten conclusion stays forgotten, though its ground still stands."""
    tell(engram, *PARTS)
    take(engram, "inference")
    engram.forget(made(engram, MAKER)[0].id, reason="no")
    clock.advance(days=1)
    tell(engram, "The lexer is part of the parser")

    take(engram, "inference")

    assert "The parser is part of the toolchain" not in contents(made(engram, MAKER))


def test_scopes_are_not_joined(engram: Engram) -> None:
    """A statement of one user and one of another lead nowhere."""
    tell(engram, PARTS[0], scope=Scope(user="ann"))
    tell(engram, PARTS[1], scope=Scope(user="bob"))
    tell(engram, PARTS[1])

    assert take(engram, "inference").counts == {}


def test_secrets_and_attacks_are_no_ground(engram: Engram) -> None:
    """What is confidential or flagged takes part in no chain."""
    first, second = tell(engram, *PARTS)
    with engram._parts.store.atomic() as tx:
        tx.memories.replace(first.evolve(security=SecurityTier.CONFIDENTIAL))
        tx.memories.replace(second.evolve(flags=("injection",)))

    assert take(engram, "inference").counts == {}


def test_linked_memories_are_linked_over_others(engram: Engram) -> None:
    """Causes of causes are linked, by an edge that says that it was inferred."""
    low, mid, top = tell(engram, "The site was down", "The disk was full", "The log was never rotated")
    with engram._parts.store.atomic() as tx:
        for source, target in ((low, mid), (mid, top)):
            tx.edges.add(
                Edge(
                    source=source.id,
                    target=target.id,
                    type=EdgeType.CAUSED_BY,
                    weight=0.8,
                    created_at=low.created_at,
                )
            )

    first, again = take(engram, "inference"), take(engram, "inference")

    (edge,) = [one for one in links(engram, low) if one.type is EdgeType.INFERRED_FROM]
    assert (edge.source, edge.target) == (low.id, top.id)
    assert edge.weight == pytest.approx(0.8 * 0.8 * POLICY.inference_damping)
    assert (first.counts, again.counts) == ({"link": 1}, {})


def test_chains_have_a_longest_length() -> None:
    """From the first of ten things, those up to five links away are concluded and none beyond."""
    policy = KnowledgePolicy(inference_fan=100, inference_damping=1.0)
    found = [one for one in draw_conclusions({n: {n + 1: 1.0} for n in range(10)}, policy) if one.start == 0]

    assert sorted(one.end for one in found) == [2, 3, 4, 5]


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.integers(0, 6), st.dictionaries(st.integers(0, 6), st.floats(0.1, 1.0), max_size=4), max_size=7
    )
)
def test_no_conclusion_is_a_circle_or_surer_than_its_links(links: dict[int, dict[int, float]]) -> None:
    """Whatever is linked: no node proves itself, and a chain is weaker than each of its links."""
    for found in draw_conclusions(links, POLICY):
        pairs = list(zip(found.path, found.path[1:], strict=False))

        assert len(set(found.path)) == len(found.path) <= MAX_HOPS + 1
        assert found.end not in links[found.start]
        assert found.certainty <= min(links[one][other] for one, other in pairs)
        assert found.certainty >= MIN_CERTAINTY
