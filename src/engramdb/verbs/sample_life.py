"""A sample life, for the story of `engram demo` and for the empty page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from engramdb.engine.engram import Engram
from engramdb.errors import AccessDenied, StoreNotEmpty

SPEAKER = "Mira"
WEEK = {
    "monday": (
        "morning! so I'm at Northwind now, data engineering, third week",
        "oh and no peanuts for me, I'm badly allergic, last time I ended up in the ER",
        "my sister Nora lives in Ghent, right above a bakery, lucky her",
        "trains over planes any day, I get so sick flying",
        "haha thanks",
    ),
    "tuesday": (
        "ok so we're going with Postgres for Falcon, Ben wasn't thrilled",
        "Ben's leading Falcon now btw, so it's his call",
        "can you remember that the staging box is called heron?",
        "we cut a Falcon release every Friday, after the review",
    ),
    "friday": (
        "ugh, I have a dentist appointment on Thursday, wish me luck",
        "and I'll send Ben the migration plan by Monday, promise",
        "the printer on the second floor is dead again today, obviously",
    ),
}
"""What Mira says in her first week, by session."""
NEWS = "my sister Nora just moved to Lisbon, can you believe it"
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
