"""
The graph index: which memories are linked to those that were found, over a link or two?

Asked by `recall` with what the other indexes found; fed from the store's changes of links, its own process's
writes and others' alike. While a large graph is still being loaded, the store is asked for the links of each
hop instead. Memories that speak of the same entity can count as linked too. What the reader may not see is
neither found nor passed through. How fast it is, and what the numbers rest on: docs/lab/0014-graph.md.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from engram.index.graph_links import KINDS, Graph, Steps
from engram.index.graph_spread import Sight, along_entities, along_steps, most_mentions, spread
from engram.store.contract import Found
from engram.values import EdgeType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from engram.index.graph_spread import Gains
    from engram.store.contract import Store, Transaction
    from engram.values import Filters, Scope

STEP_ROWS = 20_000
"""Changes of links read at a time; where more than these are still to be read, the store answers."""
NARROW_WIDTH = 256
"""
How many memories are looked for to choose from where filters let only some of them be found.

With a filter that one in twenty passes, this finds 99 % of the first ten: docs/lab/0014-graph.md.
"""
MAX_SHARED = 4096
"""Pairs of memories with a common entity looked at after each hop, those of the rarest entities first."""

SHARES = {
    (EdgeType.SUPERSEDES, True): 0.0,
    (EdgeType.CONTRADICTS, True): 0.5,
    (EdgeType.CONTRADICTS, False): 0.5,
    **{
        (kind, forward): 0.3
        for kind in (EdgeType.RELATED_TO, EdgeType.SIMILAR_TO)
        for forward in (True, False)
    },
}
"""
How much of its weight a step carries, by type and direction; everything else carries all.

What was replaced leads to what replaced it, never back: a correction must not bring up the old statement.
A dispute is shown with what it disputes, at half, so that it seldom leads any further. What is linked for its
likeness was mostly found by its likeness already: docs/lab/0018-recall.md.
"""


@dataclass(frozen=True, slots=True)
class GraphState:
    """What `status` shows of the index."""

    edges: int
    is_loaded: bool
    bytes: int


class GraphIndex:
    """The links of one store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graph = Graph()
        self._cursor = 0
        self._is_loaded = False

    def activate(
        self,
        tx: Transaction,
        seeds: Mapping[int, float],
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
        hops: int = 2,
        decay: float = 0.6,
        floor: float = 0.1,
        types: Collection[EdgeType] | None = None,
        through_entities: bool = False,
    ) -> list[Found]:
        """
        Return the memories that activation reaches from the seeds, strongest first; never a seed itself.

        Seeds are keys with an activation of 0 to 1. Each hop gives on `decay` times the weight of the link;
        what falls below the floor goes no further. Scope and statuses bind every hop, the other filters only
        what is returned. The transaction must be a snapshot, not a write.
        """
        ways = _Ways(tx, self._leaving(tx), _shares(types))
        passable = _passable(filters)
        is_narrow = passable != filters
        levels = spread(
            seeds,
            gains=ways.over_links_and_entities if through_entities else ways.over_links,
            sight=_sight(tx, scope, passable),
            hops=hops,
            decay=decay,
            floor=floor,
            wanted=max(NARROW_WIDTH, limit) if is_narrow else limit,
        )
        reached = sorted(levels, key=lambda key: (-levels[key], key))
        wanted = _sight(tx, scope, filters).first(reached, limit) if is_narrow else reached[:limit]
        return [Found(key, levels[key]) for key in wanted]

    def load(self, store: Store, *, stop: threading.Event) -> None:
        """Read all links while the store answers questions in its place; for a background thread."""
        parts = []
        with store.read() as tx:
            cursor = tx.edges.latest_change()
            for steps in _changes(tx, since=0):
                if stop.is_set():
                    return
                parts.append(steps)
        graph = Graph().after(Steps.joined(parts))
        with self._lock:
            if not self._is_loaded:
                self._graph, self._cursor, self._is_loaded = graph, cursor, True

    def state(self) -> GraphState:
        """Return how much is loaded and what it takes."""
        with self._lock:
            graph, is_loaded = self._graph, self._is_loaded
        return GraphState(edges=len(graph), is_loaded=is_loaded, bytes=graph.bytes)

    def _leaving(self, tx: Transaction) -> Callable[[NDArray[np.int64]], Steps]:
        """Return what tells the steps that leave memories: the graph, or the store while that is loading."""
        latest = tx.edges.latest_change()
        if not self._is_loaded and latest > STEP_ROWS:
            return lambda keys: _stored_steps(tx, keys)
        with self._lock:
            if self._cursor < latest or not self._is_loaded:
                self._catch_up(tx)
            return self._graph.leaving

    def _catch_up(self, tx: Transaction) -> None:
        """Take in what changed since, or everything if a removal may have been missed."""
        has_missed = self._cursor < tx.edges.pruned_change()
        graph, since = (Graph(), 0) if has_missed else (self._graph, self._cursor)
        self._graph = graph.after(Steps.joined(list(_changes(tx, since=since))))
        self._cursor, self._is_loaded = tx.edges.latest_change(), True


@dataclass(frozen=True, slots=True)
class _Ways:
    """Where activation goes from a frontier of memories, and how much of it."""

    tx: Transaction
    leaving: Callable[[NDArray[np.int64]], Steps]
    shares: NDArray[np.float64]

    def over_links(self, frontier: Mapping[int, float], _least: float) -> Gains:
        """Return what the frontier gives on over links."""
        steps = self.leaving(np.array(list(frontier), np.int64))
        return along_steps(steps, frontier, self.shares)

    def over_links_and_entities(self, frontier: Mapping[int, float], least: float) -> Gains:
        """Return what the frontier gives on over links, and to memories that speak of the same entities."""
        others, gains = self.over_links(frontier, least)
        most = {key: most_mentions(level, least) for key, level in frontier.items()}
        shared = self.tx.edges.sharing_entities(most, limit=MAX_SHARED)
        more_others, more_gains = along_entities(shared, frontier)
        return np.concatenate([others, more_others]), np.concatenate([gains, more_gains])


def _changes(tx: Transaction, *, since: int) -> Iterator[Steps]:
    """Yield the steps along the links that changed after a cursor, at least once."""
    while True:
        since, edges = tx.edges.changes(since=since, limit=STEP_ROWS)
        yield Steps.along(edges)
        if len(edges) < STEP_ROWS:
            return


def _stored_steps(tx: Transaction, keys: NDArray[np.int64]) -> Steps:
    steps = Steps.along(tx.edges.touching(keys.tolist()))
    return steps[np.isin(steps.origins, keys)]


def _passable(filters: Filters) -> Filters:
    """Return what a memory must be to pass activation on: every filter but those that only choose answers."""
    none = frozenset[Any]()
    return replace(filters, layers=none, types=none, kinds=none, categories=none, since=None, until=None)


def _sight(tx: Transaction, scope: Scope, filters: Filters) -> Sight:
    return Sight(lambda keys: tx.candidates.passing(keys, scope=scope, filters=filters))


def _shares(types: Collection[EdgeType] | None) -> NDArray[np.float64]:
    """Return how much each kind of step carries, nothing for types that are not asked for."""
    asked = [SHARES.get(kind, 1.0) if types is None or kind[0] in types else 0.0 for kind in KINDS]
    return np.array(asked, np.float64)
