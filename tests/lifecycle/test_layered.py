"""The preset `layered`: three shapes of fading, trust in the speed, layers, archival after ninety days."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from engramdb.policy.aging import LAYERED
from engramdb.values import Layer

from .made import BORN, SECOND, days, extracted, layer_after, leaves, left, matters, recalls, stated

if TYPE_CHECKING:
    from engramdb.policy import AgingPolicy
    from engramdb.values import Memory

L2, HUBER, ELASTIC = (replace(LAYERED, curve=curve) for curve in ("l2", "huber", "elastic"))
SHAPES = pytest.mark.parametrize("policy", [L2, HUBER, ELASTIC], ids=["l2", "huber", "elastic"])
MINUTES = timedelta(minutes=1)


def test_huber_is_the_default() -> None:
    """Who chooses the preset gets the shape that is robust to a burst of use and a long silence."""
    assert LAYERED.curve == "huber"


# --- fading -------------------------------------------------------------------------------------------------


@SHAPES
def test_half_is_left_at_the_half_life(policy: AgingPolicy) -> None:
    """Thirty days for what a person stated, ten for what was extracted: three times faster."""
    assert left(stated(), policy, 0) == 1
    assert left(stated(), policy, 30) == pytest.approx(0.5)
    assert left(extracted(), policy, 10) == pytest.approx(0.5)


@SHAPES
def test_the_extracted_fades_three_times_faster_all_the_way(policy: AgingPolicy) -> None:
    """After n days it is where a stated memory is after three times n."""
    for number in (1, 5, 20, 60, 100):
        assert left(extracted(), policy, number) == pytest.approx(left(stated(), policy, 3 * number))


@pytest.mark.parametrize(("number", "share"), [(15, 0.7071), (60, 0.25), (90, 0.125), (300, 0.000977)])
def test_l2_is_a_plain_exponential(number: float, share: float) -> None:
    """A half of a half after two half-lives, and so on."""
    assert left(stated(), L2, number) == pytest.approx(share, abs=1e-4)


def test_huber_is_l2_at_first_and_a_straight_line_later() -> None:
    """Up to the half-life they agree; from there equal times take equal shares, and the old keep more."""
    line = [left(stated(), HUBER, number) for number in (60, 120, 180, 240)]

    assert left(stated(), HUBER, 20) == pytest.approx(left(stated(), L2, 20))
    assert line[0] - line[1] == pytest.approx(line[1] - line[2]) == pytest.approx(line[2] - line[3])
    assert line[1] > left(stated(), L2, 120)
    assert left(stated(), HUBER, 360) == pytest.approx(0)


def test_elastic_keeps_the_strong_whole_and_lets_the_weak_go() -> None:
    """Where l2 has nine tenths left nothing is lost, and where it has a tenth left nothing is."""
    still_strong, too_weak = 30 * math.log2(1 / 0.9), 30 * math.log2(1 / 0.1)

    assert left(stated(), ELASTIC, still_strong - 0.01) == 1
    assert left(stated(), ELASTIC, still_strong + 1) < 1
    assert left(stated(), ELASTIC, too_weak - 1) > 0
    assert left(stated(), ELASTIC, too_weak + 0.01) == 0


@SHAPES
@pytest.mark.parametrize(("count", "bonus"), [(1, 0.0693), (2, 0.1099), (5, 0.1792), (20, 0.3), (1000, 0.3)])
def test_recalls_add_at_most_three_tenths(policy: AgingPolicy, count: int, bonus: float) -> None:
    """Each recall strengthens, on a log scale, and all of them together by no more than 0.3."""
    gain = left(stated(access=recalls(count)), policy, 60) - left(stated(), policy, 60)

    assert gain == pytest.approx(bonus, abs=1e-4)


# --- layers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "after", "layer"),
    [
        (0, 30 * MINUTES - SECOND, Layer.WORKING),
        (0, 30 * MINUTES, Layer.EPISODIC),
        (1, 29 * MINUTES, Layer.WORKING),
        (2, timedelta(), Layer.EPISODIC),
    ],
)
def test_working_memory_ends_after_half_an_hour_or_two_recalls(
    count: int, after: timedelta, layer: Layer
) -> None:
    """Thirty minutes to the second, or the second recall, whichever comes first."""
    memory = stated(layer=Layer.WORKING, access=recalls(count), importance=0.2)

    assert layer_after(memory, LAYERED, after) is layer


@pytest.mark.parametrize(("count", "layer"), [(4, Layer.EPISODIC), (5, Layer.SEMANTIC), (6, Layer.SEMANTIC)])
def test_an_episode_becomes_knowledge_from_the_fifth_recall(count: int, layer: Layer) -> None:
    """Four recalls are not enough, however important it is."""
    memory = stated(importance=1.0, access=recalls(count))

    assert layer_after(memory, LAYERED, days(1)) is layer


@pytest.mark.parametrize(("above", "layer"), [(-1e-9, Layer.EPISODIC), (1e-9, Layer.SEMANTIC)])
def test_an_episode_becomes_knowledge_from_importance_seven_tenths(above: float, layer: Layer) -> None:
    """Seven tenths of importance as it is now, not as it was given; a hair less is not enough."""
    memory = with_importance(0.7 + above, access=recalls(5))

    assert matters(memory, LAYERED, 1) == pytest.approx(0.7 + above, abs=1e-12)
    assert layer_after(memory, LAYERED, days(1)) is layer


def test_exactly_the_importance_asked_for_is_enough() -> None:
    """The edge belongs to those who are promoted."""
    memory = stated(importance=0.6, access=recalls(5))
    exact = matters(memory, LAYERED, 1)
    just_above = math.nextafter(exact, 1)

    assert layer_after(memory, replace(LAYERED, semantic_importance=exact), days(1)) is Layer.SEMANTIC
    assert layer_after(memory, replace(LAYERED, semantic_importance=just_above), days(1)) is Layer.EPISODIC


@pytest.mark.parametrize("layer", [Layer.SEMANTIC, Layer.PROCEDURAL, Layer.CODEBASE])
def test_lasting_layers_stay_as_they_are(layer: Layer) -> None:
    """Promotion is for working memory and episodes alone."""
    memory = stated(layer=layer, importance=1.0, access=recalls(50))

    assert layer_after(memory, LAYERED, days(1)) is layer


def test_a_layer_that_a_person_chose_is_left_alone() -> None:
    """Neither time nor recalls move it."""
    memory = stated(layer=Layer.WORKING, layer_held=True, importance=1.0, access=recalls(50))

    assert layer_after(memory, LAYERED, days(365)) is Layer.WORKING


# --- leaving ------------------------------------------------------------------------------------------------


def test_nothing_is_archived_before_ninety_days_are_over() -> None:
    """At ninety days to the second it stays; one second later it goes, if the rest is true."""
    memory = extracted(importance=0.1)

    assert left(memory, LAYERED, 90) < 0.15
    assert leaves(memory, LAYERED, days(90)) is None
    assert leaves(memory, LAYERED, days(90) + SECOND) == "faded"


def test_a_confirmation_begins_the_ninety_days_anew() -> None:
    """What was stated again on day fifty is looked at from there."""
    memory = extracted(importance=0.1, confirmed_at=BORN + days(50))

    assert leaves(memory, LAYERED, days(140)) is None
    assert leaves(memory, LAYERED, days(140) + SECOND) == "faded"


def test_retention_must_be_below_fifteen_hundredths() -> None:
    """A stated memory is there after 261 days, 8.7 half-lives on huber's line; an extracted one after 87."""
    memory = stated(importance=0.1)

    assert left(memory, LAYERED, 261) == pytest.approx(0.15)
    assert left(extracted(), LAYERED, 87) == pytest.approx(0.15)
    assert leaves(memory, LAYERED, days(261) - SECOND) is None
    assert leaves(memory, LAYERED, days(261) + SECOND) == "faded"


def test_exactly_the_retention_asked_for_is_enough_to_stay() -> None:
    """The edge belongs to those who stay."""
    memory = stated(importance=0.1)
    exact = left(memory, LAYERED, 200)

    assert leaves(memory, replace(LAYERED, faded_retention=exact), days(200)) is None
    assert leaves(memory, replace(LAYERED, faded_retention=math.nextafter(exact, 1)), days(200)) == "faded"


@pytest.mark.parametrize(("above", "rule"), [(-1e-9, "faded"), (1e-9, None)])
def test_importance_must_be_below_three_tenths(above: float, rule: str | None) -> None:
    """Importance as it is then, of all nine factors."""
    memory = with_importance(0.3 + above, extractor="heuristic-1", on_day=120)

    assert matters(memory, LAYERED, 120) == pytest.approx(0.3 + above, abs=1e-12)
    assert leaves(memory, LAYERED, days(120)) == rule


@pytest.mark.parametrize(("count", "rule"), [(0, "faded"), (2, "faded"), (3, None), (4, None)])
def test_three_recalls_keep_it(count: int, rule: str | None) -> None:
    """Fewer than three are not enough, although each adds to retention."""
    memory = extracted(importance=0.0, access=recalls(count))

    assert left(memory, LAYERED, 150) < 0.17
    assert leaves(memory, LAYERED, days(150)) == rule


@pytest.mark.parametrize(
    ("layer", "rule"),
    [
        (Layer.WORKING, "faded"),
        (Layer.EPISODIC, "faded"),
        (Layer.SEMANTIC, None),
        (Layer.PROCEDURAL, None),
        (Layer.CODEBASE, None),
    ],
)
def test_knowledge_and_procedures_are_exempt(layer: Layer, rule: str | None) -> None:
    """The lasting layers have no half-life in the source: they are kept whatever is left."""
    assert leaves(extracted(importance=0.0, layer=layer), LAYERED, days(1000)) == rule


def test_the_pinned_are_exempt() -> None:
    """A pin makes a memory immune."""
    assert leaves(extracted(importance=0.0, pinned=True), LAYERED, days(1000)) is None


def with_importance(wanted: float, *, on_day: float = 1, **fields: object) -> Memory:
    """A memory whose nine factors come to this importance on that day."""
    rest = matters(stated(importance=0.5, **fields), LAYERED, on_day) - 0.5
    return stated(importance=wanted - rest, **fields)
