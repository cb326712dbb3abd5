"""The preset `notebook`: no curve; dates, confidence, importance and use decide, and nothing is deleted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from engramdb.lifecycle.rules import RULES
from engramdb.policy.aging import NOTEBOOK
from engramdb.values import Layer, Status

from .made import BORN, SECOND, days, extracted, leaves, left, recalls, stated

if TYPE_CHECKING:
    from datetime import timedelta

LATER = days(91)


def test_nothing_fades() -> None:
    """A memory of ten years ago is as whole as one of today."""
    assert left(stated(), NOTEBOOK, 3650) == 1


def test_nothing_is_ever_deleted() -> None:
    """Every rule but the one with a date of the user's own leads to the archive."""
    targets = {name: RULES[name].to for name in NOTEBOOK.rules}

    assert targets.pop("forget_after") is Status.FORGOTTEN
    assert set(targets.values()) == {Status.ARCHIVED}


@pytest.mark.parametrize(("after", "rule"), [(days(30), None), (days(30) + SECOND, "speculative")])
def test_the_speculative_expires_after_thirty_days(after: timedelta, rule: str | None) -> None:
    """Thirty days to the second, unless it was confirmed."""
    assert leaves(stated(confidence=0.39), NOTEBOOK, after) == rule


@pytest.mark.parametrize(
    ("confidence", "rule"), [(0.0, "speculative"), (math.nextafter(0.4, 0), "speculative"), (0.4, None)]
)
def test_below_four_tenths_is_speculative(confidence: float, rule: str | None) -> None:
    """Four tenths themselves are an inference, and stay."""
    assert leaves(stated(confidence=confidence), NOTEBOOK, days(60)) == rule


def test_a_confirmation_gives_thirty_days_more() -> None:
    """What a later extraction confirms is looked at from there."""
    confirmed = stated(confidence=0.3, confirmed_at=BORN + days(20))

    assert leaves(confirmed, NOTEBOOK, days(50)) is None
    assert leaves(confirmed, NOTEBOOK, days(50) + SECOND) == "speculative"


@pytest.mark.parametrize(("after", "rule"), [(days(90), None), (days(90) + SECOND, "commitment")])
def test_a_promise_is_over_after_ninety_days(after: timedelta, rule: str | None) -> None:
    """Ninety days to the second, however important it was."""
    assert leaves(stated(category="commitment", importance=1.0), NOTEBOOK, after) == rule


def test_a_promise_that_is_spoken_of_lasts() -> None:
    """Refreshed on day eighty, it is over on day 170."""
    refreshed = stated(category="commitment", confirmed_at=BORN + days(80))

    assert leaves(refreshed, NOTEBOOK, days(170)) is None
    assert leaves(refreshed, NOTEBOOK, days(170) + SECOND) == "commitment"


@pytest.mark.parametrize(("after", "rule"), [(days(90), None), (days(90) + SECOND, "unused")])
def test_the_unused_is_archived_after_ninety_days(after: timedelta, rule: str | None) -> None:
    """Ninety days to the second."""
    assert leaves(stated(importance=0.2), NOTEBOOK, after) == rule


@pytest.mark.parametrize(
    ("importance", "rule"), [(math.nextafter(0.3, 0), "unused"), (0.3, None), (0.31, None)]
)
def test_below_three_tenths_is_unimportant(importance: float, rule: str | None) -> None:
    """Importance as it was given; three tenths themselves stay."""
    assert leaves(stated(importance=importance), NOTEBOOK, LATER) == rule


@pytest.mark.parametrize(("count", "rule"), [(0, "unused"), (2, "unused"), (3, None)])
def test_two_recalls_are_too_few(count: int, rule: str | None) -> None:
    """The third keeps it."""
    assert leaves(stated(importance=0.2, access=recalls(count)), NOTEBOOK, LATER) == rule


@pytest.mark.parametrize(
    ("category", "rule"),
    [
        ("fact", "unused"),
        ("moment", "unused"),
        ("preference", None),
        ("decision", None),
        ("principle", None),
        ("correction", None),
        ("commitment", "commitment"),
    ],
)
def test_protected_categories_are_never_archived_as_unused(category: str, rule: str | None) -> None:
    """Commitments, preferences, decisions and principles, and corrections; a promise has its own rule."""
    assert leaves(stated(importance=0.0, category=category), NOTEBOOK, LATER) == rule


def test_only_the_active_is_archived_as_unused() -> None:
    """What is challenged waits for its judgement."""
    assert leaves(stated(importance=0.0, status=Status.CHALLENGED), NOTEBOOK, LATER) is None


@pytest.mark.parametrize("layer", list(Layer))
def test_the_layer_is_no_protection(layer: Layer) -> None:
    """The source knows no layers: dates, importance and use alone decide."""
    assert leaves(extracted(importance=0.0, layer=layer), NOTEBOOK, LATER) == "unused"
