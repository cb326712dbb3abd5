"""The leases of idempotency keys, when the clock itself is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.engine.idempotency import CUT_OFF_WITHIN
from engramdb.errors import RequestUnderWay
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.engine.idempotency import ReplyStore
    from engramdb.testing import ManualClock

REQUEST = b"the same request"


@pytest.fixture
def books(store_path: Path, clock: ManualClock) -> list[ReplyStore]:
    """The books of two processes of one store."""
    return [
        Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False).replies
        for _ in range(2)
    ]


def is_refused(book: ReplyStore) -> bool:
    """Return whether a request is told that another one is at it."""
    try:
        book.begin("", "key", request=REQUEST)
    except RequestUnderWay:
        return True
    return False


def test_a_clock_that_goes_back_does_not_lock_a_key(books: list[ReplyStore], clock: ManualClock) -> None:
    """Of a process that was killed before, it is free as soon as it is after any other crash."""
    killed, other = books
    killed.begin("", "key", request=REQUEST)
    clock.advance(hours=-1)

    assert is_refused(other)  # it may still be at work, and has not had the time to say so

    clock.advance(seconds=CUT_OFF_WITHIN.total_seconds())
    assert not is_refused(other)


def test_who_is_alive_keeps_a_key_when_the_clock_goes_back(
    books: list[ReplyStore], clock: ManualClock
) -> None:
    """Its next sign of life counts by the new time."""
    alive, other = books
    alive.begin("", "key", request=REQUEST)
    clock.advance(hours=-1)
    assert is_refused(other)

    clock.advance(seconds=1)
    assert alive.renew("", "key")
    clock.advance(seconds=CUT_OFF_WITHIN.total_seconds() - 1)

    assert is_refused(other)
