"""The graph index: links as arrays, and activation that spreads along them."""

from __future__ import annotations

import heapq
import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.errors import StoreCorrupt
from engramdb.index.backend import first_occurrences
from engramdb.store.contract import EdgeColumns, ScoredKey, SharedEntities, Store, Transaction
from engramdb.values import EdgeType, Filters, Scope

# All links between memories as arrays: where does each memory lead, over what kind of link, how strongly?
#
# Kept by the graph index and fed from the store's changes of links. A link is two steps, one each way, and
# steps lie side by side by the memory that they leave. A graph never changes: taking links in gives another
# that shares the arrays and sets the few memories concerned apart, until there are enough of them to be
# worth laying everything out again. Why arrays and not dicts: docs/lab/0014-graph.md.

KINDS = tuple((one, is_forward) for one in EdgeType for is_forward in (True, False))
"""What a step's number stands for: a type of link, walked from source to target or back."""
_FORWARD = {one.value: number for number, (one, is_forward) in enumerate(KINDS) if is_forward}
DELTA_DIVISOR = 8
"""Everything is laid out again once an eighth of the memories would be set apart."""


class Steps(Struct, frozen=True):
    """Ways from memories to others, one column per field."""

    origins: NDArray[np.int64]
    others: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    weights: NDArray[np.float32]

    @classmethod
    def along(cls, edges: EdgeColumns) -> Steps:
        """Return the steps along these links, both ways."""
        try:
            forward = np.array([_FORWARD[one] for one in edges.types], np.uint8)
        except KeyError as exc:
            raise StoreCorrupt(f"a link has the unknown type {exc}") from exc
        return cls(
            origins=np.concatenate([edges.sources, edges.targets]),
            others=np.concatenate([edges.targets, edges.sources]),
            kinds=np.concatenate([forward, forward + np.uint8(1)]),
            weights=np.concatenate([edges.weights, edges.weights]),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Steps]) -> Steps:
        """Return the steps of all parts, in order."""
        return cls(
            np.concatenate([part.origins for part in parts]),
            np.concatenate([part.others for part in parts]),
            np.concatenate([part.kinds for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.origins)

    def __getitem__(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Steps:
        return Steps(self.origins[rows], self.others[rows], self.kinds[rows], self.weights[rows])

    def latest(self) -> Steps:
        """Return the steps by origin: the last of those that are the same, unless it weighs nothing."""
        steps = self[np.lexsort((self.kinds, self.others, self.origins))]  # equals keep their order
        is_last = np.ones(len(steps), np.bool_)
        is_last[:-1] = (
            (steps.origins[1:] != steps.origins[:-1])
            | (steps.others[1:] != steps.others[:-1])
            | (steps.kinds[1:] != steps.kinds[:-1])
        )
        return steps[is_last & (steps.weights > 0)]


class Layout:
    """Steps by the memory that they leave, which is noted once for all of its steps."""

    def __init__(self, steps: Steps) -> None:
        """Lay out steps that are sorted by origin."""
        self.nodes, starts = first_occurrences(steps.origins)
        self._bounds = np.append(starts, len(steps)).astype(np.int64)
        self._others, self._kinds, self._weights = steps.others, steps.kinds, steps.weights

    def __len__(self) -> int:
        return len(self._others)

    @property
    def bytes(self) -> int:
        """How much memory the arrays take."""
        arrays = (self.nodes, self._bounds, self._others, self._kinds, self._weights)
        return sum(array.nbytes for array in arrays)

    def steps_from(self, keys: NDArray[np.int64]) -> Steps:
        """Return the steps that leave these memories."""
        places = np.searchsorted(self.nodes, keys)
        is_known = places < len(self.nodes)
        is_known[is_known] = self.nodes[places[is_known]] == keys[is_known]
        places = places[is_known]
        starts = self._bounds[places]
        lengths = self._bounds[places + 1] - starts
        ends = np.cumsum(lengths)
        rows = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)
        origins = np.repeat(self.nodes[places], lengths)
        return Steps(origins, self._others[rows], self._kinds[rows], self._weights[rows])

    def without(self, keys: Sequence[int]) -> Steps:
        """Return all steps but those that leave these memories, sorted by origin."""
        is_kept = ~np.isin(self.nodes, np.array(keys, np.int64))
        lengths = np.diff(self._bounds)
        rows = np.repeat(is_kept, lengths)
        origins = np.repeat(self.nodes[is_kept], lengths[is_kept])
        return Steps(origins, self._others[rows], self._kinds[rows], self._weights[rows])


NO_STEPS = Steps(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.float32))


class Graph(Struct, frozen=True):
    """Every memory's steps at one moment: as laid out, but for the memories that are set apart."""

    layout: Layout = field(default_factory=lambda: Layout(NO_STEPS))
    apart: Mapping[int, Steps] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return how many links there are."""
        return len(self._without([])) // 2

    @property
    def bytes(self) -> int:
        """How much memory the arrays take."""
        apart = (
            array.nbytes
            for steps in self.apart.values()
            for array in (steps.origins, steps.others, steps.kinds, steps.weights)
        )
        return self.layout.bytes + sum(apart)

    def steps_from(self, keys: NDArray[np.int64]) -> Steps:
        """Return the steps that leave these memories."""
        if not self.apart:
            return self.layout.steps_from(keys)
        is_apart = np.array([key in self.apart for key in keys.tolist()], np.bool_)
        changed = [self.apart[key] for key in keys[is_apart].tolist()]
        return Steps.concatenate([self.layout.steps_from(keys[~is_apart]), *changed])

    def after(self, steps: Steps) -> Graph:
        """Return the graph after these steps were set, in order; one that weighs nothing is taken away."""
        touched, _ = first_occurrences(steps.origins)
        fresh = Steps.concatenate([self.steps_from(touched), steps]).latest()
        keys = touched.tolist()
        if len(self.apart.keys() | keys) * DELTA_DIVISOR > len(self.layout.nodes):
            joined = Steps.concatenate([self._without(keys), fresh])
            return Graph(Layout(joined[np.argsort(joined.origins, kind="stable")]))
        starts, ends = (np.searchsorted(fresh.origins, touched, side).tolist() for side in ("left", "right"))
        parts = {key: fresh[start:end] for key, start, end in zip(keys, starts, ends, strict=True)}
        return Graph(self.layout, {**self.apart, **parts})

    def _without(self, keys: Sequence[int]) -> Steps:
        """Return every step but those that leave these memories: first the laid out, then those set apart."""
        apart = [self.apart[key] for key in sorted(self.apart.keys() - keys)]
        return Steps.concatenate([self.layout.without([*self.apart, *keys]), *apart])


# Let activation spread from memories to those that they lead to, weaker with every hop.
#
# Called by the graph index, which says where steps lead and what the reader may see; knows no store. A
# memory keeps the strongest activation that reaches it, not the sum, so neither circles nor crowds make it
# grow. Nothing passes through a memory that the reader may not see, or the answer would tell what lies
# behind it.

Gains = tuple["NDArray[np.int64]", "NDArray[np.float64]"]
"""Memories that activation reaches, and how much of it; a memory may stand there more than once."""

MAX_MENTIONS = 63
"""An entity that more memories mention links none; with the usual floor and decay nothing would be left."""

SPARE = 16
"""Keys looked at beyond what should do: asking the store once more costs as much as a dozen keys."""


class VisibilityCache:
    """Which memories a reader may see: asked for in batches, and remembered for one question."""

    def __init__(self, look: Callable[[Sequence[int]], set[int]]) -> None:
        self._look = look
        self._known: dict[int, bool] = {}

    def first(self, keys: Sequence[int], wanted: int) -> list[int]:
        """Return the first `wanted` of the keys that are visible."""
        seen: list[int] = []
        start, size = 0, wanted
        while start < len(keys) and len(seen) < wanted:
            batch = keys[start : start + size]
            self._learn(batch)
            seen += [key for key in batch if self._known[key]]
            start += size
            expected = (wanted - len(seen)) * start // (len(seen) + 1)  # if as many as so far may be seen
            size = min(2 * size, expected + SPARE)
        return seen[:wanted]

    def _learn(self, keys: Sequence[int]) -> None:
        unknown = [key for key in keys if key not in self._known]
        if unknown:
            seen = self._look(unknown)
            self._known |= {key: key in seen for key in unknown}


def spread(
    seeds: Mapping[int, float],
    *,
    gains: Callable[[Mapping[int, float], float], Gains],
    sight: VisibilityCache,
    hops: int,
    decay: float,
    floor: float,
    wanted: int,
) -> dict[int, float]:
    """
    Return the activation of the strongest memories that are reached, besides the seeds.

    `gains(frontier, least)` says what each memory of a frontier would give on, and may leave out what is
    below `least`. A way never grows stronger, so whatever falls behind the last of those that are wanted
    already is dropped with all that lies behind it, and the answer is the same as if nothing had been.
    """
    strong = [key for key, level in seeds.items() if level >= floor]
    levels = {key: seeds[key] for key in sight.first(strong, len(strong))}
    frontier = dict(levels)
    for _ in range(hops):
        passing = {key: level * decay for key, level in frontier.items() if level * decay >= floor}
        if not passing:
            break
        best = largest_gains(*gains(passing, floor), floor=floor)
        stronger = [key for key, level in best.items() if level > levels.get(key, 0.0)]
        frontier = {key: best[key] for key in sight.first(stronger, wanted + len(seeds))}
        levels |= frontier
        floor = max(floor, _lowest_needed(levels, seeds, wanted))
    return {key: level for key, level in levels.items() if key not in seeds}


def _lowest_needed(levels: Mapping[int, float], seeds: Mapping[int, float], wanted: int) -> float:
    """Return the activation of the last of the strongest that are wanted, 0 while there are fewer."""
    strongest = heapq.nlargest(wanted, (level for key, level in levels.items() if key not in seeds))
    return strongest[-1] if len(strongest) == wanted else 0.0


def largest_gains(keys: NDArray[np.int64], gains: NDArray[np.float64], *, floor: float) -> dict[int, float]:
    """Return the largest gain of each memory, strongest first; none below the floor."""
    is_strong = gains >= floor
    keys, gains = keys[is_strong], gains[is_strong]
    order = np.lexsort((keys, -gains))
    keys, gains = keys[order], gains[order]
    _, first = first_occurrences(keys)
    first.sort()
    return dict(zip(keys[first].tolist(), gains[first].tolist(), strict=True))


def along_steps(steps: Steps, frontier: Mapping[int, float], shares: NDArray[np.float64]) -> Gains:
    """Return what the frontier gives on over its steps; `shares` says how much each kind of step carries."""
    return steps.others, activation_of(steps.origins, frontier) * shares[steps.kinds] * steps.weights


def along_entities(shared: SharedEntities, frontier: Mapping[int, float]) -> Gains:
    """
    Return what the frontier gives on to memories that mention the same entities.

    A link over an entity weighs `1 / log2(1 + mentions)`: 0.63 where two memories share it, 0.17 where 63 do.
    """
    weights = 1 / np.log2(1 + np.maximum(shared.mentions, 2))
    return shared.others, activation_of(shared.origins, frontier) * weights


def max_mentions(level: float, least: float) -> int:
    """Return of how many memories an entity may be known for this level to give on `least` over it."""
    if level >= least * math.log2(1 + MAX_MENTIONS):
        return MAX_MENTIONS
    return int(2 ** (level / least)) - 1


def activation_of(keys: NDArray[np.int64], frontier: Mapping[int, float]) -> NDArray[np.float64]:
    """Return the activation of each key, all of which are in the frontier."""
    known = np.array(sorted(frontier), np.int64)
    levels = np.array([frontier[key] for key in known.tolist()], np.float64)
    return levels[np.searchsorted(known, keys)]


# The graph index: which memories are linked to those that were found, over a link or two?
#
# Asked by `recall` with what the other indexes found; fed from the store's changes of links, its own
# process's writes and others' alike. While a large graph is still being loaded, the store is asked for the
# links of each hop instead. Memories that mention the same entity can count as linked too. What the reader
# may not see is neither found nor passed through. How fast it is, and what the numbers rest on:
# docs/lab/0014-graph.md.

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


class GraphState(Struct, frozen=True):
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
    ) -> list[ScoredKey]:
        """
        Return the memories that activation reaches from the seeds, strongest first; never a seed itself.

        Seeds are keys with an activation of 0 to 1. Each hop gives on `decay` times the weight of the link;
        what falls below the floor goes no further. Scope and statuses bind every hop, the other filters only
        what is returned. The transaction must be a snapshot, not a write.
        """
        ways = _Ways(tx, self._step_source(tx), _type_shares(types))
        passable = _pass_through_filters(filters)
        is_narrow = passable != filters
        levels = spread(
            seeds,
            gains=ways.over_links_and_entities if through_entities else ways.over_links,
            sight=_visibility(tx, scope, passable),
            hops=hops,
            decay=decay,
            floor=floor,
            wanted=max(NARROW_WIDTH, limit) if is_narrow else limit,
        )
        reached = sorted(levels, key=lambda key: (-levels[key], key))
        wanted = _visibility(tx, scope, filters).first(reached, limit) if is_narrow else reached[:limit]
        return [ScoredKey(key, levels[key]) for key in wanted]

    def load(self, store: Store, *, stop: threading.Event) -> None:
        """Read all links while the store answers questions in its place; for a background thread."""
        parts = []
        with store.read() as tx:
            cursor = tx.edges.latest_change()
            for steps in _changed_steps(tx, since=0):
                if stop.is_set():
                    return
                parts.append(steps)
        graph = Graph().after(Steps.concatenate(parts))
        with self._lock:
            if not self._is_loaded:
                self._graph, self._cursor, self._is_loaded = graph, cursor, True

    def state(self) -> GraphState:
        """Return how much is loaded and what it takes."""
        with self._lock:
            graph, is_loaded = self._graph, self._is_loaded
        return GraphState(edges=len(graph), is_loaded=is_loaded, bytes=graph.bytes)

    def _step_source(self, tx: Transaction) -> Callable[[NDArray[np.int64]], Steps]:
        """Return what tells the steps that leave memories: the graph, or the store while that is loading."""
        latest = tx.edges.latest_change()
        if not self._is_loaded and latest > STEP_ROWS:
            return lambda keys: _stored_steps(tx, keys)
        with self._lock:
            if self._cursor < latest or not self._is_loaded:
                self._catch_up(tx)
            return self._graph.steps_from

    def _catch_up(self, tx: Transaction) -> None:
        """Add what changed since, or everything if a removal may have been missed."""
        has_missed = self._cursor < tx.edges.pruned_change()
        graph, since = (Graph(), 0) if has_missed else (self._graph, self._cursor)
        self._graph = graph.after(Steps.concatenate(list(_changed_steps(tx, since=since))))
        self._cursor, self._is_loaded = tx.edges.latest_change(), True


class _Ways(Struct, frozen=True):
    """Where activation goes from a frontier of memories, and how much of it."""

    tx: Transaction
    steps_from: Callable[[NDArray[np.int64]], Steps]
    shares: NDArray[np.float64]

    def over_links(self, frontier: Mapping[int, float], _least: float) -> Gains:
        """Return what the frontier gives on over links."""
        steps = self.steps_from(np.array(list(frontier), np.int64))
        return along_steps(steps, frontier, self.shares)

    def over_links_and_entities(self, frontier: Mapping[int, float], least: float) -> Gains:
        """Return what the frontier gives on over links, and to memories that mention the same entities."""
        others, gains = self.over_links(frontier, least)
        most = {key: max_mentions(level, least) for key, level in frontier.items()}
        shared = self.tx.edges.sharing_entities(most, limit=MAX_SHARED)
        more_others, more_gains = along_entities(shared, frontier)
        return np.concatenate([others, more_others]), np.concatenate([gains, more_gains])


def _changed_steps(tx: Transaction, *, since: int) -> Iterator[Steps]:
    """Yield the steps along the links that changed after a cursor, at least once."""
    while True:
        since, edges = tx.edges.changes(since=since, limit=STEP_ROWS)
        yield Steps.along(edges)
        if len(edges) < STEP_ROWS:
            return


def _stored_steps(tx: Transaction, keys: NDArray[np.int64]) -> Steps:
    steps = Steps.along(tx.edges.touching(keys.tolist()))
    return steps[np.isin(steps.origins, keys)]


def _pass_through_filters(filters: Filters) -> Filters:
    """Return what a memory must be to pass activation on: every filter but those that only choose answers."""
    none = frozenset[Any]()
    return replace(filters, layers=none, types=none, kinds=none, categories=none, since=None, until=None)


def _visibility(tx: Transaction, scope: Scope, filters: Filters) -> VisibilityCache:
    return VisibilityCache(lambda keys: tx.candidates.filter_keys(keys, scope=scope, filters=filters))


def _type_shares(types: Collection[EdgeType] | None) -> NDArray[np.float64]:
    """Return how much each kind of step carries, nothing for types that are not asked for."""
    asked = [SHARES.get(kind, 1.0) if types is None or kind[0] in types else 0.0 for kind in KINDS]
    return np.array(asked, np.float64)
