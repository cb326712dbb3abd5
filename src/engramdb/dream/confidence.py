"""
Measure how well each domain is known, and look more finely at those that are known badly.

A step of the dream, after `tree` and `gaps`, whose domains and questions it counts. The numbers are stored
as they were measured: how fresh and how confident a domain is follows from them when somebody asks. A weak
domain is cut into smaller clusters once, so that the little that is known of it shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from msgspec.structs import replace

from engramdb.dream.clustering import FINER, bough, ground
from engramdb.dream.proposals import Proposal, SideWrite
from engramdb.dream.step import Dreaming
from engramdb.dream.summaries import needs_words
from engramdb.dream.tree import StoredTree, canopy, standing, storing
from engramdb.index.domains import confidence_of
from engramdb.store.contract import ClusterStats, SummaryNode, Transaction
from engramdb.values import Breadth, Scope

WEAK_BELOW = 0.4
"""A domain below this confidence is looked at more finely."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MEASURED = "what is known has changed"
WEAK = "little is known of it: it is looked at more finely"


class ConfidenceStep:
    """The step `confidence`."""

    name = "confidence"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield the domains whose numbers have changed, and those that are cut more finely."""
        with dreaming.store.read() as tx:
            scopes = tx.tree.scopes()
        for scope in scopes:
            if dreaming.is_stopped():
                return
            with dreaming.store.read() as tx:
                tree = standing(tx, scope)
                readings = tx.tree.readings(scope)
                changed = list(_measured(tree, readings))
            for node in changed:
                yield SideWrite(what="measure", reason=MEASURED, write=partial(_put, node))
            yield from _finer(dreaming, scope)


def _put(node: SummaryNode, tx: Transaction) -> bool:
    """Store new numbers; a node whose words were blanked meanwhile stays without them."""
    known = tx.tree.get(node.id)
    if known is None:
        return False
    measured = replace(
        known, members=node.members, certainty=node.certainty, doubted=node.doubted, latest_at=node.latest_at
    )
    return tx.tree.put(measured)


def _measured(tree: StoredTree, readings: dict[str, ClusterStats]) -> Iterator[SummaryNode]:
    """Yield the domains and the whole with their numbers as they are now, where those differ."""
    by_domain: defaultdict[str, list[ClusterStats]] = defaultdict(list)
    for cluster, reading in readings.items():
        by_domain[tree.nodes[cluster].parent or ""].append(reading)
    every = [reading for found in by_domain.values() for reading in found]
    for node in tree.nodes.values():
        found = every if node.breadth is Breadth.GLOBAL else by_domain.get(node.id, [])
        if node.breadth is not Breadth.CLUSTER and found:
            together = _together(found)
            now = replace(
                node,
                members=together.members,
                certainty=together.certainty,
                doubted=together.doubted,
                latest_at=_moment(together.latest),
            )
            if _numbers(now) != _numbers(node):
                yield now


def _numbers(node: SummaryNode) -> tuple[object, ...]:
    return (node.members, node.certainty, node.doubted, node.latest_at)


def _together(readings: Sequence[ClusterStats]) -> ClusterStats:
    members = sum(one.members for one in readings)
    return ClusterStats(
        members=members,
        certainty=round(sum(one.certainty * one.members for one in readings) / members, 6),
        doubted=sum(one.doubted for one in readings),
        latest=max(one.latest for one in readings),
    )


def _finer(dreaming: Dreaming, scope: Scope) -> Iterator[Proposal]:
    """Yield the weak domains of a scope in smaller clusters, those that were not cut finely yet."""
    policy = dreaming.policy.insight
    size = max(2, policy.cluster_size // FINER)
    with dreaming.store.read() as tx:
        tree = standing(tx, scope)
        words = canopy(dreaming, tx, scope, tree.nodes)
        found = []
        for node in tree.domains():
            is_weak = confidence_of(node, policy, dreaming.now) < WEAK_BELOW
            if is_weak and not node.grain and node.members > size and not needs_words(node) and words.space:
                keys = sorted(key for one in tree.clusters_of(node.id) for key in tree.members[one])
                on = ground(tx, words.space, keys, scope=scope)
                finer = bough(on, size=size, grain=1, bough_id=node.id)
                found.append((words.foliage(tx, finer, on), tree.clusters_of(node.id)))
    for foliage, old in found:
        yield storing(foliage, WEAK, drop=old)


def _moment(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)
