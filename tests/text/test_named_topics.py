"""A topic is named where the words leave little doubt about it, and not otherwise."""

from __future__ import annotations

import time

import pytest

from engramdb.text.lexicons import registry
from engramdb.text.topics import named_topics, topic_names
from engramdb.text.traits import infer_traits
from evals.capture.blind_topics import NONE, named_by_engram, read


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Our Postgres database runs on port 5433.", "databases"),
        ("The vet says the kitten is fine", "pets"),
        ("We beat them at football, what a match", "fitness"),
        ("random forest beat the baseline by a hair", "machine-learning"),
        ("The parents’ evening is about homework", "school"),
    ],
)
def test_a_word_that_means_one_thing_names_its_topic(text: str, topic: str) -> None:
    """Nothing else is named beside it."""
    assert named_topics(text) == [topic]


@pytest.mark.parametrize(
    "text",
    [
        "It runs on port 5433.",
        "The match is case-sensitive",
        "I'll table that until the team is back",
        "hmm let me sleep on it",
        "she let the cat out of the bag",
        "fitting the curtain took a while",
        "",
    ],
)
def test_a_word_that_means_several_things_names_none_by_itself(text: str) -> None:
    """Running is no sport, and a table is no database, before something else says so."""
    assert named_topics(text) == []


def test_two_words_of_one_topic_name_it_where_neither_would() -> None:
    """A dose alone may be of anything, and so may a doctor be called for."""
    assert named_topics("the doctor came") == named_topics("a dose of luck") == []
    assert named_topics("the doctor doubled the dose") == ["health"]


def test_words_that_point_to_two_topics_alike_name_neither() -> None:
    """Bulbs and beds are of the garden and of the house: with no other word, of neither."""
    assert named_topics("roses, lamps, beds, walls") == []


def test_a_topic_that_is_not_named_is_no_tag_either() -> None:
    """The word itself may stand in the text: "sleep on it" is not about sleep."""
    assert not topic_names() & set(infer_traits("hmm let me sleep on it").topics)
    assert "hasn" not in infer_traits("The python hasn't eaten").topics


def test_every_listed_word_can_be_met() -> None:
    """A row is found as it is listed; one that no text is cut into would be dead."""
    for topic, words in registry("topics")["topics"].items():
        for row in words["sure"].split():
            text = row.replace("_", " ")
            assert topic in named_topics(text), row


def test_text_by_another_hand_is_given_the_right_topic_or_none() -> None:
    """Nine of ten topics that are named are right, and small talk has none: the open half."""
    labelled = read("open")
    named = named_by_engram([case["text"] for case in labelled])
    wrong = [found for case, found in zip(labelled, named, strict=True) if found not in (None, case["topic"])]

    assert len(wrong) <= 0.1 * sum(found is not None for found in named)
    assert sum(case["topic"] == NONE for case, found in zip(labelled, named, strict=True) if found) <= 1


def test_a_long_text_takes_little_time() -> None:
    """Every word is looked up once, whatever rows of words begin with it."""
    began = time.process_time()
    named_topics("cat out of the bag sleep on " * 20_000)

    assert time.process_time() - began < 1.0
