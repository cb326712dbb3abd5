"""Filing finds whoever may say the same, without comparing all with all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.dream.merge import Stars, find_stars
from engramdb.dream.neighbors import (
    ScopeStatements,
    WordingGroups,
    _relation_key,
    differing_word,
    is_supported_by,
    read_wording,
)
from engramdb.store.contract import Outline
from engramdb.text.relations import read_statement
from engramdb.values import GLOBAL, Layer, SecurityTier

from .dreamt import LIKENESS

WORDS = ("green", "black", "fresh", "dog", "Berlin", "tea", "two", "2", "not", "my sister")
FRAMES = ("I like {} {}", "I really love {} {} tea", "{} and {} are what I prefer", "I live in {} with {}")

statements = st.builds(
    lambda frame, one, two: frame.format(one, two),
    st.sampled_from(FRAMES),
    st.sampled_from(WORDS),
    st.sampled_from(WORDS),
)


def scene(*contents: str, fresh: bool = True) -> ScopeStatements:
    """These statements as a dream sees them."""
    outlines = []
    for key, content in enumerate(contents, start=1):
        found = read_statement(content)
        outlines.append(
            Outline(
                key=key,
                id=f"m{key}",
                content=content,
                speaker=None,
                subject=found.subject if found else None,
                predicate=found.predicate if found else None,
                object=found.object if found else None,
                category="general",
                layer=Layer.EPISODIC,
                security=SecurityTier.CLEARTEXT,
                extractor=None,
                episodes=(),
                evidence=1,
                confidence=1.0,
                importance=0.5,
                recalls=0,
                is_pinned=False,
                is_fresh=fresh,
            )
        )
    wordings = [read_wording(content) for content in contents]
    return ScopeStatements(GLOBAL, outlines, wordings, [_relation_key(one) for one in outlines])


@given(st.lists(statements, min_size=2, max_size=12, unique=True))
def test_whoever_may_say_the_same_is_filed_together(contents: list[str]) -> None:
    """What comparing all with all would find, filing finds too."""
    seen = scene(*contents)
    groups = WordingGroups(seen)
    number_of = {place: number for number, group in enumerate(groups.members) for place in group}

    for one, other in itertools.permutations(range(len(seen)), 2):
        if differing_word(seen, one, other) is not None and number_of[one] != number_of[other]:
            is_short = min(len(seen.wordings[place].keys) for place in (one, other)) < 3
            assert is_short or number_of[other] in groups.beside(number_of[one])


@given(st.lists(statements, min_size=2, max_size=12, unique=True))
def test_whoever_supports_a_statement_is_found_by_its_rarest_word(contents: list[str]) -> None:
    """The same, of statements that say all that another says and little more."""
    seen = scene(*contents)
    found = Stars(seen)

    for core, other in itertools.permutations(range(len(seen)), 2):
        expected = len(seen.wordings[core].keys) >= 2 and is_supported_by(
            seen.wordings[other], seen.wordings[core], max_extra_words=2
        )
        assert (other in found.members_of(core)) is expected
        assert (core in found.cores_of(other)) is expected


def test_nothing_fresh_is_nothing_to_look_at() -> None:
    """A scope in which nothing changed is not clustered again."""
    contents = [f"I like green tea {what}" for what in ("at home", "at work", "in bed")]

    assert list(find_stars(scene(*contents, "I like green tea"), taken=frozenset()))
    assert not list(find_stars(scene(*contents, "I like green tea", fresh=False), taken=frozenset()))


def test_a_list_of_things_is_not_a_list_of_synonyms() -> None:
    """Where many statements differ in one word alone, that word tells them apart; nobody compares them."""
    brands = scene(*(f"I drink brand{number} green tea" for number in range(40)))

    assert all(not WordingGroups(brands).beside(number) for number in range(40))


@pytest.mark.parametrize(
    ("content", "keys", "marks"),
    [
        ("I really prefer two-space indentation!", ("PREFER", "2", "space", "indent"), set()),
        ("I don't like C++", ("LIKE", "c++"), {"not"}),
        ("I might move to Oslo", ("move", "oslo"), {"might"}),
        ("", (), set()),
        ("🙂 !!", (), set()),
    ],
)
def test_wording_keeps_what_counts(content: str, keys: tuple[str, ...], marks: set[str]) -> None:
    """Stems, numbers as digits, one word for verbs that mean the same; mood and negation apart."""
    wording = read_wording(content)

    assert wording.keys == keys
    assert wording.marks == marks


def test_vectors_compare_as_pairs_do() -> None:
    """Cosines of the vectors, put on the common scale, are the likeness of the pairs."""
    texts = ["I like green tea", "I love green tea", "The API uses JWT tokens"]
    rows = LIKENESS.vectors(texts)

    scaled = LIKENESS.similarity(rows @ rows.T)

    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    expected = [LIKENESS.pairwise([text] * 3, texts) for text in texts]
    assert np.allclose(scaled, expected, atol=1e-5)
