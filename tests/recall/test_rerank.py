"""Other orders of the candidates: by rank, by difference, by a model that reads both texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.errors import InvalidQuery
from engramdb.recall.fuse import Fused, RankingSignal, by_difference, by_model, by_rank
from engramdb.store.contract import ScoredKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engramdb import Engram

HALF = {"lexical": 0.5, "vector": 0.5}


class Longest:
    """A model that likes long texts."""

    name = "longest"

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the length, cut to one."""
        return [min(1.0, len(text) / 100) for text in texts]


def test_what_a_signal_adds_survives_fusion_by_rank() -> None:
    """A memory of the time that was asked for goes before one that the indexes rank first."""
    ranked = [Fused(2, 0.9), Fused(1, 0.8)]
    answers = {"lexical": [ScoredKey(1, 0.8), ScoredKey(2, 0.5)], "vector": [ScoredKey(1, 0.8)]}
    time = RankingSignal(name="time", gained={2: 0.6, 3: 0.6})

    assert [one.key for one in by_rank(ranked, answers, HALF, (), constant=60, heirs={})] == [1, 2]
    assert [one.key for one in by_rank(ranked, answers, HALF, (time,), constant=60, heirs={})] == [2, 1]


def test_rank_fusion_counts_places_and_not_scores() -> None:
    """Second in both lists beats first in one, however high that one was scored."""
    answers = {
        "lexical": [ScoredKey(1, 1.0), ScoredKey(2, 0.2)],
        "vector": [ScoredKey(3, 1.0), ScoredKey(2, 0.2)],
    }
    ranked = [Fused(1, 0.5), Fused(3, 0.5), Fused(2, 0.2)]

    assert by_rank(ranked, answers, HALF, (), constant=60, heirs={})[0].key == 2


def test_ranks_decide_the_order_and_leave_the_scores() -> None:
    """The last of a list fits as well as it did: a rank says what fits better, not how well."""
    answers = {"lexical": [ScoredKey(1, 0.9), ScoredKey(2, 0.8)]}
    ranked = [Fused(2, 0.8), Fused(1, 0.9)]

    assert by_rank(ranked, answers, HALF, (), constant=60, heirs={}) == [Fused(1, 0.9), Fused(2, 0.8)]


def test_an_heir_has_the_rank_of_what_it_stands_for() -> None:
    """No index found it; what it replaced was found first."""
    answers = {"lexical": [ScoredKey(1, 0.9), ScoredKey(2, 0.8)]}
    ranked = [Fused(2, 0.8), Fused(3, 0.7)]

    assert [one.key for one in by_rank(ranked, answers, HALF, (), constant=60, heirs={1: 3})] == [3, 2]


def test_the_second_choice_is_unlike_the_first() -> None:
    """Of two good candidates that say the same, the other one comes later."""
    ranked = [Fused(1, 0.9), Fused(2, 0.89), Fused(3, 0.8)]
    vectors = {
        1: np.array([1, 0], np.float32),
        2: np.array([1, 0], np.float32),
        3: np.array([0, 1], np.float32),
    }

    order = by_difference(ranked, vectors, relevance=0.7, floor=0.0)

    assert [one.key for one in order] == [1, 3, 2]


def test_a_model_orders_what_it_has_read() -> None:
    """What it was not given stays behind, in its order."""
    ranked = [Fused(1, 0.9), Fused(2, 0.8), Fused(3, 0.7)]

    order = by_model(ranked, "q", {1: "short", 2: "rather a long text"}, Longest())

    assert [one.key for one in order] == [2, 1, 3]


@given(st.lists(st.floats(0, 1), max_size=60), st.floats(0, 1))
def test_no_strategy_loses_a_candidate(scores: list[float], relevance: float) -> None:
    """Every order holds each candidate once."""
    ranked = [Fused(key, score) for key, score in enumerate(sorted(scores, reverse=True))]
    answers = {"lexical": [ScoredKey(one.key, one.score) for one in ranked[::2]]}
    vectors = {one.key: np.eye(4, dtype=np.float32)[one.key % 4] for one in ranked[::3]}

    orders = [
        by_rank(ranked, answers, HALF, (), constant=60, heirs={}),
        by_difference(ranked, vectors, relevance=relevance, floor=0.1),
        by_model(ranked, "q", {one.key: "x" for one in ranked[:5]}, Longest()),
    ]

    assert all(sorted(one.key for one in order) == list(range(len(scores))) for order in orders)


def test_a_missing_cross_encoder_is_said_and_the_answer_comes(engram: Engram) -> None:
    """Asked for what is not there, recall falls back and tells."""
    engram.remember("I like green tea")

    answer = engram.recall("green tea", strategy="cross_encoder")

    assert [missing.index for missing in answer.quality.missing] == ["reranker"]
    assert len(answer.hits) == 1


def test_an_unknown_strategy_is_refused(engram: Engram) -> None:
    """A word that means nothing is not taken for the default."""
    with pytest.raises(InvalidQuery):
        engram.recall("tea", strategy="magic")
