"""Nearest neighbors within a scope, partitions of vectors, and clusters that grow into a tree."""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.policy import InsightPolicy
from engramdb.store.contract import EntityNaming, QuantizedVectors, Transaction
from engramdb.values import Breadth, EmbedderIdentity, Scope

MAX_DOMAINS = 64
"""So many domains a scope has at most."""

# The nearest memories of exactly the same scope, by the vectors that the store holds, for a few at once.
#
# The scope is read a page at a time and compared with all that are asked for in one product, so the work
# grows with the scope and not with its square. Nearness here only names candidates: raw cosines mean
# something else for every embedder, so no threshold looks at them.

Rows = NDArray[np.float32]

PAGE_ROWS = 5_000


def nearest_in_scope(
    tx: Transaction,
    identity: EmbedderIdentity | None,
    keys: Sequence[int],
    *,
    scope: Scope,
    limit: int,
    min_cosine: float = -1.0,
) -> dict[int, list[int]]:
    """Return for each of these memories the keys of those of its scope that lie nearest, nearest first."""
    space = None if identity is None else tx.vectors.space(identity)
    if space is None or not keys:
        return {}
    asked, rows = unit_vectors(tx, space, keys)
    if not asked:
        return {}
    best_keys, best = (
        np.full((len(asked), limit), -1, np.int64),
        np.full((len(asked), limit), -np.inf, np.float32),
    )
    everyone = tx.tree.usable(scope)
    for start in range(0, len(everyone), PAGE_ROWS):
        page, vectors = unit_vectors(tx, space, everyone[start : start + PAGE_ROWS])
        if page:
            best_keys, best = _merge_best(best_keys, best, np.array(page, np.int64), rows @ vectors.T, asked)
    return {
        key: [int(other) for other, near in zip(best_keys[row], best[row], strict=True) if near >= min_cosine]
        for row, key in enumerate(asked)
    }


def unit_vectors(tx: Transaction, space: int, keys: Sequence[int]) -> tuple[list[int], Rows]:
    """Return the keys that have a vector, in order, and their vectors at length one."""
    found, quantized = tx.vectors.fetch(space, keys)
    order = np.argsort(np.array(found, np.int64), kind="stable")
    return [found[place] for place in order], to_unit_length(dequantize(quantized)[order])


def dequantize(quantized: QuantizedVectors) -> Rows:
    """Return vectors as plain numbers."""
    rows: Rows = quantized.numbers.astype(np.float32) * quantized.scales[:, None]
    return rows


def to_unit_length(rows: Rows) -> Rows:
    """Return the rows at length one; a row of nothing stays as it is."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: Rows = rows / np.maximum(lengths, 1e-12)
    return scaled


def _merge_best(
    best_keys: NDArray[np.int64], best: Rows, page: NDArray[np.int64], scores: Rows, asked: Sequence[int]
) -> tuple[NDArray[np.int64], Rows]:
    """Return the best of what was found so far and of a page; no row is its own neighbor."""
    limit = best.shape[1]
    scores = np.where(page[None, :] == np.array(asked, np.int64)[:, None], -np.inf, scores)
    if len(page) > limit:
        few = np.argpartition(-scores, limit - 1, axis=1)[:, :limit]
        page_keys, page_scores = page[few], np.take_along_axis(scores, few, axis=1)
    else:
        page_keys, page_scores = np.broadcast_to(page, scores.shape), scores
    keys = np.concatenate([best_keys, page_keys], axis=1)
    near = np.concatenate([best, page_scores], axis=1)
    order = np.lexsort((keys, -near), axis=1)[:, :limit]
    return np.take_along_axis(keys, order, axis=1), np.take_along_axis(near, order, axis=1)


# Cut a set of vectors into groups that lie together: seeded, deterministic, and in linear time.
#
# Starts from anchors where there are any, then from the row farthest from all starts so far, and lets the
# groups settle on a sample. Vectors of one embedder crowd around their mean, so the mean is taken off
# first. A cut into many groups is made in two steps, because comparing each row with every group would grow
# with the square of the set.

Labels = NDArray[np.int64]

SAMPLE_ROWS = 4_000
"""Rows on which groups settle; the others join the nearest afterwards."""
ROUNDS = 8
"""Most groups of real statements stand still after five rounds."""
CENTERED_FROM = 8
"""With fewer rows the mean is mostly the rows themselves."""
MAX_GROUPS_AT_ONCE = 64
"""Comparing with more groups than this at once would grow with the square of the set."""


def center(rows: Rows) -> Rows:
    """Return the rows without what they all share, at length one."""
    if len(rows) < CENTERED_FROM:
        return rows
    return to_unit_length(rows - rows.mean(axis=0, keepdims=True))


def partition_rows(rows: Rows, count: int, *, anchors: Rows | None = None) -> Labels:
    """Return for each row the number of its group, from 0; at most `count` groups, none of them empty."""
    count = max(1, min(count, len(rows)))
    if count == 1:
        return np.zeros(len(rows), np.int64)
    if count > MAX_GROUPS_AT_ONCE:
        return _partition_in_two_steps(rows, count)
    sample = rows[:: max(1, len(rows) // SAMPLE_ROWS)]
    centers = _refine_centers(sample, _initial_centers(sample, count, anchors))
    return _renumber(_nearest_center(rows, centers))


def rows_by_group(labels: Labels) -> list[NDArray[np.intp]]:
    """Return the rows of each group, in the order of the groups."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(labels) else []


def _partition_in_two_steps(rows: Rows, count: int) -> Labels:
    """Cut coarsely first, and then each part by itself, with its share of the groups."""
    coarse = partition_rows(rows, min(MAX_GROUPS_AT_ONCE, math.ceil(math.sqrt(count))))
    labels, used = np.zeros(len(rows), np.int64), 0
    for members in rows_by_group(coarse):
        share = max(1, round(count * len(members) / len(rows)))
        inner = partition_rows(rows[members], share)
        labels[members] = inner + used
        used += int(inner.max()) + 1
    return labels


def _initial_centers(rows: Rows, count: int, anchors: Rows | None) -> Rows:
    """Return where groups begin: at the anchors that differ, then at the row farthest from all others."""
    chosen = [] if anchors is None else list(anchors[:count])
    if not chosen:
        chosen = [rows[int(np.argmin(rows @ to_unit_length(rows.mean(axis=0))))]]
    near = np.max(rows @ np.array(chosen).T, axis=1)
    while len(chosen) < count:
        farthest = int(np.argmin(near))
        chosen.append(rows[farthest])
        near = np.maximum(near, rows @ rows[farthest])
    return np.array(chosen, np.float32)


def _refine_centers(rows: Rows, centers: Rows) -> Rows:
    """Move every center to the mean of the rows nearest to it, until none changes."""
    labels = np.full(len(rows), -1, np.int64)
    for _ in range(ROUNDS):
        moved = _nearest_center(rows, centers)
        if np.array_equal(moved, labels):
            break
        labels = moved
        order = np.argsort(labels, kind="stable")
        used, starts = np.unique(labels[order], return_index=True)
        centers = centers.copy()
        centers[used] = to_unit_length(np.add.reduceat(rows[order], starts, axis=0))
    return centers


def _nearest_center(rows: Rows, centers: Rows) -> Labels:
    nearest: Labels = np.argmax(rows @ centers.T, axis=1).astype(np.int64)
    return nearest


def _renumber(labels: Labels) -> Labels:
    """Return the labels numbered from 0 without holes, in the order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    dense: Labels = rank[inverse]
    return dense


# Grow a tree over the memories of one scope: which belong to which cluster, and which clusters to which
# domain.
#
# Domains begin at the entities that most memories mention, so a domain is about someone or something rather
# than a place in space. The same memories give the same tree, and an id names what a group began with, so
# it stays while the group changes little by little.


READ_ROWS = 10_000
MIN_ANCHOR_MEMORIES = 3
"""How many memories must mention an entity for a domain to begin there."""
ANCHOR_DUPLICATE_COSINE = 0.7
"""An entity whose memories lie as close as this to an earlier one's begins no domain of its own."""
DOMAINS_PER_ROOT = 2.0
"""A scope of n memories has about half the root of n domains: 16 for a thousand, 50 for ten thousand."""
FINER = 2
"""A weak domain is cut into clusters of half the usual size."""


class Cluster(Struct, frozen=True):
    """A cluster: its members, in order, and the middle of them."""

    id: str
    keys: tuple[int, ...]
    centroid: Rows


class DomainGroup(Struct, frozen=True):
    """A domain: its clusters, the largest first."""

    id: str
    clusters: tuple[Cluster, ...]
    grain: int = 0

    @property
    def keys(self) -> tuple[int, ...]:
        """Every memory below it, in order."""
        return tuple(sorted(key for cluster in self.clusters for key in cluster.keys))


class ScopeVectors(Struct, frozen=True):
    """The memories of a scope that have a vector, in order, and their vectors at length one."""

    scope: Scope
    keys: NDArray[np.int64]
    rows: Rows
    ids: NDArray[np.object_]
    """The ids of the memories: unlike keys, they do not depend on what other scopes hold."""

    def of(self, keys: Sequence[int]) -> ScopeVectors:
        """Return some of them, those that are there."""
        wanted = np.sort(np.array(keys, np.int64))
        places = np.minimum(np.searchsorted(self.keys, wanted), max(0, len(self.keys) - 1))
        places = places[self.keys[places] == wanted] if len(self.keys) else places[:0]
        return ScopeVectors(self.scope, self.keys[places], self.rows[places], self.ids[places])


def load_scope_vectors(tx: Transaction, space: int, keys: Sequence[int], *, scope: Scope) -> ScopeVectors:
    """Return these memories with their vectors, as far as they have one."""
    pages = [
        unit_vectors(tx, space, keys[start : start + READ_ROWS]) for start in range(0, len(keys), READ_ROWS)
    ]
    found = [key for page, _ in pages for key in page]
    rows = [rows for page, rows in pages if page]
    ids = tx.memories.ids_of(found)
    return ScopeVectors(
        scope,
        np.array(found, np.int64),
        np.concatenate(rows) if rows else np.zeros((0, 1), np.float32),
        np.array([ids[key] for key in found], np.object_),
    )


def grow_domains(
    vectors: ScopeVectors, namings: Sequence[EntityNaming], policy: InsightPolicy
) -> list[DomainGroup]:
    """Return the domains of a scope with their clusters, those that began at an entity first."""
    if not len(vectors.keys):
        return []
    wide = center(vectors.rows)
    count = domain_count(len(vectors.keys))
    labels = partition_rows(wide, count, anchors=_domain_anchors(vectors, wide, namings, count))
    return [
        build_domain(vectors.of(vectors.keys[members].tolist()), size=policy.cluster_size, grain=0)
        for members in rows_by_group(labels)
    ]


def build_domain(
    vectors: ScopeVectors, *, size: int, grain: int, domain_id: str | None = None
) -> DomainGroup:
    """Return one domain over these memories, cut into clusters of about this size."""
    twigs = split_into_clusters(vectors, size=size)
    return DomainGroup(domain_id or node_id(vectors.scope, "domain", vectors.ids), tuple(twigs), grain)


def split_into_clusters(vectors: ScopeVectors, *, size: int) -> list[Cluster]:
    """Return these memories as clusters of about this size, the largest first."""
    labels = partition_rows(center(vectors.rows), math.ceil(len(vectors.keys) / size))
    twigs = [build_cluster(vectors.of(vectors.keys[members].tolist())) for members in rows_by_group(labels)]
    return sorted(twigs, key=lambda one: (-len(one.keys), one.id))


def build_cluster(vectors: ScopeVectors, *, cluster_id: str | None = None) -> Cluster:
    """Return one cluster of these memories."""
    middle: Rows = to_unit_length(vectors.rows.mean(axis=0))
    return Cluster(
        cluster_id or node_id(vectors.scope, "cluster", vectors.ids), tuple(vectors.keys.tolist()), middle
    )


def domain_count(memories: int) -> int:
    """Return the number of domains for this number of memories."""
    return max(1, min(MAX_DOMAINS, round(math.sqrt(memories) / DOMAINS_PER_ROOT)))


def node_id(scope: Scope, breadth: Breadth | str, ids: Iterable[str] = ()) -> str:
    """Return the id of a node that begins with these memories."""
    told = json.dumps([scope.parts, str(breadth), list(ids)], ensure_ascii=False)
    return f"{breadth}-{hashlib.blake2b(told.encode('utf-8', 'replace'), digest_size=12).hexdigest()}"


def _domain_anchors(
    vectors: ScopeVectors, wide: Rows, namings: Sequence[EntityNaming], count: int
) -> Rows | None:
    """Return where domains begin: amid the memories of the entities mentioned most, those that differ."""
    chosen: list[Rows] = []
    for members in _rows_by_entity(vectors, namings):
        middle: Rows = to_unit_length(wide[members].mean(axis=0))
        if len(chosen) < count and all(float(middle @ other) < ANCHOR_DUPLICATE_COSINE for other in chosen):
            chosen.append(middle)
    return np.array(chosen, np.float32) if chosen else None


def _rows_by_entity(vectors: ScopeVectors, namings: Sequence[EntityNaming]) -> list[NDArray[np.int64]]:
    """Return the rows that mention each frequent entity, the most mentioned first."""
    speaking: defaultdict[str, set[int]] = defaultdict(set)
    for naming in namings:
        speaking[naming.entity].add(naming.key)
    often = [(entity, keys) for entity, keys in speaking.items() if len(keys) >= MIN_ANCHOR_MEMORIES]
    often.sort(key=lambda pair: (-len(pair[1]), pair[0]))
    return [np.searchsorted(vectors.keys, np.array(sorted(keys), np.int64)) for _, keys in often[:200]]


def names_by_memory(namings: Sequence[EntityNaming]) -> Mapping[int, list[str]]:
    """Return the names that each memory mentions."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for naming in namings:
        found[naming.key].append(naming.name)
    return found
