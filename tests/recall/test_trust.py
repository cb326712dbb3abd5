"""How far a hit is believed: the parts of trust, and the formula of `beliefs`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Settings, Source, Status
from engramdb.policy import RecallPolicy
from engramdb.recall.signals import accuracy, belief_score, trust, utility
from engramdb.values import AccessLog, Memory, Provenance

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AGENTS = Provenance(source=Source.ASSISTANT)
PLAIN = Memory(id="m", content="x", created_at=NOW, updated_at=NOW, provenance=AGENTS)


@pytest.mark.parametrize(
    ("changes", "is_contradicted", "expected"),
    [
        ({}, False, 0.5),
        ({"reinforcements": 1}, False, 0.6),
        ({"provenance": Provenance(source=Source.ASSISTANT, episodes=("a", "b", "c"))}, False, 0.7),
        ({"provenance": Provenance(source=Source.HUMAN)}, False, 0.8),
        ({"provenance": Provenance(source=Source.HUMAN), "extractor": "heuristic-1"}, False, 0.5),
        ({}, True, 0.3),
        ({"status": Status.CHALLENGED}, False, 0.3),
        ({"helped": 2}, False, 0.6),
        ({"unhelpful": 1}, False, 0.4),
        ({"reinforcements": 9}, False, 1.0),
        ({"unhelpful": 9}, True, 0.0),
        ({"reinforcements": 9, "confidence": 0.35}, False, 0.35),
    ],
)
def test_accuracy_follows_the_evidence(
    changes: dict[str, Any], is_contradicted: bool, expected: float
) -> None:
    """Neutral is 0.5; evidence, explicitness and help add, contradiction and failure take."""
    memory = PLAIN.evolve(**changes)

    assert accuracy(memory, is_contradicted=is_contradicted) == pytest.approx(expected)


def test_being_recalled_raises_utility_and_never_accuracy() -> None:
    """Being read is not evidence of being true."""
    read = PLAIN.evolve(access=AccessLog(count=20, last_at=NOW))

    assert accuracy(read, is_contradicted=False) == accuracy(PLAIN, is_contradicted=False)
    assert utility(read) == pytest.approx(utility(PLAIN) + 0.2)


def test_the_composite_is_the_weighted_sum_of_its_parts() -> None:
    """Relevance 0.35, accuracy 0.25, freshness 0.20, utility 0.20; freshness halves in thirty days."""
    old = PLAIN.evolve(created_at=NOW - timedelta(days=30))

    believed = trust(old, relevance=0.8, is_contradicted=False, now=NOW, policy=RecallPolicy())

    assert believed.freshness == pytest.approx(0.5)
    assert believed.composite == pytest.approx(0.35 * 0.8 + 0.25 * 0.5 + 0.20 * 0.5 + 0.20 * 0.5)


def test_pinning_does_not_make_a_memory_fresh() -> None:
    """Freshness counts from the statement or its confirmation, not from any other change."""
    pinned = PLAIN.evolve(created_at=NOW - timedelta(days=60), updated_at=NOW, pinned=True)
    confirmed = pinned.evolve(confirmed_at=NOW)

    def freshness(memory: Memory) -> float:
        return trust(memory, relevance=1, is_contradicted=False, now=NOW, policy=RecallPolicy()).freshness

    assert freshness(pinned) == pytest.approx(0.25)
    assert freshness(confirmed) == 1


def test_the_formula_of_beliefs() -> None:
    """Half meaning, a fifth importance, a tenth recency, a twentieth stability, and the subject."""
    memory = PLAIN.evolve(
        importance=0.6, stability=2.5, access=AccessLog(count=1, last_at=NOW - timedelta(days=30))
    )

    about = belief_score(memory, relevance=0.8, is_subject=True, now=NOW)
    other = belief_score(memory, relevance=0.8, is_subject=False, now=NOW)

    assert other == pytest.approx(0.5 * 0.8 + 0.2 * 0.6 + 0.1 * 0.5016 + 0.05 * 0.5, abs=1e-4)
    assert about == pytest.approx(other + 0.15)


def test_the_preset_beliefs_ranks_by_its_own_formula(store_path: Path) -> None:
    """Of two that fit alike the more important one comes first, which relevance alone would not see."""
    settings = Settings(policy="beliefs", embedder="static")
    with Engram.open(store_path, settings=settings, background=False) as engram:
        engram.remember("The blue kettle stands in the kitchen", importance=0.1)
        engram.remember("The blue kettle stands in the cellar", importance=1.0)

        first, second = engram.recall("blue kettle").hits[:2]

    assert "cellar" in first.memory.content
    assert first.score > second.score
