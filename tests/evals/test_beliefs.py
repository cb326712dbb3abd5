"""The suites of `evals.beliefs` measure something: every line is counted, by every way in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engramdb import Scope, Settings
from evals.beliefs import telling
from evals.beliefs.__main__ import SUITES, WANTED
from evals.beliefs.pairs import measure
from evals.beliefs.telling import BASELINES, WAYS
from evals.beliefs.ways_in import DOUBTFUL_WAYS, IN_THE_USERS_NAME, WEAK_WAYS, shared_store

LINES = 2
COLUMNS = ({*WAYS}, {"told", "after a dream"}, {"forgotten", "erased"})
"""What is compared side by side: ways in, before and after a dream, or what became of the statement."""
SETTINGS = Settings(embedder="static", reader="rules")


@pytest.mark.parametrize("suite", SUITES)
def test_every_line_is_counted_by_every_way_in(suite: str) -> None:
    """No column of a suite is empty, and what is wanted of a suite is among its measures."""
    for name, columns in SUITES[suite]("open", list(WAYS), SETTINGS, LINES).items():
        own = {title: tally for title, tally in columns.items() if title not in BASELINES}
        assert set(own) in COLUMNS
        for tally in own.values():
            assert all(len(held) >= 1 for held in tally.shares.values())
            assert max(len(held) for held in tally.shares.values()) >= LINES
            found = {*tally.shares, *tally.absent}
            assert {measure for measure in WANTED.get(name, {}) if ":" not in measure} <= found


def test_what_is_retired_is_counted_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A plain change counts as retired where it should be, and as a mistake where it should not."""
    told = {"domain": "work", "days": 30, "question": "Who is my manager?"}
    change = {"old": "My manager is Alice.", "new": "My manager is Bob now."}
    conflict = {"id": "c1", "form": "textbook", "current": "bob", "stale": "alice", **told, **change}
    harmless = {"id": "h1", "answer": "oslo", **told, **change}
    _write(tmp_path / "open_conflict.jsonl", conflict)
    _write(
        tmp_path / "open_harmless.jsonl",
        harmless | {"old": "I live in Oslo.", "new": "I live in Bergen now."},
    )
    monkeypatch.setattr(telling, "DATA", tmp_path)
    found = measure("open", ["remember", "observe"], SETTINGS, LINES)
    for way in ("remember", "observe"):
        mistakes, changes = found["harmless"][way].shares, found["conflict"][way].shares
        assert changes["retired or challenged"] == [True]
        assert changes["current first"] == [True]
        assert mistakes["wrongly retired"] == [True] or mistakes["wrongly challenged"] == [True]
    for name in BASELINES:
        assert found["conflict"][name].shares["current in the top five"] == [True]


def _write(path: Path, row: dict[str, Any]) -> None:
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")


@pytest.mark.parametrize("way", WEAK_WAYS | DOUBTFUL_WAYS | IN_THE_USERS_NAME)
def test_every_way_in_brings_something(way: str) -> None:
    """A way that stores nothing would overwrite nothing, and bring back nothing, whatever the engine does."""
    scope = Scope(user="ann")
    text = "The orders service runs on port 9090 in production, and the billing service is written in Kotlin."
    with shared_store(SETTINGS) as store:
        (WEAK_WAYS | DOUBTFUL_WAYS | IN_THE_USERS_NAME)[way](store, scope, text)
        found = [one.content for one in store.person.list(scope=scope)]
        found += [
            turn.excerpt for turn in store.person.recall("port of the orders service", scope=scope).said
        ]
        assert any("9090" in one for one in found)
