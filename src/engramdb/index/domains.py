"""
What the tree of summaries tells a reader: the text that fits, at the breadth that there is room for, and how
well each domain is known.

Asked by `context`, the engine and the dream's step `confidence`; reads the tree as the last dream left
it. Nothing is shown that was blanked since. How fresh a domain is follows from the moment of asking.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING

from engramdb.policy import InsightPolicy
from engramdb.store.contract import SummaryNode, Transaction
from engramdb.text.tokens import count_tokens
from engramdb.values import Breadth, Domain, Scope, Summary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEPTH_FULL = 8.0
"""Well-believed memories that make two thirds of a domain's depth."""

STALE_SHARE = 0.5
"""What confidence keeps of itself however old a domain is: old knowledge is less sure, not unknown."""
_SECONDS_PER_DAY = 86_400


def find_summaries(
    tx: Transaction,
    scope: Scope,
    query_vector: NDArray[np.float32] | None = None,
    breadth: Breadth | str = Breadth.CLUSTER,
    limit: int = 5,
    *,
    space: int | None = None,
) -> list[Summary]:
    """
    Return summaries of one breadth that a reader in this scope may see, those that fit the question first.

    Without a vector the largest come first. With a `space`, nodes of another embedder's space are not
    compared and come last.
    """
    nodes = [node for node in tx.tree.visible(scope, Breadth(breadth)) if node.summary]
    near = {node.id: _query_similarity(node, query_vector, space) for node in nodes}
    ranked = sorted(nodes, key=lambda node: (-(near[node.id] or -1.0), -node.members, node.id))
    return [_to_summary(node, near[node.id]) for node in ranked[:limit]]


def list_domains(tx: Transaction, scope: Scope, policy: InsightPolicy, now: datetime) -> list[Domain]:
    """Return the domains that a reader in this scope may see, the best known first."""
    nodes = tx.tree.visible(scope, Breadth.DOMAIN)
    clusters: dict[str, int] = {}
    for node in tx.tree.visible(scope, Breadth.CLUSTER):
        clusters[node.parent or ""] = clusters.get(node.parent or "", 0) + 1
    found = [measure_domain(node, policy, now, clusters=clusters.get(node.id, 0)) for node in nodes]
    return sorted(found, key=lambda domain: (-domain.confidence, -domain.members, domain.id))


def measure_domain(
    node: SummaryNode, policy: InsightPolicy, now: datetime, *, clusters: int = 0, gaps: int = 0
) -> Domain:
    """Return a domain with its numbers at a moment."""
    return Domain(
        id=node.id,
        title=node.title,
        members=node.members,
        clusters=clusters,
        depth=knowledge_depth(node.members * node.certainty),
        freshness=freshness(node, policy, now),
        uncertainty=doubt_share(node),
        confidence=domain_confidence(node, policy, now),
        gaps=gaps,
        latest_at=node.latest_at,
        scope=node.scope,
    )


def domain_confidence(node: SummaryNode, policy: InsightPolicy, now: datetime) -> float:
    """Return depth, freshness and the lack of uncertainty in one number."""
    fresh = STALE_SHARE + (1 - STALE_SHARE) * freshness(node, policy, now)
    return knowledge_depth(node.members * node.certainty) * fresh * (1 - doubt_share(node))


def knowledge_depth(believed: float) -> float:
    """Return the depth of knowledge from believed memories: each further one adds less."""
    return 1 - math.exp(-believed / DEPTH_FULL)


def freshness(node: SummaryNode, policy: InsightPolicy, now: datetime) -> float:
    """Return how fresh a node is: half after each half-life without news or use."""
    idle = max(0.0, (now - node.latest_at).total_seconds() / _SECONDS_PER_DAY)
    return float(0.5 ** (idle / policy.fresh_half_life_days))


def doubt_share(node: SummaryNode) -> float:
    """Return the share of members that are in doubt."""
    return min(1.0, node.doubted / node.members) if node.members else 0.0


def _query_similarity(
    node: SummaryNode, query: NDArray[np.float32] | None, space: int | None
) -> float | None:
    if query is None or node.centroid is None or node.centroid.shape != query.shape:
        return None
    return None if space is not None and node.space != space else float(node.centroid @ query)


def _to_summary(node: SummaryNode, near: float | None) -> Summary:
    return Summary(
        id=node.id,
        breadth=node.breadth,
        title=node.title,
        text=node.summary,
        tokens=count_tokens(node.summary),
        members=node.members,
        scope=node.scope,
        parent=node.parent,
        relevance=near,
    )
