"""The step `tree`: summaries over each scope as memories, clusters, domains and one text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.dream.clustering import (
    FINER,
    Cluster,
    DomainGroup,
    ScopeVectors,
    build_cluster,
    grow_domains,
    load_scope_vectors,
    node_id,
    split_into_clusters,
    to_unit_length,
)
from engramdb.dream.step import Dreaming, Proposal, SideWrite, Skipped
from engramdb.dream.summaries import (
    ModelSummarizer,
    SummaryWriter,
    WordedDomain,
    global_summary,
    needs_words,
    short_fact,
    store_clusters,
    store_domain,
    without_words,
)
from engramdb.policy import InsightPolicy
from engramdb.store.contract import SummaryNode, Transaction
from engramdb.values import Breadth, Scope

GLOBAL_TOKENS = 200
"""What the summary of a whole scope may cost."""
REBUILD_SHARE = 0.25
"""When more than this share of a tree is new or gone, it is rebuilt instead of mended."""

FEW_CHANGES = 8
"""Up to this many changes never trigger a rebuild."""
SPLIT_ABOVE = 2.5
"""A cluster larger than its target size by this factor is split."""
CLUSTERS_PER_WRITE = 12
"""Clusters that one proposal stores: what is written together must not hold up others."""
GROWN_REASON, MENDED_REASON, SCOPE_REASON = (
    "the tree is rebuilt",
    "its members have changed",
    "the tree is whole",
)


class TreeStep:
    """The step `tree`."""

    name = "tree"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield every domain that changed, and then the summary of the scope, scope by scope."""
        if dreaming.identity is None:
            raise Skipped("there are no vectors to group memories by: the embedder cannot be asked")
        with dreaming.store.read() as tx:
            scopes = dreaming.among(tx.tree.scopes())
            has_vectors = tx.vectors.space(dreaming.identity) is not None
        if scopes and not has_vectors:
            raise Skipped("there are no vectors to group memories by: none was made yet")
        teller = ModelSummarizer(dreaming)
        for scope in scopes:
            if dreaming.is_stopped():
                return
            yield from _propose_for_scope(dreaming, scope, teller)


class StoredTree(Struct, frozen=True):
    """A tree as it stands: its nodes, and who is in which cluster."""

    nodes: Mapping[str, SummaryNode]
    members: Mapping[str, Mapping[int, int]]

    def clusters_of(self, domain_id: str) -> list[str]:
        """Return the ids of the clusters of a domain."""
        return [one.id for one in self.nodes.values() if one.parent == domain_id and one.id in self.members]

    def domains(self) -> list[SummaryNode]:
        """Return the domains."""
        return [node for node in self.nodes.values() if node.breadth is Breadth.DOMAIN]


class _Plan(Struct):
    """What a tree should become: the domains to store, and the clusters that are left as they are."""

    is_rebuild: bool
    groups: list[DomainGroup]
    on: ScopeVectors
    worded: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """The clusters of those domains that keep their members and their words."""
    left: list[str] = field(default_factory=list)
    """The ids of the domains that are not touched."""
    is_stale: bool = False
    """Whether the whole must be put into words although no domain changed."""


def load_tree(tx: Transaction, scope: Scope) -> StoredTree:
    """Return the tree of a scope as it stands."""
    return StoredTree({node.id: node for node in tx.tree.nodes(scope)}, tx.tree.members(scope))


def summary_writer(
    dreaming: Dreaming, tx: Transaction, scope: Scope, known: Mapping[str, SummaryNode]
) -> SummaryWriter:
    """Return what wording the groups of a scope takes."""
    space = tx.vectors.space(dreaming.identity) if dreaming.identity else None
    return SummaryWriter(
        scope=scope,
        space=space or 0,
        now=dreaming.now,
        root=node_id(scope, Breadth.GLOBAL),
        known=known,
    )


def _propose_for_scope(dreaming: Dreaming, scope: Scope, summarizer: ModelSummarizer) -> Iterator[Proposal]:
    """Yield what changes in the tree of one scope; it counts as unfinished until all of it is stored."""
    with dreaming.store.read() as tx:
        tree = load_tree(tx, scope)
        words = summary_writer(dreaming, tx, scope, tree.nodes)
        plan = _plan_tree(tx, tree, words, dreaming.policy.insight)
    if not plan.groups and not plan.is_stale:
        return
    reason = GROWN_REASON if plan.is_rebuild else MENDED_REASON
    root = tree.nodes.get(words.root)
    if root is not None:
        yield SideWrite(
            what="overview", reason=reason, write=lambda tx: tx.tree.put(replace(root, is_whole=False))
        )
    worded: list[WordedDomain] = []
    for group in plan.groups:
        if dreaming.is_stopped():
            return
        with dreaming.store.read() as tx:  # a short one: no old page is needed for longer
            domain = words.word_domain(tx, group, plan.on, worded=plan.worded)
        worded.append(summarizer.domain(domain))
        yield from propose_storing(worded[-1], reason)
    yield _propose_scope_summary(dreaming, tree, words, plan, worded, summarizer=summarizer)


def propose_storing(domain: WordedDomain, reason: str) -> Iterator[SideWrite]:
    """Yield the proposals that store a domain: of a large one a few clusters each, and its own words last."""
    rest = domain.clusters
    while len(rest) > CLUSTERS_PER_WRITE:
        some, rest = rest[:CLUSTERS_PER_WRITE], rest[CLUSTERS_PER_WRITE:]
        yield SideWrite(
            what="clusters", reason=reason, write=partial(store_clusters, domain=domain, clusters=some)
        )
    yield SideWrite(what="domain", reason=reason, write=partial(store_domain, domain=domain, clusters=rest))


def propose_recut(domain: WordedDomain, reason: str, *, drop: Sequence[str]) -> SideWrite:
    """Return the proposal to store a domain in other clusters than before, all in one write."""
    fresh = {node.id for node in domain.clusters}

    def store(tx: Transaction) -> bool:
        is_changed = store_domain(tx, domain)
        return tx.tree.drop([one for one in drop if one not in fresh]) > 0 or is_changed

    return SideWrite(what="domain", reason=reason, write=store)


def _plan_tree(tx: Transaction, tree: StoredTree, words: SummaryWriter, policy: InsightPolicy) -> _Plan:
    """Decide between repair and rebuild, and return the resulting plan."""
    usable = tx.tree.usable(words.scope)
    placed = {key for members in tree.members.values() for key in members}
    waiting = sorted(set(usable) - placed)
    arrived = load_scope_vectors(tx, words.space, waiting, scope=words.scope)
    gone = placed - set(usable)
    root = tree.nodes.get(words.root)
    is_sound = root is not None and root.is_whole and _is_of_space(tree, words.space)
    changes = len(arrived.keys) + len(gone)
    if len(arrived.keys) and any(
        node.breadth is Breadth.CLUSTER and node.centroid is None for node in tree.nodes.values()
    ):
        is_sound = False  # a cluster that lost a memory has no middle to compare arrivals with
    if not is_sound or changes > max(FEW_CHANGES, REBUILD_SHARE * len(placed)):
        return _plan_rebuild(tx, usable, words, policy, had_tree=bool(tree.nodes))
    return _plan_repair(tx, tree, words, policy, arrived=arrived, gone=gone)


def _is_of_space(tree: StoredTree, space: int) -> bool:
    return all(node.space == space for node in tree.nodes.values() if node.centroid is not None)


def _plan_rebuild(
    tx: Transaction, usable: Sequence[int], words: SummaryWriter, policy: InsightPolicy, *, had_tree: bool
) -> _Plan:
    on = load_scope_vectors(tx, words.space, usable, scope=words.scope)
    groups = grow_domains(on, tx.tree.entity_namings(on.keys.tolist()), policy)
    return _Plan(is_rebuild=True, groups=groups, on=on, is_stale=had_tree)


def _plan_repair(
    tx: Transaction,
    tree: StoredTree,
    words: SummaryWriter,
    policy: InsightPolicy,
    *,
    arrived: ScopeVectors,
    gone: set[int],
) -> _Plan:
    """Return the domains that gained or lost a member, or whose words were blanked."""
    joined = _assign_new_memories(tree, arrived)
    touched = {one for one in tree.members if gone & tree.members[one].keys() or needs_words(tree.nodes[one])}
    touched |= joined.keys()
    domains = {tree.nodes[one].parent or "" for one in touched}
    domains |= {node.id for node in tree.domains() if needs_words(node) or not tree.clusters_of(node.id)}
    stale_domains = sorted(domain for domain in domains if domain in tree.nodes)
    kept = {
        one: [key for key in tree.members[one] if key not in gone] + joined.get(one, [])
        for one in sorted(touched)
    }
    on = load_scope_vectors(
        tx, words.space, sorted(key for keys in kept.values() for key in keys), scope=words.scope
    )
    groups = [_updated_domain(tree, domain, kept, on, policy) for domain in stale_domains]
    left_alone = {one: tree.members[one] for domain in stale_domains for one in tree.clusters_of(domain)}
    root = tree.nodes[words.root]
    return _Plan(
        is_rebuild=False,
        groups=[group for group in groups if group.clusters],
        on=on,
        worded={one: members for one, members in left_alone.items() if one not in touched},
        left=[node.id for node in tree.domains() if node.id not in domains],
        is_stale=needs_words(root) or len(groups) != sum(bool(group.clusters) for group in groups),
    )


def _assign_new_memories(tree: StoredTree, arrived: ScopeVectors) -> dict[str, list[int]]:
    """Return which cluster each new memory joins: the one whose middle is nearest."""
    clusters = [
        node for node in tree.nodes.values() if node.breadth is Breadth.CLUSTER and node.centroid is not None
    ]
    if not clusters or not len(arrived.keys):
        return {}
    middles = np.array([node.centroid for node in clusters], np.float32)
    joined: defaultdict[str, list[int]] = defaultdict(list)
    for key, place in zip(arrived.keys.tolist(), np.argmax(arrived.rows @ middles.T, axis=1), strict=True):
        joined[clusters[place].id].append(key)
    return dict(joined)


def _updated_domain(
    tree: StoredTree,
    domain: str,
    remaining: Mapping[str, Sequence[int]],
    vectors: ScopeVectors,
    policy: InsightPolicy,
) -> DomainGroup:
    """Return a domain with its clusters as they are now; one that grew too large is cut."""
    grain = tree.nodes[domain].grain
    size = max(2, policy.cluster_size // FINER) if grain else policy.cluster_size
    clusters: list[Cluster] = []
    for one in tree.clusters_of(domain):
        centroid = tree.nodes[one].centroid
        if one not in remaining and centroid is not None:
            clusters.append(Cluster(one, tuple(tree.members[one]), centroid))
            continue
        here = vectors.of(remaining[one])
        if len(here.keys) > SPLIT_ABOVE * size:
            clusters += split_into_clusters(here, size=size)
        elif len(here.keys):
            clusters.append(build_cluster(here, cluster_id=one))
    return DomainGroup(domain, tuple(sorted(clusters, key=lambda one: (-len(one.keys), one.id))), grain)


def _propose_scope_summary(
    dreaming: Dreaming,
    tree: StoredTree,
    words: SummaryWriter,
    plan: _Plan,
    worded: Sequence[WordedDomain],
    *,
    summarizer: ModelSummarizer,
) -> SideWrite:
    """Return the text over the whole scope, with which the tree is done and what is left over goes."""
    domains = [*(one.domain for one in worded), *(tree.nodes[one] for one in plan.left)]
    clusters = [node.id for one in worded for node in one.clusters]
    clusters += [one for domain in plan.left for one in tree.clusters_of(domain)]
    heads = {one.domain.id: one.quoted_members() for one in worded} | {
        domain: [
            key for one in tree.clusters_of(domain) for key, level in tree.members[one].items() if level >= 2
        ]
        for domain in plan.left
    }
    with dreaming.store.read() as tx:
        tokens = GLOBAL_TOKENS
        node, quoted = _scope_summary(tx, words, domains, heads, token_budget=tokens)
    node = replace(node, summary=summarizer.word_scope(node.summary, tokens=tokens))
    kept = [node.id, *(domain.id for domain in domains), *clusters]

    def finish(tx: Transaction) -> bool:
        weights = tx.tree.weights(quoted)
        is_sound = all(key in weights and weights[key].is_quotable for key in quoted)
        is_changed = tx.tree.put(node if is_sound else without_words(node))
        tx.tree.set_quoted(words.scope, quoted)
        return tx.tree.drop_all_except(words.scope, kept) > 0 or is_changed

    return SideWrite(what="overview", reason=SCOPE_REASON, write=finish)


def _scope_summary(
    tx: Transaction,
    words: SummaryWriter,
    domains: Sequence[SummaryNode],
    quoted: Mapping[str, Sequence[int]],
    *,
    token_budget: int,
) -> tuple[SummaryNode, tuple[int, ...]]:
    """Return the node over everything, and which memories it quotes: the weightiest of each domain."""
    weights = tx.tree.weights([key for keys in quoted.values() for key in keys])
    largest = sorted(domains, key=lambda domain: (-domain.members, domain.id))
    best: list[int] = []
    for domain in largest:
        able = [key for key in quoted[domain.id] if key in weights and weights[key].is_quotable]
        if able:
            best.append(max(able, key=lambda key: (weights[key].importance, -key)))
    memories = tx.memories.by_keys(best)
    told = [short_fact(key, memories[key]) for key in best if key in memories]
    gist = global_summary(told, token_budget=token_budget)
    middles = [domain.centroid * domain.members for domain in domains if domain.centroid is not None]
    middle = to_unit_length(np.sum(middles, axis=0)) if middles else None
    members = sum(domain.members for domain in domains)
    return words.word_scope(gist.text, members=members, centroid=middle), gist.quoted
