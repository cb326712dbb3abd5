"""Another process that keeps the file locked delays writers, then refuses them, and loses nothing."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import apsw
import pytest

from engramdb import Engram, Settings
from engramdb.errors import StoreBusy
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import RunChild

HOLD_THE_LOCK = """
    import sys
    import apsw

    connection = apsw.Connection(sys.argv[1])
    connection.execute("BEGIN IMMEDIATE")
    print("locked", flush=True)
    sys.stdin.readline()
    connection.execute("ROLLBACK")
"""


@pytest.fixture
def impatient(store_path: Path) -> Iterator[Engram]:
    """A memory that waits a third of a second for other writers."""
    settings = Settings(busy_timeout_seconds=0.3)
    with Engram.open(store_path, settings=settings, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("I like tea")
        yield engram


def test_a_locked_file_refuses_a_write_after_the_timeout(
    impatient: Engram, store_path: Path, child: RunChild
) -> None:
    """The write is refused as busy, questions are still answered, and the next try after release works."""
    holder = child.start(HOLD_THE_LOCK, store_path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"

    started = time.monotonic()
    with pytest.raises(StoreBusy) as refused:
        impatient.remember("I like coffee")
    waited = time.monotonic() - started
    answer = impatient.recall("tea")
    holder.communicate("go\n")
    after = impatient.remember("I like coffee")

    assert refused.value.code == "E1005"
    assert waited >= 0.25
    assert [hit.memory.content for hit in answer.hits] == ["I like tea"]
    assert after.content == "I like coffee"
    assert impatient.status().memories == 2


def test_a_lock_that_is_released_in_time_is_only_a_delay(store_path: Path, impatient: Engram) -> None:
    """A writer that finishes within the timeout is waited for."""
    other = apsw.Connection(str(store_path))
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.1, lambda: other.execute("ROLLBACK"))
    release.start()

    stored = impatient.remember("I like coffee")
    release.join()
    other.close()

    assert impatient.get(stored.id) == stored


def test_a_store_opens_while_another_process_writes(store_path: Path, impatient: Engram) -> None:
    """Opening an up-to-date file needs no lock, so a long write elsewhere does not keep readers out."""
    other = apsw.Connection(str(store_path))
    other.execute("BEGIN IMMEDIATE")

    with Engram.open(
        store_path, settings=Settings(busy_timeout_seconds=0.3), embedder=TinyEmbedder(), background=False
    ) as second:
        answer = second.recall("tea")
    other.execute("ROLLBACK")
    other.close()

    assert answer.hits
