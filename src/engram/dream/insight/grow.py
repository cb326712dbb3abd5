"""
Grow a tree over the memories of one scope: which belong to which cluster, and which clusters to which domain.

Called by the steps `tree` and `confidence`; reads vectors and entities, writes nothing, knows no words but
names. Domains begin at the entities that most memories speak of, so a domain is about somebody or something
rather than a place in space. The same memories give the same tree, and an id names what a group began with,
so it stays while the group changes little by little.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engram.dream.insight.nearest import unit, unit_vectors
from engram.dream.insight.partition import groups, partition, spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from engram.policy import InsightPolicy
    from engram.store.contract import Naming, Transaction
    from engram.values import Breadth, Scope

    Rows = NDArray[np.float32]

READ_ROWS = 10_000
LEAST_ANCHORED = 3
"""So many memories must speak of an entity for a domain to begin there."""
TOO_ALIKE = 0.7
"""An entity whose memories lie as close as this to an earlier one's begins no domain of its own."""
DOMAINS_PER_ROOT = 2.0
"""A scope of n memories has about half the root of n domains: 16 for a thousand, 50 for ten thousand."""
FINER = 2
"""A weak domain is cut into clusters of half the usual size."""


@dataclass(frozen=True, slots=True)
class Twig:
    """A cluster: its members, in order, and the middle of them."""

    id: str
    keys: tuple[int, ...]
    centroid: Rows


@dataclass(frozen=True, slots=True)
class Bough:
    """A domain: its clusters, the largest first."""

    id: str
    twigs: tuple[Twig, ...]
    grain: int = 0

    @property
    def keys(self) -> tuple[int, ...]:
        """Every memory below it, in order."""
        return tuple(sorted(key for twig in self.twigs for key in twig.keys))


@dataclass(frozen=True, slots=True)
class Ground:
    """The memories of a scope that have a vector, in order, and their vectors at length one."""

    scope: Scope
    keys: NDArray[np.int64]
    rows: Rows

    def of(self, keys: Sequence[int]) -> Ground:
        """Return some of them, those that are there."""
        wanted = np.sort(np.array(keys, np.int64))
        places = np.minimum(np.searchsorted(self.keys, wanted), max(0, len(self.keys) - 1))
        places = places[self.keys[places] == wanted] if len(self.keys) else places[:0]
        return Ground(self.scope, self.keys[places], self.rows[places])


def ground(tx: Transaction, space: int, keys: Sequence[int], *, scope: Scope) -> Ground:
    """Return these memories with their vectors, as far as they have one."""
    pages = [
        unit_vectors(tx, space, keys[start : start + READ_ROWS]) for start in range(0, len(keys), READ_ROWS)
    ]
    found = [key for page, _ in pages for key in page]
    rows = [rows for page, rows in pages if page]
    return Ground(
        scope, np.array(found, np.int64), np.concatenate(rows) if rows else np.zeros((0, 1), np.float32)
    )


def grown(on: Ground, namings: Sequence[Naming], policy: InsightPolicy) -> list[Bough]:
    """Return the domains of a scope with their clusters, those that began at an entity first."""
    if not len(on.keys):
        return []
    wide = spread(on.rows)
    count = domain_count(len(on.keys), policy)
    labels = partition(wide, count, anchors=_anchors(on, wide, namings, count))
    return [
        bough(on.of(on.keys[members].tolist()), size=policy.cluster_size, grain=0)
        for members in groups(labels)
    ]


def bough(on: Ground, *, size: int, grain: int, bough_id: str | None = None) -> Bough:
    """Return one domain over these memories, cut into clusters of about this size."""
    twigs = twigs_of(on, size=size)
    return Bough(bough_id or node_id(on.scope, "domain", on.keys), tuple(twigs), grain)


def twigs_of(on: Ground, *, size: int) -> list[Twig]:
    """Return these memories as clusters of about this size, the largest first."""
    labels = partition(spread(on.rows), math.ceil(len(on.keys) / size))
    twigs = [twig(on.of(on.keys[members].tolist())) for members in groups(labels)]
    return sorted(twigs, key=lambda one: (-len(one.keys), one.id))


def twig(on: Ground, *, twig_id: str | None = None) -> Twig:
    """Return one cluster of these memories."""
    middle: Rows = unit(on.rows.mean(axis=0))
    return Twig(twig_id or node_id(on.scope, "cluster", on.keys), tuple(on.keys.tolist()), middle)


def domain_count(memories: int, policy: InsightPolicy) -> int:
    """Return into how many domains so many memories fall."""
    return max(1, min(policy.domain_most, round(math.sqrt(memories) / DOMAINS_PER_ROOT)))


def node_id(scope: Scope, breadth: Breadth | str, keys: Sequence[int] | NDArray[np.int64] = ()) -> str:
    """Return the id of a node that begins with these memories."""
    told = json.dumps([scope.parts, str(breadth), [int(key) for key in keys]], ensure_ascii=False)
    return f"{breadth}-{hashlib.blake2b(told.encode('utf-8', 'replace'), digest_size=12).hexdigest()}"


def _anchors(on: Ground, wide: Rows, namings: Sequence[Naming], count: int) -> Rows | None:
    """Return where domains begin: amid the memories of the entities spoken of most, those that differ."""
    chosen: list[Rows] = []
    for members in _by_entity(on, namings):
        middle: Rows = unit(wide[members].mean(axis=0))
        if len(chosen) < count and all(float(middle @ other) < TOO_ALIKE for other in chosen):
            chosen.append(middle)
    return np.array(chosen, np.float32) if chosen else None


def _by_entity(on: Ground, namings: Sequence[Naming]) -> list[NDArray[np.int64]]:
    """Return the rows that speak of each entity that enough speak of, the most spoken of first."""
    speaking: defaultdict[str, set[int]] = defaultdict(set)
    for naming in namings:
        speaking[naming.entity].add(naming.key)
    often = [(entity, keys) for entity, keys in speaking.items() if len(keys) >= LEAST_ANCHORED]
    often.sort(key=lambda pair: (-len(pair[1]), pair[0]))
    return [np.searchsorted(on.keys, np.array(sorted(keys), np.int64)) for _, keys in often[:200]]


def by_key(namings: Sequence[Naming]) -> Mapping[int, list[str]]:
    """Return the names that each memory speaks of."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for naming in namings:
        found[naming.key].append(naming.name)
    return found
