"""The preset `balanced`: the fading of `layered` and the dates of `notebook`, sparing what a person meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from engramdb.policy import PRESETS
from engramdb.policy.aging import LAYERED
from engramdb.values import Layer, Provenance, Source

from .made import BORN, SECOND, days, extracted, leaves, left, recalls, stated

if TYPE_CHECKING:
    from datetime import timedelta

BALANCED = PRESETS["balanced"].aging


def test_it_fades_as_layered_does() -> None:
    """The same curve, half-life and speed."""
    for memory in (stated(), extracted(), extracted(access=recalls(3))):
        for number in (0, 10, 30, 100, 400):
            assert left(memory, BALANCED, number) == left(memory, LAYERED, number)


def test_an_extracted_trifle_is_archived_after_ninety_days() -> None:
    """Ninety days to the second."""
    trifle = extracted(importance=0.1)

    assert leaves(trifle, BALANCED, days(90)) is None
    assert leaves(trifle, BALANCED, days(90) + SECOND) == "faded"


@pytest.mark.parametrize(
    ("source", "rule"), [(Source.HUMAN, None), (Source.ASSISTANT, "faded"), (Source.INGEST, "faded")]
)
def test_what_a_person_asked_to_remember_does_not_fade_away(source: Source, rule: str | None) -> None:
    """What agents and imports put in does."""
    memory = stated(importance=0.0, provenance=Provenance(source=source))

    assert leaves(memory, BALANCED, days(1000)) == rule


@pytest.mark.parametrize("category", ["preference", "decision", "principle", "correction"])
def test_protected_categories_do_not_fade_away(category: str) -> None:
    """Even where they were only read out of a turn."""
    assert leaves(extracted(importance=0.0, category=category), BALANCED, days(1000)) is None


def test_dates_hold_for_the_stated_too() -> None:
    """A doubt that nobody confirmed and a promise that nobody spoke of are over, whoever said them."""
    assert leaves(stated(confidence=0.3), BALANCED, days(30) + SECOND) == "speculative"
    assert leaves(stated(category="commitment"), BALANCED, days(90) + SECOND) == "commitment"


def test_knowledge_stays() -> None:
    """What became knowledge is not archived for want of use."""
    assert leaves(extracted(importance=0.0, layer=Layer.SEMANTIC), BALANCED, days(1000)) is None


@pytest.mark.parametrize(
    ("after", "rule"), [(days(7) - SECOND, None), (days(7), "forget_after"), (days(8), "forget_after")]
)
def test_a_date_of_the_users_own_is_kept_to_the_second(after: timedelta, rule: str | None) -> None:
    """From the moment on that was given, in every preset."""
    memory = stated(forget_after=BORN + days(7))

    assert {leaves(memory, policy.aging, after) for policy in PRESETS.values()} == {rule}


def test_the_first_rule_that_is_due_is_the_one_named() -> None:
    """A speculative promise that is long over leaves by the rule that is asked first."""
    both = stated(confidence=0.1, category="commitment")

    assert leaves(both, BALANCED, days(200)) == "speculative"
    assert leaves(both, replace(BALANCED, rules=("commitment", "faded")), days(200)) == "commitment"
