"""The write-ahead log stays short while somebody always reads, and emptying it is in nobody's way."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from engramdb.errors import StoreUnreadable
from engramdb.store.sqlite import checkpoints
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock
from engramdb.values import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = ManualClock().now()
WRITES = 300
PAGE_BYTES = 4096


@pytest.fixture
def store(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """A store whose log counts as long after a few pages."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 20)
    monkeypatch.setattr(checkpoints, "RESTART_PAGES", 60)
    opened = SqliteStore.open(str(store_path), now=NOW, is_durable=False)
    yield opened
    opened.close()


def write(store: SqliteStore, number: int) -> None:
    """Write a few pages."""
    with store.atomic() as tx:
        tx.documents.put(("notes",), "name", f"{number} " * 2000, scope=GLOBAL, now=NOW)


def log_pages(path: Path) -> int:
    """Return how long the log file is, which never gets shorter."""
    return path.with_name(path.name + "-wal").stat().st_size // PAGE_BYTES


def test_the_log_does_not_grow_for_as_long_as_somebody_reads(store: SqliteStore, store_path: Path) -> None:
    """Readers that overlap leave SQLite no moment to begin the log anew; here it is made."""
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            with store.read() as tx:
                tx.documents.get(("notes",), "name", scope=GLOBAL, now=NOW)
                stop.wait(0.005)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    try:
        for number in range(WRITES):
            write(store, number)
    finally:
        stop.set()
        for reader in readers:
            reader.join()

    assert log_pages(store_path) < 300


def test_a_write_stands_though_the_log_cannot_be_emptied(store: SqliteStore, store_path: Path) -> None:
    """What was acknowledged is in the log, and is read from there by everybody."""

    def refuse() -> None:
        raise StoreUnreadable("no file can be opened any more")

    store._checkpointer._connect = refuse  # type: ignore[assignment]
    for number in range(20):
        write(store, number)

    with store.read() as tx:
        found = tx.documents.get(("notes",), "name", scope=GLOBAL, now=NOW)
    assert found is not None
    assert found.value.startswith("19 ")
    assert log_pages(store_path) > 20


def test_nobody_waits_for_a_long_reader(store: SqliteStore) -> None:
    """While somebody reads old pages the log grows on; writers do not stand still for it."""
    with store.read() as tx:
        tx.documents.get(("notes",), "name", scope=GLOBAL, now=NOW)
        writer = threading.Thread(target=lambda: list(map(partial(write, store), range(40))))
        writer.start()
        writer.join(timeout=30)
        assert not writer.is_alive()
