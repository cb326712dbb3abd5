"""A dream in the way of nobody: short writes, others first, and nothing that takes long inside of a write."""

from __future__ import annotations

import shutil
import threading
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Draft, Engram
from engramdb.dream import clustering
from engramdb.store.sqlite import connection
from engramdb.store.sqlite.connection import WriteQueue
from engramdb.testing import ManualClock, TinyEmbedder
from evals.natural import natural_statements

from .dreamt import NOW, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

MEMORIES = 300
MAX_STATEMENTS = 300
"""SQL statements of one write; between two of them any other thread may run, so they are what takes time."""


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with what people say."""
    path = tmp_path_factory.mktemp("filled") / "memory.db"
    with opened(path, clock=ManualClock(NOW)) as engram:
        engram.remember_many([Draft(content=one) for one in islice(natural_statements(), MEMORIES)])
        engram.enrich()
    return path


@pytest.fixture
def filled(filled_once: Path, store_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(filled_once, store_path))


def test_no_write_of_a_dream_is_long(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where everything belongs to one domain, which is stored a few clusters at a time."""
    monkeypatch.setattr(clustering, "MAX_DOMAINS", 1)
    writes: list[int] = []

    def trace(_cursor: object, sql: str, _bindings: object) -> bool:
        if sql == "BEGIN IMMEDIATE":
            writes.append(0)
        writes[-1] += 1
        return True

    with opened(filled) as engram:
        engram._parts.store._writer.exec_trace = trace  # type: ignore[attr-defined]
        report = engram.dream()

    assert sum(step.counts.get("clusters", 0) for step in report.steps) > 0
    assert len(writes) > 30
    assert max(writes) < MAX_STATEMENTS


class WatchedQueue(WriteQueue):
    """A line that notes whom it serves, and whether somebody else stood in it meanwhile."""

    def __init__(self) -> None:
        super().__init__(max_waiting=64, timeout_seconds=60)
        self.background = 0
        self.given_way = 0
        self.overtaken = 0

    @contextmanager
    def turn(self, *, is_background: bool = False) -> Iterator[None]:
        """Hold the right to write."""
        with super().turn(is_background=is_background):
            self.background += is_background
            yield

    def _is_background_next(self) -> bool:
        is_next = super()._is_background_next()
        self.overtaken += is_next and bool(self._line)
        self.given_way += not is_next and bool(self._background)
        return is_next


def test_a_dream_lets_everybody_else_write_first(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writers hardly pause, and no write of the dream comes before one that was asked for already."""
    monkeypatch.setattr(connection, "MAX_GIVING_WAY_SECONDS", 60.0)
    done = threading.Event()

    with opened(filled) as engram:
        queue = engram._parts.store._line = WatchedQueue()  # type: ignore[attr-defined]

        def write(name: str) -> None:
            number = 0
            while not done.is_set():
                number += 1
                engram.observe(f"{name} {number}", session=name)
                done.wait(0.005)

        writers = [threading.Thread(target=write, args=(name,)) for name in ("Ada", "Bo")]
        for writer in writers:
            writer.start()
        try:
            assert engram.dream().finished
        finally:
            done.set()
            for writer in writers:
                writer.join()

    assert queue.background > 30
    assert queue.given_way > 0
    assert queue.overtaken == 0


class WatchfulEmbedder(TinyEmbedder):
    """An embedder that notes whether it was asked inside of a write."""

    def __init__(self) -> None:
        super().__init__()
        self.engram: Engram | None = None
        self.asked = 0
        self.asked_inside = 0

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text."""
        if self.engram is not None:
            writing: Any = self.engram._parts.store._writing  # type: ignore[attr-defined]
            self.asked += 1
            self.asked_inside += getattr(writing, "tables", None) is not None
        return super().embed_documents(texts)


def test_nothing_is_embedded_while_a_dream_holds_the_store(filled: Path) -> None:
    """A model may take seconds, so it is asked before the write."""
    embedder = WatchfulEmbedder()
    with Engram.open(filled, clock=ManualClock(NOW), embedder=embedder, background=False) as engram:
        embedder.engram = engram
        engram.dream()

    assert embedder.asked > 0
    assert embedder.asked_inside == 0
