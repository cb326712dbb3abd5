"""Filters and modes narrow what is found, in the words that people use for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Filters, MemoryType, Scope
from engramdb.errors import InvalidQuery
from engramdb.values.query import Mode

if TYPE_CHECKING:
    from engramdb import Engram

SAID = {
    "cluster": "We run Kubernetes in Frankfurt.",
    "login": "The token check in src/auth/login.py is slow.",
    "helper": "See src/authx/keys.py for the rest.",
    "config": "The port is set in /etc/engram/engram.toml.",
    "glad": "I love this wonderful garden!",
    "anna": "Anna Schmidt moved to Oslo.",
}


@pytest.fixture
def told(engram: Engram) -> Engram:
    """A memory of a few statements, one of them Zoë's, from the session s1."""
    for name, text in SAID.items():
        is_glad = name == "glad"
        engram.remember(text, speaker="Zoë" if is_glad else None, session="s1" if is_glad else None)
    return engram


def listed(engram: Engram, **parts: frozenset[str]) -> set[str]:
    """Return the names of the statements that pass, after making sure that the text search agrees."""
    filters = Filters(**parts)  # type: ignore[arg-type]
    names = {text: name for name, text in SAID.items()}
    found = {memory.content for memory in engram.list(filters=filters)}
    with engram._parts.store.read() as tx:
        every = " ".join(SAID.values())
        searched = engram._parts.sources.lexical.search(tx, every, scope=Scope(), filters=filters, limit=50)
        by_words = tx.memories.by_keys([one.key for one in searched])
    assert {memory.content for memory in by_words.values()} == found
    return {names[text] for text in found}


@pytest.mark.parametrize(
    ("part", "word", "expected"),
    [
        ("technologies", "Kubernetes", {"cluster"}),
        ("technologies", "K8S", {"cluster"}),
        ("paths", "src/auth/login.py", {"login"}),
        ("paths", "SRC\\Auth", {"login"}),
        ("paths", "./src/auth/", {"login"}),
        ("paths", "src", {"login", "helper"}),
        ("paths", "/", {"config"}),
        ("paths", "/etc", {"config"}),
        ("paths", "auth", set()),
        ("languages", "python", {"login", "helper"}),
        ("sentiments", "positive", {"glad"}),
        ("speakers", "zoe", {"glad"}),
        ("sessions", "s1", {"glad"}),
        ("sessions", "S1", set()),
        ("entities", "anna schmidt", {"anna"}),
        ("entities", "Oslo", {"anna"}),
        ("entities", "Nobody", set()),
    ],
)
def test_a_filter_is_asked_for_in_plain_words(told: Engram, part: str, word: str, expected: set[str]) -> None:
    """Any spelling of a tool, a file or its folder, a name without its accents; list and search agree."""
    assert listed(told, **{part: frozenset({word})}) == expected


def test_any_member_of_a_part_will_do_and_every_part_must(told: Engram) -> None:
    """Two technologies widen, a technology and a path narrow."""
    either = listed(told, technologies=frozenset({"k8s"}), languages=frozenset())
    both = listed(told, languages=frozenset({"Python"}), paths=frozenset({"src/auth"}))
    wider = listed(told, paths=frozenset({"src/auth", "/etc"}))

    assert (either, both, wider) == ({"cluster"}, {"login"}, {"login", "config"})


def test_an_entity_can_be_asked_for_by_its_id(told: Engram) -> None:
    """What a surface shows as an id narrows as the name does."""
    with told._parts.store.read() as tx:
        (anna,) = tx.entities.by_name("Anna Schmidt", scope=Scope())

    assert listed(told, entities=frozenset({anna.id})) == {"anna"}


def test_a_name_that_only_a_forgotten_memory_told_finds_nothing(engram: Engram) -> None:
    """Forgetting who "Manu" is hides it from filters as well."""
    told = engram.remember("Manuel Ortega goes by Manu.")
    engram.remember("Manuel Ortega repairs motorcycles.")
    before = engram.list(filters=Filters(entities=frozenset({"Manu"})))

    engram.forget(told.id)

    assert len(before) == 2
    assert engram.list(filters=Filters(entities=frozenset({"Manu"}))) == []
    assert len(engram.list(filters=Filters(entities=frozenset({"Manuel Ortega"})))) == 1


def test_an_entity_of_another_scope_is_nobody(engram: Engram) -> None:
    """A filter by name or id reveals nothing of what others speak of."""
    ann, bob = Scope(user="ann"), Scope(user="bob")
    engram.remember("Anna Schmidt moved to Oslo.", scope=ann)
    with engram._parts.store.read() as tx:
        (anna,) = tx.entities.by_name("Anna Schmidt", scope=ann)

    for asked in ("Anna Schmidt", anna.id):
        assert engram.list(filters=Filters(entities=frozenset({asked})), scope=bob) == []
        assert len(engram.list(filters=Filters(entities=frozenset({asked})), scope=ann)) == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"technologies": "Python"},
        {"paths": ["src"]},
        {"languages": frozenset({""})},
        {"entities": frozenset({"  "})},
        {"speakers": frozenset({"\ud800"})},
        {"sessions": frozenset({"x" * 1001})},
        {"technologies": frozenset({7})},
        {"sentiments": frozenset({"furious"})},
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(parts: dict[str, object]) -> None:
    """A forgotten pair of braces or an unknown feeling is an error, not an empty answer."""
    with pytest.raises(InvalidQuery):
        Filters(**parts)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["entities", "technologies", "paths", "languages", "speakers", "sessions"])
def test_words_can_only_be_told_by_the_store(part: str) -> None:
    """An index in memory knows layers and moments, and must ask for the rest."""
    assert Filters(**{part: frozenset({"x"})}).needs_store  # type: ignore[arg-type]
    assert not Filters(types=frozenset({MemoryType.FACT}), categories=frozenset({"fact"})).needs_store


@pytest.mark.parametrize(
    ("mode", "types"),
    [
        ("facts_only", {"fact"}),
        ("facts_plus_rules", {"fact", "procedure"}),
        ("full_context", {"fact", "procedure", "narrative"}),
    ],
)
def test_a_mode_is_a_choice_of_types(mode: str, types: set[str]) -> None:
    """Facts, facts with the rules, or everything."""
    assert Mode(mode).types == types


def test_a_mode_and_a_filter_narrow_together() -> None:
    """What passes must pass both; the full context adds nothing to what a filter leaves."""
    rules = Filters(types=frozenset({MemoryType.PROCEDURE, MemoryType.NARRATIVE}))

    assert Filters().in_mode(Mode.FACTS_ONLY).types == {MemoryType.FACT}
    assert rules.in_mode(Mode.FACTS_PLUS_RULES).types == {MemoryType.PROCEDURE}
    assert rules.in_mode(Mode.FULL_CONTEXT) == rules


def test_a_mode_that_contradicts_the_filter_is_an_error() -> None:
    """Nothing can be both, and an empty set of types would let everything through."""
    with pytest.raises(InvalidQuery, match="facts_only leaves out"):
        Filters(types=frozenset({MemoryType.NARRATIVE})).in_mode(Mode.FACTS_ONLY)
