"""What an answer says of itself: scores, reasons, trust and quality."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb import Filters, Layer, Status
from engramdb.policy import RecallPolicy
from engramdb.recall.fuse import explain, fuse
from engramdb.recall.pipeline import average, ndcg
from engramdb.recall.signals import trust
from engramdb.store.contract import ScoredKey
from engramdb.values import Memory

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.testing import ManualClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HALF = {"lexical": 0.5, "vector": 0.5}


def test_agreement_beats_one_strong_vote() -> None:
    """A memory that both indexes like outranks one that a single index likes a little better."""
    answers = {
        "lexical": [ScoredKey(1, 0.9), ScoredKey(2, 0.8)],
        "vector": [ScoredKey(3, 0.9), ScoredKey(2, 0.8)],
    }

    assert fuse(answers, HALF)[0].key == 2


def test_equal_scores_put_the_newest_first() -> None:
    """Keys only grow, so the larger one is the newer memory; the same input gives the same output."""
    fused = fuse({"lexical": [ScoredKey(1, 0.5), ScoredKey(9, 0.5), ScoredKey(4, 0.5)]}, HALF)

    assert [one.key for one in fused] == [9, 4, 1]


def test_reasons_add_up_to_the_score() -> None:
    """What the indexes gave to a memory is exactly its score."""
    answers = {"lexical": [ScoredKey(1, 0.9), ScoredKey(2, 0.4)], "vector": [ScoredKey(2, 0.8)]}
    weights = {"lexical": 0.3, "vector": 0.7}

    fused = fuse(answers, weights)
    reasons = explain([one.key for one in fused], answers, weights)

    for one in fused:
        assert sum(reason.contribution for reason in reasons[one.key]) == pytest.approx(one.score)
    assert [(reason.index, reason.rank) for reason in reasons[2]] == [("lexical", 2), ("vector", 1)]


def test_an_answer_explains_every_hit(engram: Engram) -> None:
    """Each hit names the indexes that found it, and the answer names those that took part."""
    engram.remember("I like green tea")
    engram.remember("Lisbon is in Portugal")

    answer = engram.recall("green tea")

    assert answer.quality.answered == ("lexical", "vector", "turns")
    assert not answer.quality.is_degraded
    assert answer.hits[0].memory.content == "I like green tea"
    for hit in answer.hits:
        assert hit.reasons
        assert sum(reason.contribution for reason in hit.reasons) == pytest.approx(hit.score)
        assert 0 <= hit.score <= 1
    assert answer.quality.milliseconds > 0
    assert answer.quality.candidates >= len(answer.hits)


def test_an_empty_store_answers_without_hits_and_without_fault(engram: Engram) -> None:
    """Nothing found is not the same as something failed."""
    answer = engram.recall("anything")

    assert answer.hits == ()
    assert not answer.quality.is_degraded


def test_reading_is_not_evidence(engram: Engram) -> None:
    """However often a memory is recalled, it is not believed more for it."""
    engram.remember("I like tea")

    first = engram.recall("tea").hits[0]
    for _ in range(20):
        engram.recall("tea")
    last = engram.recall("tea").hits[0]

    assert last.trust.accuracy == first.trust.accuracy
    assert last.memory.confidence == first.memory.confidence


def test_only_what_is_active_is_recalled_by_default(engram: Engram) -> None:
    """Other statuses are found when they are asked for."""
    archived = engram.remember("I like tea in winter")
    engram.remember("I like tea in summer")
    engram.set_status(archived.id, Status.ARCHIVED)

    default = engram.recall("tea")
    asked = engram.recall("tea", filters=Filters(statuses=frozenset({Status.ARCHIVED})))

    assert [hit.memory.content for hit in default.hits] == ["I like tea in summer"]
    assert [hit.memory.id for hit in asked.hits] == [archived.id]


def test_the_limit_is_filled_where_filters_leave_enough(engram: Engram) -> None:
    """Filters choose before the ranking, so a narrow one does not come back half empty."""
    for number in range(150):
        engram.remember(f"tea note {number}", layer=Layer.SEMANTIC if number % 10 == 0 else Layer.EPISODIC)

    answer = engram.recall("tea note", limit=12, filters=Filters(layers=frozenset({Layer.SEMANTIC})))

    assert len(answer.hits) == 12
    assert {hit.memory.layer for hit in answer.hits} == {Layer.SEMANTIC}


def test_freshness_halves_with_every_half_life(engram: Engram, clock: ManualClock) -> None:
    """A month without a change costs half of the freshness, with the default policy."""
    engram.remember("I like tea")
    fresh = engram.recall("tea").hits[0].trust.freshness
    clock.advance(days=30)

    aged = engram.recall("tea").hits[0].trust.freshness

    assert fresh == 1
    assert aged == pytest.approx(0.5)


def test_a_memory_from_the_future_is_no_fresher_than_now() -> None:
    """A clock that was wrong when something was stored does not push trust above one."""
    later = NOW + timedelta(days=365)
    memory = Memory(id="m", content="x", created_at=later, updated_at=later)

    believed = trust(memory, relevance=1, is_contradicted=False, now=NOW, policy=RecallPolicy())

    assert believed.freshness == 1
    assert believed.composite <= 1


def test_quality_numbers_are_what_they_say() -> None:
    """NDCG is one for the best order and less for a worse one; averages of nothing are zero."""
    assert ndcg([0.9, 0.5, 0.1]) == pytest.approx(1)
    assert ndcg([0.1, 0.5, 0.9]) < 1
    assert ndcg([]) == 0
    assert average([]) == 0
    assert average([0.2, 0.4]) == pytest.approx(0.3)
