"""
The graph index at size: loading, room, catching up, and spreading activation from ten memories.

    python -m evals.graph [--memories 100000] [--edges 500000] [--json FILE]

The graph is made up: links lead from any memory to one drawn with a chance that falls with its rank, so that
a few hubs have thousands of links and most memories about ten. A fifth of the memories are another user's and
one in twenty is no longer active, so that looking at who may see what is part of what is timed. Rows go
through the store's tables without admission, which would take minutes and change nothing that is timed here.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from engramdb.index.graph import STEP_ROWS, GraphIndex
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import Edge, EdgeType, Entity, EntityType, Filters, Layer, Memory, Scope, Status, new_id
from evals.report import keep, show
from evals.speed import milliseconds, spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINE, THEIRS = Scope(user="mine"), Scope(user="theirs")
RARE = Filters(layers=frozenset({Layer.PROCEDURAL}))
TYPES = (EdgeType.RELATED_TO, EdgeType.RELATED_TO, EdgeType.SIMILAR_TO, EdgeType.SUPPORTS, EdgeType.CAUSED_BY)
SKEW = 0.6
"""How fast the chance of being linked to falls with the rank: the largest hub has some 2,000 links."""
ENTITY_SKEW = 0.9
MEMORIES_PER_ENTITY = 6
BATCH = 10_000
QUESTIONS = 200
SEEDS = 10
LIMIT = 50


@dataclass(frozen=True)
class World:
    """A filled store, its memories' ids by key, those that the reader may start from, and their hubs."""

    store: SqliteStore
    ids: dict[int, str]
    mine: NDArray[np.int64]
    hubs: NDArray[np.int64]


def fill(path: Path, *, memories: int, edges: int) -> World:
    """Return a store with memories, links and entities."""
    rng = np.random.default_rng(0)
    store = SqliteStore.open(str(path), now=NOW, is_durable=False)
    ids, mine = _add_memories(store, memories, rng)
    sources, targets = rng.choice(list(ids), edges), _skewed(list(ids), edges, SKEW, rng)
    add_edges(store, ids, sources, targets, rng)
    _add_entities(store, ids, rng)
    degrees = np.bincount(np.concatenate([sources, targets]), minlength=memories + 1)
    hubs = mine[np.argsort(-degrees[mine])[: 10 * SEEDS]]
    return World(store, ids, mine, hubs)


def _add_memories(
    store: SqliteStore, count: int, rng: np.random.Generator
) -> tuple[dict[int, str], NDArray[np.int64]]:
    ids, mine = {}, []
    for numbers in _batches(range(count)):
        with store.atomic() as tx:
            for number in numbers:
                is_mine, is_active = rng.random() < 0.8, rng.random() < 0.95
                memory = Memory(
                    id=new_id(NOW),
                    content=f"Statement {number} is as long as most statements are, which is not very long.",
                    created_at=NOW,
                    updated_at=NOW,
                    scope=MINE if is_mine else THEIRS,
                    status=Status.ACTIVE if is_active else Status.ARCHIVED,
                    layer=Layer.PROCEDURAL if number % 20 == 0 else Layer.EPISODIC,
                )
                key = tx.memories.add(memory, fingerprint=memory.id.encode())
                ids[key] = memory.id
                if is_mine and is_active:
                    mine.append(key)
    return ids, np.array(mine, np.int64)


def add_edges(
    store: SqliteStore,
    ids: dict[int, str],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Link these memories, always the newer to the older, as capture does, so that no circle is closed."""
    pairs = [
        (max(a, b), min(a, b)) for a, b in zip(sources.tolist(), targets.tolist(), strict=True) if a != b
    ]
    for some in _batches(pairs):
        kinds, weights = rng.integers(len(TYPES), size=len(some)), rng.uniform(0.4, 0.95, size=len(some))
        with store.atomic() as tx:
            for (newer, older), kind, weight in zip(some, kinds, weights, strict=True):
                tx.edges.add(
                    Edge(
                        source=ids[newer],
                        target=ids[older],
                        type=TYPES[kind],
                        weight=float(weight),
                        created_at=NOW,
                    )
                )


def _add_entities(store: SqliteStore, ids: dict[int, str], rng: np.random.Generator) -> None:
    """Let each memory speak of two entities or so; thousands speak of the best known ones."""
    entities = [
        Entity(
            id=new_id(NOW),
            name=f"Name{number}",
            type=EntityType.PERSON,
            scope=MINE,
            first_seen=NOW,
            last_seen=NOW,
            mentions=0,
        )
        for number in range(len(ids) // MEMORIES_PER_ENTITY)
    ]
    for some in _batches(entities):
        with store.atomic() as tx:
            for entity in some:
                tx.entities.add(entity)
    chosen = _skewed(range(len(entities)), 2 * len(ids), ENTITY_SKEW, rng)
    speakers = rng.choice(list(ids), 2 * len(ids))
    for pairs in _batches(list(zip(chosen.tolist(), speakers.tolist(), strict=True))):
        with store.atomic() as tx:
            for number, key in pairs:
                tx.entities.link(entities[number].id, ids[key], name=entities[number].name, at=NOW)


def _skewed(items: Sequence[int], count: int, skew: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return items drawn with a chance that falls with their rank in a shuffled order."""
    chances = 1 / np.arange(1, len(items) + 1) ** skew
    ranks = rng.choice(len(items), count, p=chances / chances.sum())
    drawn: NDArray[np.int64] = rng.permutation(items)[ranks]
    return drawn


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def load(world: World) -> tuple[GraphIndex, dict[str, Any]]:
    """Return a loaded index, how long that took and how much room it takes, as arrays and as dicts."""
    index = GraphIndex()
    spent = milliseconds(lambda: index.load(world.store, stop=threading.Event()))
    state = index.state()
    row = {
        "memories": len(world.ids),
        "edges": state.edges,
        "load ms": spent,
        "resident MB": state.bytes / 1e6,
    }
    gc.collect()
    before = psutil.Process().memory_info().rss
    dicts, made = _as_dicts(world)
    row |= {"dicts MB": (psutil.Process().memory_info().rss - before) / 1e6, "dicts load ms": made}
    del dicts
    return index, row


def _as_dicts(world: World) -> tuple[dict[int, dict[tuple[int, str], float]], float]:
    """Return the same links as dicts of dicts, to compare, and how long making them took."""
    steps: dict[int, dict[tuple[int, str], float]] = {}
    started = time.perf_counter()
    with world.store.read() as tx:
        cursor = 0
        while cursor < tx.edges.latest_change():
            cursor, edges = tx.edges.changes(since=cursor, limit=STEP_ROWS)
            ends = zip(
                edges.sources.tolist(),
                edges.targets.tolist(),
                edges.types,
                edges.weights.tolist(),
                strict=True,
            )
            for source, target, kind, weight in ends:
                steps.setdefault(source, {})[target, kind] = weight
                steps.setdefault(target, {})[source, kind] = weight
    return steps, (time.perf_counter() - started) * 1000


def ask(
    index: GraphIndex, world: World, name: str, *, among: NDArray[np.int64], **options: Any
) -> dict[str, Any]:
    """Return how long activation from ten memories takes, and how many it finds."""
    rng = np.random.default_rng(1)
    levels = np.linspace(1.0, 0.5, SEEDS).tolist()
    asked: dict[str, Any] = {"scope": MINE, "filters": Filters(), "limit": LIMIT, **options}
    times, found = [], []
    for _ in range(QUESTIONS):
        seeds = dict(zip(rng.choice(among, SEEDS, replace=False).tolist(), levels, strict=True))
        with world.store.read() as tx:
            started = time.perf_counter()
            answer = index.activate(tx, seeds, **asked)
            times.append((time.perf_counter() - started) * 1000)
        found.append(len(answer))
    return {"": name, **spread(times, "activate"), "found": float(np.mean(found))}


def questions(index: GraphIndex, world: World) -> list[dict[str, Any]]:
    """Return one row for each way of asking."""
    unloaded = GraphIndex()
    return [
        ask(index, world, "2 hops", among=world.mine, hops=2),
        ask(index, world, "3 hops", among=world.mine, hops=3),
        ask(index, world, "3 hops, 500 wanted", among=world.mine, hops=3, limit=500),
        ask(index, world, "3 hops, causal only", among=world.mine, hops=3, types={EdgeType.CAUSED_BY}),
        ask(index, world, "2 hops from hubs", among=world.hubs, hops=2),
        ask(index, world, "3 hops from hubs", among=world.hubs, hops=3),
        ask(index, world, "2 hops, entities too", among=world.mine, hops=2, through_entities=True),
        ask(index, world, "3 hops, entities too", among=world.mine, hops=3, through_entities=True),
        ask(index, world, "2 hops, 5 % pass", among=world.mine, hops=2, filters=RARE),
        ask(index, world, "3 hops, 5 % pass", among=world.mine, hops=3, filters=RARE),
        ask(unloaded, world, "2 hops, not loaded", among=world.mine, hops=2),
        ask(unloaded, world, "3 hops, not loaded", among=world.mine, hops=3),
        ask(unloaded, world, "2 hops from hubs, not loaded", among=world.hubs, hops=2),
    ]


def catch_up(index: GraphIndex, world: World) -> list[dict[str, Any]]:
    """Return how long the next question waits after another process changed so many links."""
    rng = np.random.default_rng(2)
    rows: list[dict[str, Any]] = []
    for links, times in ((1, 100), (100, 30), (1000, 20), (STEP_ROWS, 1)):
        waits = []
        for _ in range(times):
            ends = rng.choice(list(world.ids), links), rng.choice(list(world.ids), links)
            add_edges(world.store, world.ids, *ends, rng)
            waits.append(_wait(index, world))
        rows.append({"new links": links, **spread(waits, "wait"), "most ms": max(waits)})
    return rows


def _wait(index: GraphIndex, world: World) -> float:
    with world.store.read() as tx:
        return milliseconds(lambda: index.activate(tx, {}, scope=MINE, filters=Filters(), limit=LIMIT))


def main() -> None:
    """Make a graph up, measure everything about it, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.graph", description=__doc__.split("\n")[1])
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=500_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = fill(Path(folder) / "memory.db", memories=arguments.memories, edges=arguments.edges)
        index, loading = load(world)
        asking = questions(index, world)
        catching_up = catch_up(index, world)
        world.store.close()
    show("Loading", [loading])
    show(f"{SEEDS} seeds, {LIMIT} wanted", asking)
    show("Catching up", catching_up)
    found = {"loading": loading, "questions": asking, "catching up": catching_up}
    print(f"\nWritten to {keep('graph', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
