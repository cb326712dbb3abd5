"""What a scope may not see, or a filter leaves out, neither disputes a hit nor stands beside it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engramdb import Filters, Scope
from engramdb.values import EdgeType

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.testing import ManualClock

ANN, OTTO = Scope(user="ann"), Scope(user="ann", agent="otto")


def test_a_dispute_from_a_scope_that_is_not_seen_does_not_show(engram: Engram) -> None:
    """An agent of Ann's contradicts her memory in its own scope: her answers and scores stay the same."""
    mine = engram.remember("The ferry leaves at nine", scope=ANN)
    before = engram.recall("when does the ferry leave?", scope=ANN).hits
    theirs = engram.remember("The ferry leaves at ten in summer", scope=OTTO)
    engram.link(theirs.id, mine.id, type=EdgeType.CONTRADICTS, scope=OTTO)

    after = engram.recall("when does the ferry leave?", scope=ANN).hits

    assert [(hit.memory.id, hit.score, hit.trust.accuracy) for hit in after] == [
        (hit.memory.id, hit.score, hit.trust.accuracy) for hit in before
    ]


def test_filters_hold_for_what_was_replaced(engram: Engram, clock: ManualClock) -> None:
    """Asked about the past with a category, an answer holds that category alone."""
    old = engram.remember("I live in Hamburg", category="note")
    then = clock.now() + timedelta(hours=1)
    clock.advance(days=30)
    engram.correct(old.id, "I live in Leipzig")
    asked = "where do I live, in Leipzig?"

    found = engram.recall(asked, as_of=then, filters=Filters(categories=frozenset({"fact"})))

    assert [hit.memory.category for hit in engram.recall(asked, as_of=then).hits] == ["note"]
    assert not [hit for hit in found.hits if hit.memory.category != "fact"]
