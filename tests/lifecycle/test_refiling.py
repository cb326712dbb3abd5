"""A store of an earlier version is filed in the background, in small writes that a kill does not undo."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from engramdb import Draft, Engram, Layer, MemoryType
from engramdb.lifecycle.backlog import BATCH, FILED, FILING
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Action, Status
from engramdb.values.reading import Lasting

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunChild

FACT = "The API uses JWT tokens"
RULE = "never push to main"
EVENT = "Yesterday the staging server crashed"
FORMER = "UPDATE memories SET lasting = NULL, force = 'asserted'"
DEFAULTS = ", layer = 'episodic', type = 'fact', kind = 'note', category = 'general'"
ENRICH = """
    import sys, time
    from engramdb import Engram
    from engramdb.lifecycle import backlog
    from engramdb.testing import TinyEmbedder

    backlog.BATCH = 4
    with Engram.open(sys.argv[1], embedder=TinyEmbedder(), background=False) as engram:
        print("ready", flush=True)
        engram.enrich(progress=lambda _number: time.sleep(0.02))
    print("done", flush=True)
"""


def opened(path: Path, clock: ManualClock, **options: Any) -> Engram:
    """An engine on a file."""
    return Engram.open(path, clock=clock, embedder=TinyEmbedder(), **{"background": False} | options)


def execute(path: Path, sql: str) -> list[Any]:
    """Run a statement on a file that may be in use."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


@pytest.fixture
def old_store(store_path: Path, clock: ManualClock) -> Path:
    """A file as the version before left it: one layer, one type and one category for everything."""
    with opened(store_path, clock) as engram:
        for words in (FACT, RULE, EVENT):
            engram.remember(words)
    execute(store_path, FORMER + DEFAULTS)
    return store_path


def test_an_old_store_is_filed_with_history_and_only_once(old_store: Path, clock: ManualClock) -> None:
    """Status counts what waits; each change is in the history, by a rule, with what was before."""
    with opened(old_store, clock) as engram:
        waiting = engram.status().awaiting_enrichment
        done, again = engram.enrich(), engram.enrich()
        filed = {one.content: (one.layer, one.type, one.category) for one in engram.list()}
        events = [event for one in engram.list() for event in engram.history(one.id)[1:]]

        assert (waiting, done, again, engram.status().awaiting_enrichment) == (3, 3, 0, 0)
    assert filed == {
        FACT: (Layer.SEMANTIC, MemoryType.FACT, "fact"),
        RULE: (Layer.PROCEDURAL, MemoryType.PROCEDURE, "instruction"),
        EVENT: (Layer.EPISODIC, MemoryType.NARRATIVE, "moment"),
    }
    assert {(event.action, event.actor, event.reason) for event in events} == {
        (Action.RELABEL, FILING, FILED)
    }
    assert all(event.changes["lasting"] == (None, Lasting.STABLE) for event in events)


def test_it_happens_in_the_background_after_opening(old_store: Path, clock: ManualClock) -> None:
    """Nobody has to ask."""
    with opened(old_store, clock, background=True) as engram:
        engram.recall("tokens")
        until = time.monotonic() + 30
        while engram.status().awaiting_enrichment and time.monotonic() < until:
            time.sleep(0.05)
        assert engram.status().awaiting_enrichment == 0
        assert {one.content: one.layer for one in engram.list()}[FACT] is Layer.SEMANTIC


def test_what_somebody_chose_and_what_a_dream_made_stay(store_path: Path, clock: ManualClock) -> None:
    """A layer held by a person, any label other than the former default, conclusions, and what is gone."""
    with opened(store_path, clock) as engram:
        held, chosen, gone, made = engram.remember_many(
            [
                Draft(content=FACT),
                Draft(content="Staging runs Postgres 15"),
                Draft(content="The frontend is built with Svelte"),
                Draft(content="Marcus is vegan", extractor="dream.patterns-1"),
            ]
        )
        engram.demote(held.id, reason="not sure about it")
        engram.forget(gone.id)
    execute(store_path, f"{FORMER}, layer = 'episodic'")
    execute(
        store_path, "UPDATE memories SET kind = 'episode', category = 'mine' WHERE content LIKE 'Staging%'"
    )

    with opened(store_path, clock) as engram:
        done = engram.enrich()

        assert done == 2
        assert engram.get(held.id).layer is Layer.EPISODIC
        assert (engram.get(chosen.id).layer, engram.get(chosen.id).category) == (Layer.EPISODIC, "mine")
        assert engram.get(made.id).layer is Layer.EPISODIC
        assert engram.get(gone.id).status is Status.FORGOTTEN
        assert engram.get(gone.id).lasting is None


def test_the_past_is_still_answered_as_it_was(old_store: Path, clock: ManualClock) -> None:
    """Filing is a change of labels: an answer as of yesterday has yesterday's."""
    before = clock.now()
    clock.advance(days=1)
    with opened(old_store, clock) as engram:
        engram.enrich()
        (then,) = [
            one for one in engram.recall("JWT tokens", as_of=before).hits if one.memory.content == FACT
        ]

        assert (then.memory.layer, then.memory.lasting) == (Layer.EPISODIC, None)


def test_aging_does_not_take_filing_for_news(old_store: Path, clock: ManualClock) -> None:
    """What was idle for months is as idle as before, and was changed when it was changed."""
    clock.advance(days=200)
    with opened(old_store, clock) as engram:
        before = {one.id: one.updated_at for one in engram.list()}
        engram.enrich()

        assert {one.id: one.updated_at for one in engram.list()} == before
        assert clock.now() - min(before.values()) == timedelta(days=200)


def test_writes_are_small(old_store: Path, clock: ManualClock) -> None:
    """Others wait for one batch at most."""
    with opened(old_store, clock) as engram:
        engram.remember_many([Draft(content=f"Shelf {number} holds nails") for number in range(2 * BATCH)])
    execute(old_store, FORMER)
    batches: list[int] = []
    with opened(old_store, clock) as engram:
        engram.enrich(progress=batches.append)

    assert max(batches) <= BATCH
    assert sum(batches) >= 2 * BATCH


def test_a_killed_process_is_gone_on_for(store_path: Path, clock: ManualClock, child: RunChild) -> None:
    """Nothing is filed twice, and in the end everything is."""
    with opened(store_path, clock) as engram:
        stored = engram.remember_many([Draft(content=f"Shelf {number} holds nails") for number in range(200)])
    execute(store_path, FORMER + DEFAULTS)

    filing = child.start(ENRICH, store_path)
    assert filing.stdout is not None
    assert filing.stdout.readline() == "ready\n"
    until = time.monotonic() + 60
    while filed_count(store_path) < 20:
        assert time.monotonic() < until
        time.sleep(0.005)
    filing.kill()
    assert "done" not in filing.communicate()[0]
    at_death = filed_count(store_path)

    with opened(store_path, clock) as engram:
        rest = engram.enrich()
        rows = [len(engram.history(one.id)) for one in stored]

    assert 0 < at_death < len(stored)
    assert rest == len(stored) - at_death
    assert set(rows) == {2}
    assert filed_count(store_path) == len(stored)


def filed_count(path: Path) -> int:
    """How many memories of a file are filed."""
    return int(execute(path, "SELECT count(*) FROM memories WHERE lasting IS NOT NULL")[0][0])
