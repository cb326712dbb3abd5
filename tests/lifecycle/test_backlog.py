"""What is left for later is done in small writes, and overwrites nothing that happened meanwhile."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Draft, Engram
from engramdb.capture import writer
from engramdb.lifecycle import backlog
from engramdb.lifecycle.candidates import enriched
from engramdb.testing import TinyEmbedder
from engramdb.values import Memory, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import ManualClock


@pytest.fixture(autouse=True)
def small_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few statements at a time are a bulk already."""
    monkeypatch.setattr(writer, "BULK_ROWS", 3)


def drafts(number: int) -> Iterator[Draft]:
    """Statements as an import brings them: not enriched yet."""
    return (
        Draft(content=f"Box {one} in the cellar holds the winter clothes of Marta") for one in range(number)
    )


def test_a_bulk_is_enriched_a_few_to_a_write_and_read_outside_of_it(
    store_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others get their turn after a few memories, and nothing is inferred from words while they wait."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        list(engram.remember_stream(drafts(99)))
        store, is_writing, sizes = engram._parts.store, False, list[int]()
        atomic = store.atomic

        def note_write() -> Iterator[Any]:
            nonlocal is_writing
            with atomic() as tx:
                is_writing = True
                before = tx.memories.count_unenriched()
                yield tx
                sizes.append(before - tx.memories.count_unenriched())
                is_writing = False

        def enrich(memory: Memory) -> Memory:
            assert not is_writing
            return enriched(memory)

        monkeypatch.setattr(store, "atomic", contextmanager(note_write))
        monkeypatch.setattr(backlog, "enriched", enrich)

        assert engram.enrich() == 99
        assert engram.status().awaiting_enrichment == 0
    assert max(sizes) <= backlog.MOST_WRITE_ROWS


def test_what_changed_while_it_was_read_is_not_overwritten(
    store_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is pinned and one is forgotten between the look at them and the write of what was inferred."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        pinned, gone, other = list(engram.remember_stream(drafts(3)))
        has_come = False

        def enrich(memory: Memory) -> Memory:
            nonlocal has_come
            if not has_come:
                has_come = True
                engram.pin(pinned.id)
                engram.forget(gone.id)
            return enriched(memory)

        monkeypatch.setattr(backlog, "enriched", enrich)
        engram.enrich()

        assert engram.get(pinned.id).pinned
        assert engram.get(pinned.id).traits.topics == engram.get(other.id).traits.topics
        assert engram.get(gone.id).status is Status.FORGOTTEN
        assert engram.status().awaiting_enrichment == 0
        assert all(check.ok for check in engram.doctor().checks)
