"""
The vector index alone: what a start costs, what a question costs under filters, what a changed model loses.

    python -m evals.vectors [--rows 100000] [--locomo FILE --home FOLDER]

Vectors are random points around 400 centres in 384 dimensions, stored through the store's own tables.
Times are processor milliseconds, medians of interleaved rounds, since these machines are shared: compare
them within one run. With a LoCoMo file and the pack `e5-small`, half of each conversation is embedded anew,
and how much of the evidence is found is measured by vectors alone.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engramdb.index.spaces import VectorSpaces
from engramdb.index.vector import VectorIndex
from engramdb.models.registry import open_embedder
from engramdb.store.sqlite.store import SqliteStore
from engramdb.text.terms import passage
from engramdb.values import GLOBAL, EmbedderIdentity, Filters, Memory, new_id
from evals.locomo import read
from evals.report import show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from engramdb.models.embedder import Embedder
    from engramdb.store.contract import SnapshotPart, Transaction
    from evals.locomo import Conversation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DIMENSION, CENTRES, NOISE = 384, 400, 0.7
IDENTITY = EmbedderIdentity(name="random", dimension=DIMENSION, revision="1")
BUDGET = 128_000_000
BATCH = 20_000
ROUNDS = 25
LIMIT = 50
FILTERS = {
    "all": Filters(),
    "10 %": Filters(categories=frozenset({"tenth"})),
    "1 %": Filters(categories=frozenset({"hundredth"})),
}


class SnapshotParts:
    """Keeps snapshots in memory, as a table would in the file."""

    def __init__(self) -> None:
        self._parts: dict[int, Sequence[SnapshotPart]] = {}

    def load_snapshot(self, space: int) -> Sequence[SnapshotPart]:
        """Return the parts of a space."""
        return self._parts.get(space, ())

    def save_snapshot(self, space: int, parts: Sequence[SnapshotPart]) -> None:
        """Keep the parts of a space."""
        self._parts[space] = parts

    def of(self, tx: Transaction) -> SnapshotParts:  # noqa: ARG002
        """Return itself, whatever the transaction."""
        return self


class Points:
    """Endless random points around a few hundred centres."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(0)
        self._centres = self._random.normal(size=(CENTRES, DIMENSION)).astype(np.float32)

    def next(self, count: int) -> NDArray[np.float32]:
        """Return so many unit vectors."""
        chosen = self._centres[self._random.integers(CENTRES, size=count)]
        rows = chosen + NOISE * self._random.normal(size=chosen.shape).astype(np.float32)
        unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit


def processor_ms(action: Callable[[], object]) -> float:
    """Return how many milliseconds of the processor the action took."""
    started = time.process_time()
    action()
    return (time.process_time() - started) * 1000


def fill(store: SqliteStore, rows: int, points: Points) -> None:
    """Store so many memories with vectors, a tenth and a hundredth of them in categories of their own."""
    for start in range(0, rows, BATCH):
        count = min(BATCH, rows - start)
        with store.atomic() as tx:
            keys = [_add(tx, start + number) for number in range(count)]
            tx.vectors.put(tx.vectors.make_space(IDENTITY), keys, points.next(count))


def _add(tx: Transaction, number: int) -> int:
    category = "hundredth" if number % 100 == 0 else "tenth" if number % 10 == 1 else "general"
    content = f"note {number} " + "of some length, as statements have " * 2
    memory = Memory(id=new_id(NOW), content=content, created_at=NOW, updated_at=NOW, category=category)
    return tx.memories.add(memory, fingerprint=str(number).encode())


def ask(index: VectorIndex, store: SqliteStore, query: NDArray[np.float32], filters: Filters) -> None:
    """Ask for as many as recall does."""
    with store.read() as tx:
        index.search(tx, query, scope=GLOBAL, filters=filters, limit=LIMIT)


def starts(store: SqliteStore, points: Points) -> dict[str, float]:
    """Return what the first question costs with a kept snapshot and without."""
    query, saved = points.next(1)[0], SnapshotParts()

    def first(**parts: Any) -> float:
        index = VectorIndex(IDENTITY, memory_bytes=BUDGET, patience_seconds=1000, **parts)
        return processor_ms(lambda: ask(index, store, query, Filters()))

    cold = first()
    kept = VectorIndex(IDENTITY, memory_bytes=BUDGET, snapshots=saved.of)
    load = processor_ms(lambda: kept.load(store, stop=threading.Event()))
    resumed = float(np.median([first(snapshots=saved.of) for _ in range(3)]))
    return {"first question ms": cold, "load and keep ms": load, "first from snapshot ms": resumed}


def questions(store: SqliteStore, points: Points) -> dict[str, float]:
    """Return what questions cost, warm, under filters of different widths."""
    index = VectorIndex(IDENTITY, memory_bytes=BUDGET, patience_seconds=1000)
    index.load(store, stop=threading.Event())
    spent: dict[str, list[float]] = {name: [] for name in FILTERS}
    for query in points.next(ROUNDS):
        for name, filters in FILTERS.items():
            spent[name].append(processor_ms(lambda q=query, f=filters: ask(index, store, q, f)))  # type: ignore[misc]
    return {f"{name} ms": float(np.median(times)) for name, times in spent.items()}


def moved(conversation: Conversation, older: Embedder, newer: Embedder, share: float) -> dict[str, float]:
    """Return recall at 10 with a share of the turns embedded anew, with and without the older space."""
    drafts, rng = conversation.drafts, np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore.open(f"{folder}/memory.db", now=NOW, is_durable=False)
        with store.atomic() as tx:
            memories = [
                Memory(
                    id=new_id(NOW),
                    content=draft.content,
                    created_at=NOW,
                    updated_at=NOW,
                    provenance=draft.provenance,
                    occurred_at=draft.occurred_at,
                )
                for draft in drafts.values()
            ]
            keys = [tx.memories.add(one, fingerprint=one.id.encode()) for one in memories]
            texts = [passage(one) for one in memories]
            tx.vectors.put(tx.vectors.make_space(older.identity), keys, older.embed_documents(texts))
            chosen = np.flatnonzero(rng.random(len(keys)) < share)
            again = newer.embed_documents([texts[row] for row in chosen])
            tx.vectors.put(tx.vectors.make_space(newer.identity), [keys[row] for row in chosen], again)
        turn_of = dict(zip(keys, drafts, strict=True))
        alone = VectorSpaces(newer, memory_bytes=BUDGET)
        both = VectorSpaces(newer, memory_bytes=BUDGET, older=[older])
        recalls = {
            "the new space": _recall(store, alone, conversation, newer, turn_of),
            "both spaces": _recall(store, both, conversation, newer, turn_of),
        }
        store.close()
    return recalls


def _recall(
    store: SqliteStore,
    spaces: VectorSpaces,
    conversation: Conversation,
    embedder: Embedder,
    turn_of: dict[int, str],
) -> float:
    recalls = []
    for question in conversation.questions:
        (query,) = embedder.embed_queries([question.text])
        with store.read() as tx:
            answer = spaces.search(tx, query, text=question.text, scope=GLOBAL, filters=Filters(), limit=10)
        turns = {turn_of[one.key] for one in answer.found}
        recalls.append(len(question.evidence & turns) / len(question.evidence))
    return float(np.mean(recalls))


def main() -> None:
    """Measure what was asked for and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m evals.vectors", description=__doc__.split("\n")[1])
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000])
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--home", type=Path)
    arguments = parser.parse_args()
    rows = []
    for count in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            store, points = SqliteStore.open(f"{folder}/memory.db", now=NOW, is_durable=False), Points()
            fill(store, count, points)
            rows.append({"memories": count, **starts(store, points), **questions(store, points)})
            store.close()
    if rows:
        show("The vector index alone, processor time", rows)
    if arguments.locomo and arguments.home:
        packs = [open_embedder(name, arguments.home) for name in ("static", "e5-small")]
        show("Half embedded anew, recall at 10 by vectors", _moves(read(arguments.locomo), packs))


def _moves(conversations: Sequence[Conversation], packs: Sequence[Embedder]) -> list[dict[str, Any]]:
    rows = []
    for older, newer in (packs, packs[::-1]):
        scores = [moved(one, older, newer, 0.5) for one in conversations]
        means = {name: float(np.mean([score[name] for score in scores])) for name in scores[0]}
        rows.append({"from": older.identity.name, "to": newer.identity.name, **means})
    return rows


if __name__ == "__main__":
    main()
