"""
Measure how well each domain is known, and split the ones that are known badly.

Runs after `tree` and `gaps`, whose domains and questions it counts. The numbers are stored
as they were measured: how fresh and how confident a domain is follows from them at query time. A weak
domain is cut into smaller clusters once, so that the little that is known of it shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from msgspec.structs import replace

from engramdb.dream.clustering import FINER, build_domain, load_scope_vectors
from engramdb.dream.step import Dreaming, Proposal, SideWrite
from engramdb.dream.summaries import needs_words
from engramdb.dream.tree import StoredTree, load_tree, propose_recut, summary_writer
from engramdb.index.domains import domain_confidence
from engramdb.store.contract import ClusterStats, SummaryNode, Transaction
from engramdb.values import Breadth, Scope

WEAK_BELOW = 0.4
"""A domain below this confidence is looked at more finely."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MEASURED_REASON = "what is known has changed"
WEAK_REASON = "little is known of it: it is looked at more finely"


class ConfidenceStep:
    """The step `confidence`."""

    name = "confidence"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield the domains whose numbers have changed, and those that are cut more finely."""
        with dreaming.store.read() as tx:
            scopes = dreaming.among(tx.tree.scopes())
        for scope in scopes:
            if dreaming.is_stopped():
                return
            with dreaming.store.read() as tx:
                tree = load_tree(tx, scope)
                readings = tx.tree.cluster_stats(scope)
                changed = list(_changed_domains(tree, readings))
            for node in changed:
                yield SideWrite(what="measure", reason=MEASURED_REASON, write=partial(_store_numbers, node))
            yield from _split_weak_domains(dreaming, scope)


def _store_numbers(node: SummaryNode, tx: Transaction) -> bool:
    """Store new numbers; a node whose words were blanked meanwhile stays without them."""
    known = tx.tree.get(node.id)
    if known is None:
        return False
    measured = replace(
        known, members=node.members, certainty=node.certainty, doubted=node.doubted, latest_at=node.latest_at
    )
    return tx.tree.put(measured)


def _changed_domains(tree: StoredTree, stats: dict[str, ClusterStats]) -> Iterator[SummaryNode]:
    """Yield the domains and the whole with their numbers as they are now, where those differ."""
    by_domain: defaultdict[str, list[ClusterStats]] = defaultdict(list)
    for cluster, reading in stats.items():
        by_domain[tree.nodes[cluster].parent or ""].append(reading)
    every = [reading for found in by_domain.values() for reading in found]
    for node in tree.nodes.values():
        found = every if node.breadth is Breadth.GLOBAL else by_domain.get(node.id, [])
        if node.breadth is not Breadth.CLUSTER and found:
            together = _combined_stats(found)
            now = replace(
                node,
                members=together.members,
                certainty=together.certainty,
                doubted=together.doubted,
                latest_at=_to_datetime(together.latest),
            )
            if _measured_numbers(now) != _measured_numbers(node):
                yield now


def _measured_numbers(node: SummaryNode) -> tuple[object, ...]:
    return (node.members, node.certainty, node.doubted, node.latest_at)


def _combined_stats(stats: Sequence[ClusterStats]) -> ClusterStats:
    members = sum(one.members for one in stats)
    return ClusterStats(
        members=members,
        certainty=round(sum(one.certainty * one.members for one in stats) / members, 6),
        doubted=sum(one.doubted for one in stats),
        latest=max(one.latest for one in stats),
    )


def _split_weak_domains(dreaming: Dreaming, scope: Scope) -> Iterator[Proposal]:
    """Yield the weak domains of a scope in smaller clusters, those that were not cut finely yet."""
    policy = dreaming.policy.insight
    size = max(2, policy.cluster_size // FINER)
    with dreaming.store.read() as tx:
        tree = load_tree(tx, scope)
        words = summary_writer(dreaming, tx, scope, tree.nodes)
        found = []
        for node in tree.domains():
            is_weak = domain_confidence(node, policy, dreaming.now) < WEAK_BELOW
            if is_weak and not node.grain and node.members > size and not needs_words(node) and words.space:
                keys = sorted(key for one in tree.clusters_of(node.id) for key in tree.members[one])
                on = load_scope_vectors(tx, words.space, keys, scope=scope)
                finer = build_domain(on, size=size, grain=1, domain_id=node.id)
                found.append((words.word_domain(tx, finer, on), tree.clusters_of(node.id)))
    for domain, old in found:
        yield propose_recut(domain, WEAK_REASON, drop=old)


def _to_datetime(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)
