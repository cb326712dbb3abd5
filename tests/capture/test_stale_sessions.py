"""A session that is over is summed up by what weighs; nothing leaves under a summary that tells it not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.values import Memory

SMALL_TALK = (
    "I bought apples at the market.",
    "We went past the old fountain.",
    "I met Rosa at the bakery.",
    "The kids drew horses after lunch.",
    "We watched two boats come in.",
)
DIAGNOSIS = "Yesterday the billing server crashed because the disk was full of core dumps."


@pytest.fixture
def tiered(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """A memory that sums up sessions after thirty days."""
    settings = Settings(policy="tiered", durability="relaxed")
    with Engram.open(
        store_path, settings=settings, clock=clock, embedder=TinyEmbedder(), background=False
    ) as engram:
        yield engram


def say(engram: Engram, *texts: str) -> None:
    """Have a conversation."""
    for text in texts:
        engram.observe(text, session="s1")
    engram.flush()


def summary_of(engram: Engram) -> Memory:
    """The summary of the session."""
    (found,) = [one for one in engram.list(limit=200) if one.is_session_summary]
    return found


def test_the_end_of_a_session_keeps_the_diagnosis_and_not_the_apples(tiered: Engram) -> None:
    """What gives a reason weighs more than what came first."""
    say(tiered, *SMALL_TALK, DIAGNOSIS)

    summary = tiered.end_session("s1")

    assert summary is not None
    assert "disk was full" in summary.content


def test_a_stale_session_can_still_be_asked_about(tiered: Engram, clock: ManualClock) -> None:
    """Its episodes have left, and the summary tells every one of them."""
    say(tiered, *SMALL_TALK, DIAGNOSIS)
    clock.advance(days=31)

    report = tiered.age()

    answer = tiered.recall("why did the billing server crash?")
    assert report.by_rule["stale_session"] >= 1
    assert "disk was full" in answer.hits[0].memory.content
    told = summary_of(tiered).content
    gone = [one for one in everything(tiered) if one.status is Status.ARCHIVED]
    assert gone
    assert all(one.told.rstrip(".") in told for one in gone)


def test_what_the_summary_has_no_room_for_stays(tiered: Engram, clock: ManualClock) -> None:
    """Of a long session the weightiest is told; the rest leaves when its own time has come."""
    many = [f"We walked to viewpoint number {number} and counted the herons there." for number in range(90)]
    say(tiered, *many, DIAGNOSIS)
    clock.advance(days=31)
    foretold = tiered.age(dry_run=True)

    report = tiered.age()

    told = summary_of(tiered).content
    found = everything(tiered)
    gone = [one for one in found if one.status is Status.ARCHIVED]
    assert "disk was full" in told
    assert 0 < len(gone) < len(found) - 1
    assert foretold.by_rule == report.by_rule
    assert all(one.told.rstrip(".") in told for one in gone)


def test_a_session_too_short_to_be_told_keeps_what_was_said(tiered: Engram, clock: ManualClock) -> None:
    """There is no summary of two sentences, so nothing leaves for one."""
    say(tiered, DIAGNOSIS, "I bought apples at the market.")
    clock.advance(days=31)

    assert "stale_session" not in tiered.age().by_rule


def test_a_summary_is_not_evicted(tiered: Engram, clock: ManualClock) -> None:
    """It is all that is left of its session, and stays when everything else of its age is gone."""
    say(tiered, *SMALL_TALK, DIAGNOSIS)
    for _ in range(30):
        clock.advance(days=31)
        tiered.age()

    assert summary_of(tiered).status is Status.ACTIVE


def everything(engram: Engram) -> list[Memory]:
    """All memories, whatever became of them."""
    with engram._parts.store.read() as tx:
        return list(tx.memories.by_keys(list(range(1, 1_000))).values())
