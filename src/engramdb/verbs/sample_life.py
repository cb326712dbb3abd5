"""A sample life, for the story of `engram demo` and for the empty page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from engramdb.engine.engram import Engram
from engramdb.errors import AccessDenied, StoreNotEmpty

SPEAKER = "Mira"
WEEK = {
    "monday": (
        "I work at Northwind as a data engineer.",
        "I am allergic to peanuts.",
        "My sister Nora lives in Ghent.",
        "I prefer trains to planes.",
    ),
    "tuesday": (
        "We decided to use PostgreSQL for Falcon.",
        "Ben leads the Falcon project.",
        "Remember that the staging server is called heron.",
        "Falcon is released every Friday after the review.",
    ),
    "friday": (
        "I have a dentist appointment on Thursday.",
        "I will send Ben the migration plan by Monday.",
        "The printer on the second floor is broken today.",
    ),
}
"""What Mira says in her first week, by session."""
NEWS = "My sister Nora moved to Lisbon."
"""What she says three weeks later."""
NEWS_AFTER_DAYS = 21
LOADED_DAYS = 40
"""How long ago the loaded life begins: long enough for the news, and too short for anything to have faded."""


def load_sample_life(engram: Engram, *, now: datetime) -> None:
    """Fill an empty store with what Mira said in the last weeks; raises where the store is not empty."""
    if not is_empty(engram):
        raise StoreNotEmpty("the store holds memories or messages already")
    for session, line, at in _said(now - timedelta(days=LOADED_DAYS)):
        engram.observe(line, speaker=SPEAKER, session=session, occurred_at=at)
    for session in (*WEEK, "later"):
        engram.flush(session=session)


def is_empty(engram: Engram) -> bool:
    """Return whether a store holds nothing, as far as this caller may look."""
    try:
        report = engram.status()
    except AccessDenied:
        return not (engram.list(limit=1) or engram.turns(limit=1))
    return not (report.memories or report.turns)


def _said(at: datetime) -> Iterator[tuple[str, str, datetime]]:
    """Yield session, words and moment of each message."""
    for session, lines in WEEK.items():
        for line in lines:
            yield session, line, at
            at += timedelta(minutes=2)
        at += timedelta(days=2)
    yield "later", NEWS, at + timedelta(days=NEWS_AFTER_DAYS)
