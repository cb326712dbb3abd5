"""
All links between memories as arrays: where does each memory lead, over what kind of link, how strongly?

Kept by the graph index and fed from the store's changes of links. A link is two steps, one each way, and
steps lie side by side by the memory that they leave. A graph never changes: taking links in gives another
that shares the arrays and sets the few memories concerned apart, until there are enough of them to be worth
laying everything out anew. Why arrays and not dicts: docs/lab/0014-graph.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engram.errors import StoreCorrupt
from engram.index.distinct import distinct
from engram.values import EdgeType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from engram.store.contract import EdgeColumns

KINDS = tuple((one, is_forward) for one in EdgeType for is_forward in (True, False))
"""What a step's number stands for: a type of link, walked from source to target or back."""
_FORWARD = {one.value: number for number, (one, is_forward) in enumerate(KINDS) if is_forward}
SHARE_APART = 8
"""Everything is laid out anew once an eighth of the memories would be set apart."""


@dataclass(frozen=True, slots=True)
class Steps:
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
    def joined(cls, parts: Sequence[Steps]) -> Steps:
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
        self.nodes, starts = distinct(steps.origins)
        self._bounds = np.append(starts, len(steps)).astype(np.int64)
        self._others, self._kinds, self._weights = steps.others, steps.kinds, steps.weights

    def __len__(self) -> int:
        return len(self._others)

    @property
    def bytes(self) -> int:
        """How much memory the arrays take."""
        arrays = (self.nodes, self._bounds, self._others, self._kinds, self._weights)
        return sum(array.nbytes for array in arrays)

    def leaving(self, keys: NDArray[np.int64]) -> Steps:
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


@dataclass(frozen=True, slots=True)
class Graph:
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

    def leaving(self, keys: NDArray[np.int64]) -> Steps:
        """Return the steps that leave these memories."""
        if not self.apart:
            return self.layout.leaving(keys)
        is_apart = np.array([key in self.apart for key in keys.tolist()], np.bool_)
        changed = [self.apart[key] for key in keys[is_apart].tolist()]
        return Steps.joined([self.layout.leaving(keys[~is_apart]), *changed])

    def after(self, steps: Steps) -> Graph:
        """Return the graph after these steps were set, in order; one that weighs nothing is taken away."""
        touched, _ = distinct(steps.origins)
        fresh = Steps.joined([self.leaving(touched), steps]).latest()
        keys = touched.tolist()
        if len(self.apart.keys() | keys) * SHARE_APART > len(self.layout.nodes):
            joined = Steps.joined([self._without(keys), fresh])
            return Graph(Layout(joined[np.argsort(joined.origins, kind="stable")]))
        starts, ends = (np.searchsorted(fresh.origins, touched, side).tolist() for side in ("left", "right"))
        parts = {key: fresh[start:end] for key, start, end in zip(keys, starts, ends, strict=True)}
        return Graph(self.layout, {**self.apart, **parts})

    def _without(self, keys: Sequence[int]) -> Steps:
        """Return every step but those that leave these memories: first the laid out, then those set apart."""
        apart = [self.apart[key] for key in sorted(self.apart.keys() - keys)]
        return Steps.joined([self.layout.without([*self.apart, *keys]), *apart])
