"""Importing ten years makes ten years: age, freshness and order go by when something was said."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.lifecycle.drafts import Draft
from engramdb.testing import ManualClock
from engramdb.values import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOW = datetime(2026, 5, 1, 9, tzinfo=UTC)
LONG_AGO = datetime(2016, 5, 1, 9, tzinfo=UTC)
SAID = "Our server runs Debian"


@pytest.fixture
def engram(tmp_path: Path) -> Iterator[Engram]:
    settings = Settings(store=str(tmp_path / "memory.db"), embedder="static")
    with Engram.open(settings=settings, clock=ManualClock(NOW), background=False) as engram:
        yield engram


def _remember(engram: Engram, said: str, at: datetime, _folder: Path) -> None:
    engram.remember(said, occurred_at=at)


def _bulk(engram: Engram, said: str, at: datetime, _folder: Path) -> None:
    engram.remember_many([Draft(content=said, said_at=at)])


def _observe(engram: Engram, said: str, at: datetime, _folder: Path) -> None:
    engram.observe(f"{said}.", session="old", occurred_at=at)
    engram.flush()


def _import(engram: Engram, said: str, at: datetime, folder: Path) -> None:
    file = folder / f"{at:%Y%m%d}.jsonl"
    file.write_text(json.dumps({"text": said, "date": at.isoformat()}))
    engram.import_from(file, mapping={"content": "text", "occurred_at": "date"})


WAYS_IN = pytest.mark.parametrize("way_in", [_remember, _bulk, _observe, _import])


@WAYS_IN
def test_what_was_said_long_ago_is_old_however_it_comes_in(
    engram: Engram, tmp_path: Path, way_in: Callable[[Engram, str, datetime, Path], None]
) -> None:
    """It was said then, it holds from then on, it is filed under that day, and it was stored today."""
    way_in(engram, SAID, LONG_AGO, tmp_path)

    (memory,) = engram.list()

    assert (memory.said_at, memory.valid_from, memory.when) == (LONG_AGO, LONG_AGO, LONG_AGO)
    assert memory.last_stated_at == LONG_AGO
    assert memory.created_at == NOW


@WAYS_IN
def test_an_old_statement_is_not_fresh_because_it_was_stored_today(
    engram: Engram, tmp_path: Path, way_in: Callable[[Engram, str, datetime, Path], None]
) -> None:
    """Ten years are many half-lives of freshness."""
    way_in(engram, SAID, LONG_AGO, tmp_path)
    engram.remember("Our laptops run Fedora")

    hits = engram.recall("what runs on our server and on our laptops?").hits
    fresh = {hit.memory.content.rstrip("."): hit.trust.freshness for hit in hits}

    assert fresh[SAID] < 0.01
    assert fresh["Our laptops run Fedora"] == 1.0


@WAYS_IN
def test_an_outlook_counts_from_when_it_was_said(
    engram: Engram, tmp_path: Path, way_in: Callable[[Engram, str, datetime, Path], None]
) -> None:
    """Retention is that of ten years, not that of the day of storing."""
    way_in(engram, "I had soup for lunch at the canteen", LONG_AGO, tmp_path)
    way_in(engram, "I had pasta for lunch at the station", NOW - timedelta(hours=1), tmp_path)

    old, new = sorted(engram.list(filters=Filters(), limit=2), key=lambda one: one.stated_at)

    assert engram.forecast(old.id, days=1).soonest[0].retention < 0.1
    assert engram.forecast(new.id, days=1).soonest[0].retention > 0.9


def test_a_summary_of_an_old_session_is_as_old_as_the_session(engram: Engram) -> None:
    """Ending a session that was handed over late does not make it one of today."""
    for minute in range(10):
        line = f"Station {minute} of the tour is a museum with {minute + 3} rooms."
        engram.observe(line, session="old", occurred_at=LONG_AGO + timedelta(minutes=minute))

    summary = engram.end_session("old")

    assert summary is not None
    assert summary.when == LONG_AGO + timedelta(minutes=9)
