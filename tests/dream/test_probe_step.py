"""Old beliefs that much rests on are questioned, and by some policies disputed until somebody answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from engramdb.dream.gaps import GapsStep
from engramdb.dream.probe import PROBE_REASON, ProbeStep
from engramdb.policy import PRESETS, InsightPolicy
from engramdb.values import GapKind, Kind, Status
from engramdb.values.reading import Lasting

from .insighted import counts, rewritten, take, used

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.testing import ManualClock

LOSING = replace(PRESETS["balanced"], insight=InsightPolicy(probe_weaken_by=0.2))


def test_an_old_belief_that_is_used_much_is_questioned(engram: Engram, clock: ManualClock) -> None:
    """Said once, recalled often, never confirmed in three months: it is time to ask."""
    asked = used(engram, engram.remember("Anna lives in Berlin"), 30)
    engram.remember("Anna likes tulips")
    clock.advance(days=100)

    take(engram, ProbeStep())

    (gap,) = engram.gaps()
    assert (gap.kind, gap.memories) == (GapKind.STALE, (asked.id,))
    assert gap.question == "On 1 January 2026 you said “Anna lives in Berlin”. Is that still so?"
    assert engram.get(asked.id).status is Status.ACTIVE


def test_what_is_young_or_was_confirmed_is_not_questioned(engram: Engram, clock: ManualClock) -> None:
    """Evidence that came in again is an answer already."""
    confirmed = used(engram, engram.remember("Anna lives in Berlin"), 30)
    clock.advance(days=100)
    engram.remember(confirmed.content)
    used(engram, engram.remember("The office is in Hamburg"), 30)

    report = take(engram, ProbeStep())

    assert counts(report) == {}


def test_a_belief_loses_confidence_once_for_one_questioning(engram: Engram, clock: ManualClock) -> None:
    """The policy may make a questioned belief less sure; asking again takes nothing more."""
    memory = used(engram, engram.remember("Anna lives in Berlin"), 30)
    clock.advance(days=100)

    take(engram, ProbeStep(), policy=LOSING)
    again = take(engram, ProbeStep(), policy=LOSING)

    assert round(engram.get(memory.id).confidence, 2) == 0.8
    assert counts(again) == {}
    assert [event.reason for event in engram.history(memory.id)].count(PROBE_REASON) == 1


def test_a_pinned_belief_is_asked_about_and_keeps_its_confidence(engram: Engram, clock: ManualClock) -> None:
    """A person has vouched for it."""
    memory = used(engram, engram.remember("Anna lives in Berlin", pinned=True), 30)
    clock.advance(days=100)

    take(engram, ProbeStep(), policy=LOSING)

    assert engram.get(memory.id).confidence == memory.confidence
    assert len(engram.gaps()) == 1


def test_no_more_are_asked_than_the_policy_allows(engram: Engram, clock: ManualClock) -> None:
    """A closed question makes room for the next most used belief."""
    for number, name in enumerate(("Anna", "Bernd", "Clara", "David")):
        used(engram, engram.remember(f"{name} lives in house number {number * 7}"), 20 + number)
    clock.advance(days=100)
    few = replace(PRESETS["balanced"], insight=InsightPolicy(probe_most=2))

    take(engram, ProbeStep(), policy=few)
    first = engram.gaps()
    engram.close_gap(first[0].id, reason="still so")
    take(engram, ProbeStep(), policy=few)

    assert len(first) == 2
    assert len(engram.gaps()) == 2
    assert first[0].id not in [gap.id for gap in engram.gaps()]


def test_the_policy_may_mark_what_is_questioned_as_disputed_until_somebody_answers(
    engram: Engram, clock: ManualClock
) -> None:
    """It is asked about once, counts again after a yes, and is then left in peace."""
    memory = used(engram, engram.remember("Anna works at Siemens"), 30)
    clock.advance(days=100)
    layered = PRESETS["layered"]

    take(engram, ProbeStep(), GapsStep(), policy=layered)
    asked = engram.gaps()
    status = engram.get(memory.id).status
    engram.answer(asked[0].id, "yes")
    clock.advance(days=100)
    take(engram, ProbeStep(), GapsStep(), policy=layered)

    assert [gap.question for gap in asked] == [
        "On 1 January 2026 you said “Anna works at Siemens”. Is that still so?"
    ]
    assert status is Status.CHALLENGED
    assert engram.get(memory.id).status is Status.ACTIVE
    assert engram.gaps() == []


def test_what_is_disputed_for_its_age_is_recalled_with_the_question(
    engram: Engram, clock: ManualClock
) -> None:
    """Nothing was said against it; the answer to the question settles it."""
    memory = used(engram, engram.remember("Anna works at Siemens"), 30)
    clock.advance(days=100)
    take(engram, ProbeStep(), policy=PRESETS["layered"])

    (before,) = engram.recall("where does Anna work?").hits
    (dispute,) = before.disputes
    engram.answer(dispute.question_id or "", "yes")
    (after,) = engram.recall("where does Anna work?").hits

    assert (before.memory.id, before.memory.status) == (memory.id, Status.CHALLENGED)
    assert (dispute.by, dispute.kind) == (None, None)
    assert dispute.question == "On 1 January 2026 you said “Anna works at Siemens”. Is that still so?"
    assert (after.memory.status, after.disputes) == (Status.ACTIVE, ())


def test_a_question_that_was_closed_without_an_answer_is_not_asked_in_other_words(
    engram: Engram, clock: ManualClock
) -> None:
    """Whoever does not want to say is left in peace; the belief stays marked."""
    memory = used(engram, engram.remember("Anna works at Siemens"), 30)
    clock.advance(days=100)
    take(engram, ProbeStep(), GapsStep(), policy=PRESETS["layered"])
    engram.close_gap(engram.gaps()[0].id, reason="none of your business")

    take(engram, ProbeStep(), GapsStep(), policy=PRESETS["layered"])

    assert engram.gaps() == []
    assert engram.get(memory.id).status is Status.CHALLENGED


@pytest.mark.parametrize(
    "lasting", [{"pinned": True}, {"lasting": Lasting.PERMANENT}, {"kind": Kind.EPISODE}], ids=str
)
def test_what_time_does_not_change_is_not_disputed(
    engram: Engram, clock: ManualClock, lasting: dict[str, Any]
) -> None:
    """A birthday, what a person pinned and what happened are asked about at most."""
    memory = used(engram, engram.remember("Anna works at Siemens"), 30)
    rewritten(engram, memory, **lasting)
    clock.advance(days=100)

    take(engram, ProbeStep(), policy=PRESETS["layered"])

    assert engram.get(memory.id).status is Status.ACTIVE


def test_by_default_a_question_changes_no_status(engram: Engram, clock: ManualClock) -> None:
    """Being asked about is no reason to believe something less."""
    memory = used(engram, engram.remember("Anna works at Siemens"), 30)
    clock.advance(days=100)

    take(engram, ProbeStep())

    assert engram.get(memory.id).status is Status.ACTIVE
