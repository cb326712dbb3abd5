"""
Let activation spread from memories to those that they lead to, weaker with every hop.

Called by the graph index, which says where steps lead and what the reader may see; knows no store. A memory
keeps the strongest activation that reaches it, not the sum, so neither circles nor crowds make it grow.
Nothing passes through a memory that the reader may not see, or the answer would tell what lies behind it.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

import numpy as np

from engram.index.distinct import distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from engram.index.graph_links import Steps
    from engram.store.contract import SharedEntities

Gains = tuple["NDArray[np.int64]", "NDArray[np.float64]"]
"""Memories that activation reaches, and how much of it; a memory may stand there more than once."""

MAX_MENTIONS = 63
"""An entity that more memories speak of links none; with the usual floor and decay nothing would be left."""

SPARE = 16
"""Keys looked at beyond what should do: asking the store once more costs as much as a dozen keys."""


class Sight:
    """Which memories a reader may see: asked for in batches, and remembered for one question."""

    def __init__(self, look: Callable[[Sequence[int]], set[int]]) -> None:
        self._look = look
        self._known: dict[int, bool] = {}

    def first(self, keys: Sequence[int], wanted: int) -> list[int]:
        """Return the first so many of the keys that may be seen."""
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
    sight: Sight,
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
        best = best_of(*gains(passing, floor), floor=floor)
        stronger = [key for key, level in best.items() if level > levels.get(key, 0.0)]
        frontier = {key: best[key] for key in sight.first(stronger, wanted + len(seeds))}
        levels |= frontier
        floor = max(floor, _last_wanted(levels, seeds, wanted))
    return {key: level for key, level in levels.items() if key not in seeds}


def _last_wanted(levels: Mapping[int, float], seeds: Mapping[int, float], wanted: int) -> float:
    """Return the activation of the last of the strongest that are wanted, 0 while there are fewer."""
    strongest = heapq.nlargest(wanted, (level for key, level in levels.items() if key not in seeds))
    return strongest[-1] if len(strongest) == wanted else 0.0


def best_of(keys: NDArray[np.int64], gains: NDArray[np.float64], *, floor: float) -> dict[int, float]:
    """Return the largest gain of each memory, strongest first; none below the floor."""
    is_strong = gains >= floor
    keys, gains = keys[is_strong], gains[is_strong]
    order = np.lexsort((keys, -gains))
    keys, gains = keys[order], gains[order]
    _, first = distinct(keys)
    first.sort()
    return dict(zip(keys[first].tolist(), gains[first].tolist(), strict=True))


def along_steps(steps: Steps, frontier: Mapping[int, float], shares: NDArray[np.float64]) -> Gains:
    """Return what the frontier gives on over its steps; `shares` says how much each kind of step carries."""
    return steps.others, levels_of(steps.origins, frontier) * shares[steps.kinds] * steps.weights


def along_entities(shared: SharedEntities, frontier: Mapping[int, float]) -> Gains:
    """
    Return what the frontier gives on to memories that speak of the same entities.

    A link over an entity weighs `1 / log2(1 + mentions)`: 0.63 where two memories share it, 0.17 where 63 do.
    """
    weights = 1 / np.log2(1 + np.maximum(shared.mentions, 2))
    return shared.others, levels_of(shared.origins, frontier) * weights


def most_mentions(level: float, least: float) -> int:
    """Return of how many memories an entity may be known for this level to give on `least` over it."""
    if level >= least * math.log2(1 + MAX_MENTIONS):
        return MAX_MENTIONS
    return int(2 ** (level / least)) - 1


def levels_of(keys: NDArray[np.int64], frontier: Mapping[int, float]) -> NDArray[np.float64]:
    """Return the activation of each key, all of which are in the frontier."""
    known = np.array(sorted(frontier), np.int64)
    levels = np.array([frontier[key] for key in known.tolist()], np.float64)
    return levels[np.searchsorted(known, keys)]
