"""A question for a relation finds what was claimed, whoever said it and in whatever words."""

from __future__ import annotations

from pathlib import Path

import pytest

from engramdb import Engram, Settings
from engramdb.recall.relations import asked_relation, tells_of
from engramdb.store.contract import Related


@pytest.mark.parametrize(
    ("question", "predicate", "who"),
    [
        ("Where does Kofi live?", "lives_in", "Kofi"),
        ("where do I live these days?", "lives_in", "I"),
        ("which city is Ana Souza based in?", "lives_in", "Ana Souza"),
        ("where does Bolormaa work?", "works_at", "Bolormaa"),
        ("what does Hemi do for a living?", "works_as", "Hemi"),
        ("when is Tom's sister's birthday?", "born_on", "Tom's sister's"),
        ("how old is my son?", "age", "my son"),
        ("who does Priya report to?", "reports_to", "Priya"),
        ("When is the grant report due?", "deadline", "the grant report"),
    ],
)
def test_a_question_names_the_relation_it_wants(question: str, predicate: str, who: str) -> None:
    """The predicate is the one that statements are filed under."""
    asked = asked_relation(question)

    assert asked is not None
    assert predicate in asked.predicates
    assert asked.who == who


@pytest.mark.parametrize(
    "question",
    ["where did we park?", "what did Kofi say about where people live?", "how does it work?", "", "x " * 400],
)
def test_other_questions_ask_for_no_relation(question: str) -> None:
    """A relation is only looked up where the words leave no doubt."""
    assert asked_relation(question) is None


@pytest.mark.parametrize(
    ("question", "subject", "speaker", "is_meant"),
    [
        ("where does Kofi live?", "Kofi", "Ann", True),
        ("where does Kofi live?", "Kofi Mensah", None, True),
        ("where does Kofi live?", "Ann", "Kofi", False),
        ("where do I live?", "User", None, True),
        ("where do I live?", "Ann", "Ann", True),
        ("where do I live?", "Kofi", "Ann", False),
        ("where does my sister live?", "User's sister", None, True),
        ("where does my sister live?", "User's brother", None, False),
        ("who is my boss?", "User", None, True),
    ],
)
def test_a_claim_counts_only_of_the_one_who_is_asked_about(
    question: str, subject: str, speaker: str | None, is_meant: bool
) -> None:
    """What Kofi says of others is not about Kofi, and what I say of myself is about me."""
    asked = asked_relation(question)

    assert asked is not None
    assert tells_of(asked, Related(1, subject, speaker)) is is_meant


SAID = (
    ("Kofi", "we live and breathe football here"),
    ("Kofi", "my sister works at Bosch"),
    ("Kofi", "I had the best pasta of my life, where do people even live without pasta"),
    ("Ann", "I live in Berlin"),
    ("Ann", "Kofi moved to Tallinn last month"),
)


@pytest.mark.parametrize(("bonus", "is_first"), [(0.6, True), (0.0, False)])
def test_where_somebody_lives_comes_before_what_they_say(
    tmp_path: Path, bonus: float, is_first: bool
) -> None:
    """Without the relation, what Kofi said of living goes first; with it, the place where he lives."""
    settings = Settings(home=tmp_path, embedder="static", overrides={"recall": {"relation_bonus": bonus}})
    with Engram.open(tmp_path / "memory.db", settings=settings, background=False) as engram:
        for speaker, text in SAID:
            engram.observe(text, speaker=speaker)
        engram.flush()

        hits = engram.recall("where does Kofi live?", limit=4).hits

    assert (hits[0].memory.content == SAID[-1][1]) is is_first


@pytest.mark.parametrize(
    ("question", "said", "right"),
    [
        ("Where does Kofi live?", "Kofi's wife lives in Paris.", "Kofi moved to Accra in 2019."),
        ("Where do I live?", "I do not live in Rome.", "I live in Oslo."),
    ],
)
def test_another_ones_relation_and_a_denied_one_gain_nothing(
    tmp_path: Path, question: str, said: str, right: str
) -> None:
    """The wife of the one who is asked about, and where somebody does not live, are no answers."""
    settings = Settings(home=tmp_path, embedder="static")
    with Engram.open(tmp_path / "memory.db", settings=settings, background=False) as engram:
        engram.remember(right)
        engram.remember(said)

        hits = {hit.memory.content: hit for hit in engram.recall(question).hits}

    assert not any(reason.index == "relation" for reason in hits[said].reasons)
