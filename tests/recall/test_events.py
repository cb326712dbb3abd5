"""When an event was that a question hangs on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.testing import ManualClock


@pytest.fixture
def release(engram: Engram, clock: ManualClock) -> Engram:
    """A store in which the release was ten days ago, with something before and something after it."""
    now = clock.now()
    engram.remember("The tests were red for a whole day", occurred_at=now - timedelta(days=30))
    engram.remember("The release of version 2 went out", occurred_at=now - timedelta(days=10))
    engram.remember("The tests were red on Linux only", occurred_at=now - timedelta(days=2))
    return engram


def test_a_time_is_counted_from_an_event_that_is_remembered(release: Engram, clock: ManualClock) -> None:
    """The time begins when the release was, and what lies after it comes first."""
    answer = release.recall("Since the release, when were the tests red?")

    assert answer.quality.period == (clock.now() - timedelta(days=10), None)
    tests = [hit.memory.content for hit in answer.hits if "tests" in hit.memory.content]
    assert tests[0] == "The tests were red on Linux only"


def test_an_event_that_nobody_told_of_is_named_as_unknown(release: Engram) -> None:
    """The question is answered without a time, and says so."""
    answer = release.recall("Since the wedding, when were the tests red?")

    assert answer.quality.period is None
    assert [missing.index for missing in answer.quality.missing] == ["time"]
    assert answer.hits


def test_what_was_forgotten_dates_nothing(release: Engram, clock: ManualClock) -> None:
    """A memory that no longer counts is no event either."""
    release.remember("The release party of the other team", occurred_at=clock.now() - timedelta(days=1))
    newest = release.list(limit=1)[0]
    release.forget(newest.id, reason="not ours")

    answer = release.recall("Since the release, when were the tests red?")

    assert answer.quality.period == (clock.now() - timedelta(days=10), None)


def test_an_event_of_the_future_is_none_yet(release: Engram, clock: ManualClock) -> None:
    """A planned release is not the one that was; asked as of earlier, neither is a later one."""
    release.remember("The release of version 3 is planned", occurred_at=clock.now() + timedelta(days=5))

    answer = release.recall("Since the release, when were the tests red?")

    assert answer.quality.period == (clock.now() - timedelta(days=10), None)
