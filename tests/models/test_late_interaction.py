"""A question is held against a text word by word."""

from __future__ import annotations

import numpy as np

from engramdb.models.late_interaction import WordMatcher, word_pieces


def test_the_nearest_word_counts_in_whatever_company() -> None:
    """A hobby in the middle of small talk covers the question better than small talk without one."""
    texts = [
        "Hi there! So good to hear, I picked up pottery again and it calms me",
        "Hi there! So good to hear",
    ]

    pottery, talk = WordMatcher().covers({"hobby": 1.0, "ceramics": 2.0}, texts)

    assert pottery > talk + 0.1


def test_the_same_words_cover_all_and_nothing_covers_nothing() -> None:
    """Scores lie between 0 and 1, and a text without words has 0."""
    scores = WordMatcher().covers({"kettle": 1.0}, ["the kettle", "", "!!!", "of the"])

    assert np.isclose(scores[0], 1.0, atol=1e-3)
    assert scores[1:].tolist() == [0.0, 0.0, 0.0]


def test_words_that_weigh_nothing_are_not_looked_for() -> None:
    """A question of names alone says nothing word by word."""
    matcher = WordMatcher()

    assert matcher.covers({}, ["a kettle"]).tolist() == [0.0]
    assert matcher.covers({"kettle": 0.0}, ["a kettle"]).tolist() == [0.0]
    assert matcher.covers({"kettle": 1.0}, []).tolist() == []


def test_small_words_are_no_pieces() -> None:
    """What every text has is left out."""
    assert word_pieces("the of and") == ()
    assert word_pieces("kettle") != ()
