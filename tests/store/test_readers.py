"""Reading from many threads: nobody waits for a connection, and closing waits for readers."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from engramdb.errors import StoreBusy
from engramdb.store.sqlite import connection as readers
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """A store that keeps two readers open, and is impatient."""
    opened = SqliteStore.open(str(store_path), now=ManualClock().now(), readers=2, busy_timeout_seconds=0.2)
    yield opened
    opened.close()


def test_more_threads_than_kept_readers_read_at_the_same_time(store: SqliteStore) -> None:
    """All of a dozen threads are inside a snapshot at once."""
    together = threading.Barrier(12, timeout=20)

    def read(_: int) -> int:
        with store.read() as tx:
            together.wait()
            return tx.memories.count()

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(read, range(12))) == [0] * 12


def test_a_snapshot_inside_a_snapshot_does_not_wait_for_itself(store: SqliteStore) -> None:
    """Threads that each hold one and open another come through."""
    together = threading.Barrier(6, timeout=20)

    def read(_: int) -> int:
        with store.read():
            together.wait()
            with store.read() as tx:
                return tx.memories.count()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(read, range(6))) == [0] * 6


def test_too_many_readers_are_told_so(store: SqliteStore) -> None:
    """After its patience the one too many gets an error with a code, and the others are unharmed."""
    with ExitStack() as held:
        for _ in range(readers.MAX_READERS):
            held.enter_context(store.read())

        with pytest.raises(StoreBusy), store.read():
            pass

    with store.read() as tx:
        assert tx.memories.count() == 0


def test_closing_waits_for_who_is_reading(store: SqliteStore) -> None:
    """The snapshot stays whole until its reader is done."""
    inside, go = threading.Event(), threading.Event()
    seen: list[int] = []

    def read() -> None:
        with store.read() as tx:
            inside.set()
            assert go.wait(20)
            seen.append(tx.memories.count())

    reader = threading.Thread(target=read)
    reader.start()
    assert inside.wait(20)
    closer = threading.Thread(target=store.close)
    closer.start()
    go.set()
    reader.join()
    closer.join()

    assert seen == [0]
