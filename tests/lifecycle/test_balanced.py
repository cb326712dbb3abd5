"""The preset `balanced`: the fading of `layered` and the dates of `notebook`, sparing what a person meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from engramdb.policy import PRESETS
from engramdb.policy.aging import LAYERED
from engramdb.values import Layer, Provenance, Source
from engramdb.values.reading import Lasting

from .made import BORN, SECOND, aroused, days, extracted, leaves, left, promised, recalls, stated

if TYPE_CHECKING:
    from datetime import timedelta

BALANCED = PRESETS["balanced"].aging


def test_it_fades_as_layered_does() -> None:
    """The same curve, half-life and speed."""
    for memory in (stated(), extracted(), extracted(access=recalls(3))):
        for number in (0, 10, 30, 100, 400):
            assert left(memory, BALANCED, number) == left(memory, LAYERED, number)


def test_an_extracted_trifle_is_archived_after_fifty_four_days() -> None:
    """To the second: three tenths are left after 5.4 of its half-lives."""
    trifle = extracted(importance=0.1)

    assert leaves(trifle, BALANCED, days(54)) is None
    assert leaves(trifle, BALANCED, days(54) + SECOND) == "faded"


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
    """A doubt that nobody confirmed and a promise whose day is long past are over, whoever said them."""
    assert leaves(stated(confidence=0.3), BALANCED, days(30) + SECOND) == "speculative"
    assert leaves(promised(day=20), BALANCED, days(110)) is None
    assert leaves(promised(day=20), BALANCED, days(110) + SECOND) == "commitment"


def test_a_promise_without_a_date_stays() -> None:
    """Nobody has kept it yet; `notebook` alone takes it after ninety days, as its source says."""
    assert leaves(stated(category="commitment"), BALANCED, days(3650)) is None
    assert leaves(stated(category="commitment"), PRESETS["notebook"].aging, days(91)) == "commitment"


def test_procedures_and_unread_knowledge_stay() -> None:
    """How to do something is not archived for want of use, nor is knowledge of an earlier version."""
    unread = extracted(importance=0.0, layer=Layer.SEMANTIC)
    how = extracted(importance=0.0, layer=Layer.PROCEDURAL, lasting=Lasting.STABLE)

    assert leaves(unread, BALANCED, days(3650)) is None
    assert leaves(how, BALANCED, days(3650)) is None


def test_what_somebody_knows_fades_ten_times_slower() -> None:
    """Half is left after a hundred days where it was read out of talk, and after ten months where stated."""
    known = {"lasting": Lasting.STABLE, "layer": Layer.SEMANTIC}
    assert left(extracted(**known), BALANCED, 100) == pytest.approx(0.5)
    assert left(stated(**known), BALANCED, 300) == pytest.approx(0.5)
    assert left(extracted(lasting=Lasting.PASSING), BALANCED, 10) == pytest.approx(0.5)


def test_what_moved_deeply_fades_more_slowly() -> None:
    """At full arousal twice as long as what left nobody moved."""
    moving = extracted(affect=aroused(1.0))

    assert left(moving, BALANCED, 20) == pytest.approx(0.5)
    assert left(extracted(), BALANCED, 10) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("after", "rule"), [(days(7) - SECOND, None), (days(7), "forget_after"), (days(8), "forget_after")]
)
def test_a_date_of_the_users_own_is_kept_to_the_second(after: timedelta, rule: str | None) -> None:
    """From the moment on that was given, in every preset."""
    memory = stated(forget_after=BORN + days(7))

    assert {leaves(memory, policy.aging, after) for policy in PRESETS.values()} == {rule}


def test_the_first_rule_that_is_due_is_the_one_named() -> None:
    """A speculative promise that is long over leaves by the rule that is asked first."""
    both = promised(confidence=0.1)

    assert leaves(both, BALANCED, days(200)) == "speculative"
    assert leaves(both, replace(BALANCED, rules=("commitment", "faded")), days(200)) == "commitment"
