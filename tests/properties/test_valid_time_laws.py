"""What was true when follows from what was said when, in whatever order it comes in."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Engram, Filters, Settings, Status
from engramdb.lifecycle.drafts import Draft
from engramdb.testing import ManualClock, TinyEmbedder

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIRST = datetime(2016, 1, 1, tzinfo=UTC)
PLACES = ("Rome", "Paris", "Lisbon", "Oslo")
STEP = timedelta(days=30)
TRUE_ONCE = Filters(statuses=frozenset({Status.ACTIVE, Status.CHALLENGED, Status.SUPERSEDED}))

moments = st.integers(0, 100)
told = st.tuples(moments, st.integers(0, 40), st.sampled_from(PLACES))
"""When it was said, how long before that it had begun, and where they lived then."""
histories = st.lists(told, min_size=2, max_size=7, unique_by=lambda one: one[0])


def at(month: int) -> datetime:
    return FIRST + month * STEP


def truth(history: list[tuple[int, int, str]], month: int) -> str | None:
    """Where they lived by all that was said: the last word about that time counts."""
    found = None
    for said, before, place in sorted(history):
        if said - before <= month:
            found = place
    return found


def is_plain(history: list[tuple[int, int, str]]) -> bool:
    """Return whether nothing is said so often that a contradiction of it is only a dispute."""
    return all([place for *_, place in history].count(one) < 3 for one in PLACES)


def draft(one: tuple[int, int, str]) -> Draft:
    said, before, place = one
    return Draft(content=f"I live in {place}", said_at=at(said), valid_from=at(said - before))


@settings(max_examples=25, deadline=None)
@given(history=histories.filter(is_plain), data=st.data())
def test_every_order_of_statements_gives_the_same_past_and_present(
    history: list[tuple[int, int, str]], data: st.DataObject
) -> None:
    """At each moment the answer is what the last word about it says; today it is the last word."""
    with tempfile.TemporaryDirectory() as folder:
        settings_ = Settings(store=str(Path(folder) / "memory.db"), embedder="static")
        with Engram.open(
            settings=settings_, clock=ManualClock(NOW), embedder=TinyEmbedder(), background=False
        ) as engram:
            for one in data.draw(st.permutations(history)):
                engram.remember_many([draft(one)])

            assert [one.content for one in engram.list()] == [f"I live in {max(history)[2]}"]
            stored = engram.list(filters=TRUE_ONCE, limit=100)
            for month in range(-45, 102):
                expected = truth(history, month)
                held = {one.content for one in stored if one.holds_at(at(month))}
                assert held == ({f"I live in {expected}"} if expected else set()), month
            asked = data.draw(moments)
            answer = engram.recall("where do I live?", valid_at=at(asked), turns=False)
            expected = truth(history, asked)
            told_then = {hit.memory.content for hit in answer.hits}
            assert told_then == ({f"I live in {expected}"} if expected else set())
