"""Importance: nine factors, each seen by itself, and what their sum may be."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb.lifecycle.curves import importance_of
from engramdb.lifecycle.rules import FADED_IMPORTANCE
from engramdb.policy import PRESETS
from engramdb.values import AccessLog, Layer, Provenance, Source

from .made import BORN, aroused, days, extracted, matters, recalls, stated

if TYPE_CHECKING:
    from engramdb.values import Memory

BALANCED = PRESETS["balanced"].aging


def factor(name: str, memory: Memory, *, on_day: float = 0) -> float:
    """What one factor adds to a memory's importance on a day."""
    return importance_of(memory, BALANCED, BORN + timedelta(days=on_day)).factors[name]


def test_nine_factors_add_up() -> None:
    """Each is named, and their sum, cut to 0 to 1, is the importance."""
    found = importance_of(extracted(access=recalls(3, sessions=2)), BALANCED, BORN + days(10))

    assert set(found.factors) == {
        *("base", "frequency", "recency", "affect", "stability"),
        *("layer", "trust", "confirmations", "activation"),
    }
    assert found.value == pytest.approx(sum(found.factors.values()))


@pytest.mark.parametrize("importance", [0.0, 0.5, 1.0])
def test_the_base_is_what_was_given(importance: float) -> None:
    """What a memory was born with is the part that all others move up or down."""
    assert factor("base", stated(importance=importance)) == importance


@pytest.mark.parametrize(("count", "adds"), [(0, 0.0), (1, 0.0455), (5, 0.1177), (20, 0.2), (500, 0.2)])
def test_frequency_counts_on_a_log_scale(count: int, adds: float) -> None:
    """Twenty recalls give all that it can."""
    assert factor("frequency", stated(access=recalls(count))) == pytest.approx(adds, abs=1e-4)


@pytest.mark.parametrize(("on_day", "takes"), [(0, 0.0), (30, -0.175), (60, -0.2625), (3000, -0.35)])
def test_recency_halves_with_the_half_life(on_day: float, takes: float) -> None:
    """Nothing is taken today, half of it after thirty days, all of it in the end."""
    assert factor("recency", stated(), on_day=on_day) == pytest.approx(takes, abs=1e-4)


def test_recency_is_weighted_by_trust() -> None:
    """What was extracted is out of date three times sooner."""
    assert factor("recency", extracted(), on_day=10) == pytest.approx(factor("recency", stated(), on_day=30))


def test_feeling_adds_a_tenth_at_most() -> None:
    """In proportion to arousal."""
    assert factor("affect", stated(affect=aroused(0.5))) == pytest.approx(0.05)
    assert factor("affect", stated(affect=aroused(1.0))) == pytest.approx(0.1)


@pytest.mark.parametrize(("stability", "adds"), [(0.5, 0.0), (1.0, 0.0), (3.0, 0.05), (5.0, 0.1), (9.0, 0.1)])
def test_stability_adds_a_tenth_at_most(stability: float, adds: float) -> None:
    """From nothing at 1 to everything at 5."""
    assert factor("stability", stated(stability=stability)) == pytest.approx(adds)


def test_knowledge_weighs_more_than_episodes_and_those_more_than_working_memory() -> None:
    """The layer's own part."""
    by_layer = {layer: factor("layer", stated(layer=layer)) for layer in Layer}

    assert by_layer[Layer.WORKING] < by_layer[Layer.EPISODIC] == 0 < by_layer[Layer.CODEBASE]
    assert by_layer[Layer.SEMANTIC] == by_layer[Layer.PROCEDURAL] == max(by_layer.values())


@pytest.mark.parametrize(
    ("source", "takes"), [(Source.HUMAN, 0.0), (Source.ASSISTANT, -0.03), (Source.INGEST, -0.05)]
)
def test_trust_takes_what_is_missing_to_one(source: Source, takes: float) -> None:
    """A person is trusted wholly, the assistant by 0.7, imports by 0.5."""
    assert factor("trust", stated(provenance=Provenance(source=source))) == pytest.approx(takes)


@pytest.mark.parametrize(("count", "adds"), [(0, 0.0), (1, 0.0387), (5, 0.1), (50, 0.1)])
def test_confirmations_add_a_tenth_at_most(count: int, adds: float) -> None:
    """Five independent repetitions give all that they can."""
    assert factor("confirmations", stated(reinforcements=count)) == pytest.approx(adds, abs=1e-4)


@pytest.mark.parametrize(("on_day", "uses"), [(1, [1]), (4, [4]), (100, [100]), (9, [9, 4, 1])])
def test_activation_is_that_of_act_r(on_day: float, uses: list[float]) -> None:
    """The logistic function of ln Σ t^−0.5 over all uses, of which birth is the first."""
    moments = tuple(BORN + days(on_day - ago) for ago in uses[1:])
    memory = stated(access=AccessLog(count=len(moments), last_at=max(moments, default=None), recent=moments))

    base_level = math.log(sum(ago**-0.5 for ago in uses))
    assert factor("activation", memory, on_day=on_day) == pytest.approx(0.1 / (1 + math.exp(-base_level)))


def test_the_weights_do_what_they_were_chosen_for() -> None:
    """A fresh statement has about its base; a week of use makes knowledge of it; months of quiet a trifle."""
    moments = tuple(BORN + days(number) for number in (2, 3, 4, 5, 6))
    used = stated(stability=1.5, access=AccessLog(count=5, last_at=moments[-1], recent=moments, sessions=5))

    assert matters(stated(importance=0.5), BALANCED, 0) == pytest.approx(0.5, abs=0.1)
    assert matters(used, BALANCED, 7) >= BALANCED.semantic_importance
    assert matters(stated(importance=0.5), BALANCED, 30) > FADED_IMPORTANCE
    assert matters(stated(importance=0.5), BALANCED, 120) < FADED_IMPORTANCE


def test_importance_stays_between_nothing_and_one() -> None:
    """However much the factors add or take."""
    best = stated(
        importance=1.0,
        stability=5.0,
        reinforcements=9,
        affect=aroused(1),
        access=recalls(50),
        layer=Layer.SEMANTIC,
    )
    worst = stated(importance=0.0, provenance=Provenance(source=Source.INGEST))

    assert matters(best, BALANCED, 0) == 1
    assert matters(worst, BALANCED, 1000) == 0
