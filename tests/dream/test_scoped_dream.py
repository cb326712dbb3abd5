"""A dream of one scope reads and changes that scope, and leaves everything else as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Scope, Settings
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import GLOBAL

from .dreamt import NOW

if TYPE_CHECKING:
    from pathlib import Path

ANN, BOB, TEAM = Scope(user="ann"), Scope(user="bob"), Scope(project="falcon")
TOLD = (
    "I live in Lisbon",
    "I live in Lisbon!",
    "I live in Porto",
    "Marta works at Acme",
    "Acme is in Berlin",
    "Marta likes green tea",
    "Marta likes green tea a lot",
)


def open_store(path: Path, scope: Scope = GLOBAL) -> Engram:
    settings = Settings(home=path.parent, durability="relaxed")
    return Engram.open(
        path,
        settings=settings,
        embedder=TinyEmbedder(),
        clock=ManualClock(NOW),
        background=False,
        scope=scope,
    )


def fill(engram: Engram) -> None:
    for scope in (GLOBAL, TEAM, ANN, BOB):
        for line in TOLD:
            engram.remember(line, scope=scope)


@pytest.mark.parametrize("is_opened_in_it", [True, False])
def test_a_dream_of_a_scope_changes_that_scope_alone(tmp_path: Path, *, is_opened_in_it: bool) -> None:
    """Named in the call or by the engine's own scope: of what others hold, not a byte is written."""
    path = tmp_path / "m.db"
    with open_store(path) as engram:
        fill(engram)
        before = {one: snapshot(engram, one) for one in (GLOBAL, TEAM, BOB)}
        mine = snapshot(engram, ANN)
    with open_store(path, ANN if is_opened_in_it else GLOBAL) as engram:
        report = engram.dream() if is_opened_in_it else engram.dream(scope=ANN)
        after = {one: snapshot(engram, one) for one in (GLOBAL, TEAM, BOB)}

        assert report.scope == ANN
        assert report.changed
        assert snapshot(engram, ANN) != mine
        assert after == before


def test_a_dream_of_a_scope_does_what_it_would_do_alone(tmp_path: Path) -> None:
    """The same steps change the same, whatever others have stored; and its number counts no one else's."""
    reports = []
    for name, is_shared in (("alone", False), ("shared", True)):
        with open_store(tmp_path / f"{name}.db") as engram:
            if is_shared:
                fill(engram)
                engram.dream(scope=BOB)
                engram.forget(engram.list(scope=ANN)[0].id, scope=ANN)
            else:
                for line in TOLD:
                    engram.remember(line, scope=ANN)
                engram.forget(engram.list(scope=ANN)[0].id, scope=ANN)
            report = engram.dream(scope=ANN)
            reports.append(
                (
                    [(step.step, step.outcome, step.counts, step.dropped) for step in report.steps],
                    [(change.step, change.action) for change in report.changes],
                    report.number,
                    len(engram.dreams(scope=ANN)),
                )
            )

    assert reports[0] == reports[1]


def test_the_dreams_of_a_scope_are_listed_apart(tmp_path: Path) -> None:
    """Who asks for the dreams of a scope sees those and no other; who asks for all sees all."""
    with open_store(tmp_path / "m.db") as engram:
        fill(engram)
        engram.dream(scope=BOB)
        engram.dream()
        engram.dream(scope=ANN)
        engram.dream(scope=ANN)

        assert [one.number for one in engram.dreams(scope=ANN)] == [2, 1]
        assert [one.number for one in engram.dreams(scope=ANN, before=2)] == [1]
        assert [one.scope for one in engram.dreams()] == [ANN, ANN, None, BOB]
        assert [one.number for one in engram.dreams()] == [4, 3, 2, 1]
        assert engram.dreams(scope=Scope(user="carl")) == []


def snapshot(engram: Engram, scope: Scope) -> bytes:
    """All that is stored in exactly one scope: memories, their history and links, questions, summaries."""
    with engram._parts.store.read() as tx:
        number = tx.scopes.find(scope)
    connection = engram._parts.store._writer  # type: ignore[attr-defined]
    held = "(SELECT key FROM memories WHERE scope = ?1)"
    rows = [
        connection.execute(sql, (number,)).fetchall()
        for sql in (
            "SELECT * FROM memories WHERE scope = ?1",
            "SELECT * FROM history WHERE memory_id IN (SELECT id FROM memories WHERE scope = ?1)",
            f"SELECT * FROM edges WHERE source IN {held} OR target IN {held}",  # noqa: S608
            f"SELECT * FROM replays WHERE memory IN {held}",  # noqa: S608
            "SELECT * FROM gaps WHERE scope = ?1",
            "SELECT * FROM tree_nodes WHERE scope = ?1",
            "SELECT * FROM entities WHERE scope = ?1",
            "SELECT * FROM scope_terms WHERE scope = ?1",
        )
    ]
    return repr(rows).encode()
