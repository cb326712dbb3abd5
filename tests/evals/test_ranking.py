"""Recall of turns and sessions, as the evals count it."""

from __future__ import annotations

from collections import Counter

import numpy as np

from evals.ranking import bm25, distinct, share_found, share_of_distinct


def test_a_hit_stands_for_every_turn_it_was_read_from() -> None:
    """A memory that was read from two turns finds both."""
    ranked = [{"1:1"}, {"2:3", "2:4"}, set[str]()]

    assert share_found(ranked, {"2:3", "2:4"}, 1) == 0.0
    assert share_found(ranked, {"2:3", "2:4"}, 2) == 1.0
    assert share_found(ranked, {"1:1", "9:9"}, 5) == 0.5


def test_a_session_that_is_hit_twice_takes_one_place() -> None:
    """Ten hits of one session leave room for nine others."""
    ranked = [{"s1"}] * 10 + [{"s2"}]

    assert distinct(ranked) == ["s1", "s2"]
    assert share_of_distinct(ranked, {"s2"}, 2) == 1.0
    assert share_found(ranked, {"s2"}, 2) == 0.0


def test_bm25_ranks_the_document_with_the_rare_word_first() -> None:
    """A word that every document has tells nothing."""
    counts = [Counter(text.split()) for text in ("the cat sat", "the dog sat", "the owl flew", "the hen ran")]

    assert np.argmax(bm25(counts, [["the", "owl"]])[0]) == 2
