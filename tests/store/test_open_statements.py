"""A question that was not read to its end: whoever asks or writes next is not kept in the past by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import apsw
import pytest

from engramdb.errors import StoreCorrupt
from engramdb.store.contract import DocumentRange
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock
from engramdb.values import GLOBAL, Memory, Traits, new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from engramdb.store.contract import Transaction

NOW = ManualClock().now()
TRAITS = Traits(language="en")


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """A store with three memories and three documents, that keeps one reader."""
    opened = SqliteStore.open(str(store_path), now=NOW, readers=1, busy_timeout_seconds=0.3)
    for number in range(3):
        add(opened, f"The boat number {number} is blue")
    yield opened
    opened.close()


def add(store: SqliteStore, text: str) -> None:
    """Store a memory, and a document that goes by its words."""
    with store.atomic() as tx:
        known = Memory(id=new_id(NOW), content=text, created_at=NOW, updated_at=NOW, traits=TRAITS)
        tx.memories.add(known, fingerprint=text.encode())
        tx.documents.put(("notes",), text, text, scope=GLOBAL, now=NOW)


def statement(tx: Transaction) -> Any:
    """Any statement of which one row was read, as a loop leaves it that raises."""
    rows = tx.documents._connection.execute("SELECT id FROM memories")  # type: ignore[attr-defined]
    next(rows)
    return rows


def shelf(tx: Transaction) -> Any:
    """Documents that somebody stopped reading."""
    walk = tx.documents.iterate(DocumentRange(scope=GLOBAL, now=NOW))
    next(walk)
    return walk


def traits(tx: Transaction) -> Any:
    """The traits of all memories, begun."""
    told = tx.traits._expected_rows()  # type: ignore[attr-defined]
    return told, next(told, None)


UNFINISHED = [statement, shelf, traits]


@pytest.mark.parametrize("begin", UNFINISHED)
def test_a_reader_that_left_a_question_open_sees_what_came_later(
    store: SqliteStore, begin: Callable[[Transaction], Any]
) -> None:
    """The connection is lent again, and must not answer from an old snapshot."""
    with store.read() as tx:
        held = begin(tx)
    add(store, "The harbour opens at seven")

    with store.read() as tx:
        seen = tx.memories.count()

    assert seen == 4
    assert held is not None


@pytest.mark.parametrize("begin", UNFINISHED)
def test_a_writer_that_left_a_question_open_writes_again(
    store: SqliteStore, store_path: Path, begin: Callable[[Transaction], Any]
) -> None:
    """Also where another process has written since."""
    with store.atomic() as tx:
        held = begin(tx)
    other = SqliteStore.open(str(store_path), now=NOW)
    add(other, "The harbour opens at seven")
    other.close()

    add(store, "The harbour closes at nine")

    with store.read() as tx:
        assert tx.memories.count() == 5
    assert held is not None


def test_a_damaged_row_keeps_no_reader_in_the_past(store: SqliteStore, store_path: Path) -> None:
    """However long the error is held on to."""
    outside = apsw.Connection(str(store_path))
    outside.execute("UPDATE memories SET traits = '[broken'")
    outside.close()
    with pytest.raises(StoreCorrupt) as held, store.read() as tx:
        tx.traits.count_wrong()
    add(store, "The harbour opens at seven")

    with store.read() as tx:
        assert tx.memories.count() == 4
    assert held.traceback
