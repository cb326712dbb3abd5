"""The step `tree`: summaries over each scope as memories, clusters, domains and one text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.dream.clustering import (
    FINER,
    Cluster,
    DomainGroup,
    ScopeVectors,
    ground,
    grown,
    node_id,
    twig,
    twigs_of,
    unit,
)
from engramdb.dream.proposals import Proposal, SideWrite
from engramdb.dream.step import Dreaming, Skipped
from engramdb.dream.summaries import (
    ModelSummarizer,
    SummaryWriter,
    WordedDomain,
    fact_of,
    global_gist,
    needs_words,
    wordless,
    write,
)
from engramdb.policy import InsightPolicy
from engramdb.store.contract import SummaryNode, Transaction
from engramdb.values import Breadth, Scope

GLOBAL_TOKENS = 200
"""What the summary of a whole scope may cost."""
REBUILD_SHARE = 0.25
"""When more than this share of a tree is new or gone, it is rebuilt instead of mended."""

FEW_CHANGES = 8
"""So many changes never make a tree be grown anew."""
SPLIT_ABOVE = 2.5
"""A cluster so many times as large as it should be is cut."""
GROWN, MENDED, WHOLE = "the tree is grown anew", "its members have changed", "the tree is whole"


class TreeStep:
    """The step `tree`."""

    name = "tree"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield every domain that must be stored anew, and then the whole, scope by scope."""
        if dreaming.identity is None:
            raise Skipped("there are no vectors to group memories by: the embedder cannot be asked")
        with dreaming.store.read() as tx:
            scopes = tx.tree.scopes()
            has_vectors = tx.vectors.space(dreaming.identity) is not None
        if scopes and not has_vectors:
            raise Skipped("there are no vectors to group memories by: none was made yet")
        teller = ModelSummarizer(dreaming)
        for scope in scopes:
            if dreaming.is_stopped():
                return
            yield from _tended(dreaming, scope, teller)


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

    is_anew: bool
    boughs: list[DomainGroup]
    on: ScopeVectors
    worded: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """The clusters of those domains that keep their members and their words."""
    left: list[str] = field(default_factory=list)
    """The ids of the domains that are not touched."""
    is_stale: bool = False
    """Whether the whole must be put into words although no domain changed."""


def standing(tx: Transaction, scope: Scope) -> StoredTree:
    """Return the tree of a scope as it stands."""
    return StoredTree({node.id: node for node in tx.tree.nodes(scope)}, tx.tree.members(scope))


def canopy(
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


def _tended(dreaming: Dreaming, scope: Scope, teller: ModelSummarizer) -> Iterator[Proposal]:
    """Yield what changes in the tree of one scope; it counts as unfinished until all of it is stored."""
    with dreaming.store.read() as tx:
        tree = standing(tx, scope)
        words = canopy(dreaming, tx, scope, tree.nodes)
        plan = _planned(tx, tree, words, dreaming.policy.insight)
        if not plan.boughs and not plan.is_stale:
            return
        foliage = [words.foliage(tx, bough, plan.on, worded=plan.worded) for bough in plan.boughs]
    foliage = [teller.domain(one) for one in foliage]
    reason = GROWN if plan.is_anew else MENDED
    root = tree.nodes.get(words.root)
    if root is not None:
        yield SideWrite(
            what="overview", reason=reason, write=lambda tx: tx.tree.put(replace(root, is_whole=False))
        )
    for one in foliage:
        if dreaming.is_stopped():
            return
        yield storing(one, reason)
    yield _finished(dreaming, tree, words, plan, foliage, teller=teller)


def storing(foliage: WordedDomain, reason: str, *, drop: Sequence[str] = ()) -> SideWrite:
    """Return the proposal to store a domain, and to drop the clusters that it had before."""
    fresh = {node.id for node in foliage.clusters}

    def store(tx: Transaction) -> bool:
        is_changed = write(tx, foliage)
        return tx.tree.drop([one for one in drop if one not in fresh]) > 0 or is_changed

    return SideWrite(what="domain", reason=reason, write=store)


def _planned(tx: Transaction, tree: StoredTree, words: SummaryWriter, policy: InsightPolicy) -> _Plan:
    """Return whether to mend or to grow anew, and what comes of it."""
    usable = tx.tree.usable(words.scope)
    placed = {key for members in tree.members.values() for key in members}
    waiting = sorted(set(usable) - placed)
    arrived = ground(tx, words.space, waiting, scope=words.scope)
    gone = placed - set(usable)
    root = tree.nodes.get(words.root)
    is_sound = root is not None and root.is_whole and _is_of_space(tree, words.space)
    changes = len(arrived.keys) + len(gone)
    if len(arrived.keys) and any(
        node.breadth is Breadth.CLUSTER and node.centroid is None for node in tree.nodes.values()
    ):
        is_sound = False  # a cluster that lost a memory has no middle to compare arrivals with
    if not is_sound or changes > max(FEW_CHANGES, REBUILD_SHARE * len(placed)):
        return _grown_anew(tx, usable, words, policy, had_tree=bool(tree.nodes))
    return _mended(tx, tree, words, policy, arrived=arrived, gone=gone)


def _is_of_space(tree: StoredTree, space: int) -> bool:
    return all(node.space == space for node in tree.nodes.values() if node.centroid is not None)


def _grown_anew(
    tx: Transaction, usable: Sequence[int], words: SummaryWriter, policy: InsightPolicy, *, had_tree: bool
) -> _Plan:
    on = ground(tx, words.space, usable, scope=words.scope)
    boughs = grown(on, tx.tree.namings(on.keys.tolist()), policy)
    return _Plan(is_anew=True, boughs=boughs, on=on, is_stale=had_tree)


def _mended(
    tx: Transaction,
    tree: StoredTree,
    words: SummaryWriter,
    policy: InsightPolicy,
    *,
    arrived: ScopeVectors,
    gone: set[int],
) -> _Plan:
    """Return the domains that gained or lost a member, or whose words were blanked."""
    joined = _joining(tree, arrived)
    touched = {one for one in tree.members if gone & tree.members[one].keys() or needs_words(tree.nodes[one])}
    touched |= joined.keys()
    domains = {tree.nodes[one].parent or "" for one in touched}
    domains |= {node.id for node in tree.domains() if needs_words(node) or not tree.clusters_of(node.id)}
    stale_domains = sorted(domain for domain in domains if domain in tree.nodes)
    kept = {
        one: [key for key in tree.members[one] if key not in gone] + joined.get(one, [])
        for one in sorted(touched)
    }
    on = ground(tx, words.space, sorted(key for keys in kept.values() for key in keys), scope=words.scope)
    boughs = [_regrown(tree, domain, kept, on, policy) for domain in stale_domains]
    left_alone = {one: tree.members[one] for domain in stale_domains for one in tree.clusters_of(domain)}
    root = tree.nodes[words.root]
    return _Plan(
        is_anew=False,
        boughs=[bough for bough in boughs if bough.twigs],
        on=on,
        worded={one: members for one, members in left_alone.items() if one not in touched},
        left=[node.id for node in tree.domains() if node.id not in domains],
        is_stale=needs_words(root) or len(boughs) != sum(bool(bough.twigs) for bough in boughs),
    )


def _joining(tree: StoredTree, arrived: ScopeVectors) -> dict[str, list[int]]:
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


def _regrown(
    tree: StoredTree, domain: str, kept: Mapping[str, Sequence[int]], on: ScopeVectors, policy: InsightPolicy
) -> DomainGroup:
    """Return a domain with its clusters as they are now; one that grew too large is cut."""
    grain = tree.nodes[domain].grain
    size = max(2, policy.cluster_size // FINER) if grain else policy.cluster_size
    twigs: list[Cluster] = []
    for one in tree.clusters_of(domain):
        centroid = tree.nodes[one].centroid
        if one not in kept and centroid is not None:
            twigs.append(Cluster(one, tuple(tree.members[one]), centroid))
            continue
        here = on.of(kept[one])
        if len(here.keys) > SPLIT_ABOVE * size:
            twigs += twigs_of(here, size=size)
        elif len(here.keys):
            twigs.append(twig(here, twig_id=one))
    return DomainGroup(domain, tuple(sorted(twigs, key=lambda one: (-len(one.keys), one.id))), grain)


def _finished(
    dreaming: Dreaming,
    tree: StoredTree,
    words: SummaryWriter,
    plan: _Plan,
    foliage: Sequence[WordedDomain],
    *,
    teller: ModelSummarizer,
) -> SideWrite:
    """Return the text over the whole scope, with which the tree is done and what is left over goes."""
    domains = [*(one.domain for one in foliage), *(tree.nodes[one] for one in plan.left)]
    clusters = [node.id for one in foliage for node in one.clusters]
    clusters += [one for domain in plan.left for one in tree.clusters_of(domain)]
    heads = {one.domain.id: one.heads() for one in foliage} | {
        domain: [
            key for one in tree.clusters_of(domain) for key, level in tree.members[one].items() if level >= 2
        ]
        for domain in plan.left
    }
    with dreaming.store.read() as tx:
        tokens = GLOBAL_TOKENS
        node, quoted = _whole(tx, words, domains, heads, tokens=tokens)
    node = replace(node, summary=teller.whole(node.summary, tokens=tokens))
    kept = [node.id, *(domain.id for domain in domains), *clusters]

    def finish(tx: Transaction) -> bool:
        weights = tx.tree.weights(quoted)
        is_sound = all(key in weights and weights[key].is_quotable for key in quoted)
        is_changed = tx.tree.put(node if is_sound else wordless(node))
        tx.tree.quote(words.scope, quoted)
        return tx.tree.keep(words.scope, kept) > 0 or is_changed

    return SideWrite(what="overview", reason=WHOLE, write=finish)


def _whole(
    tx: Transaction,
    words: SummaryWriter,
    domains: Sequence[SummaryNode],
    heads: Mapping[str, Sequence[int]],
    *,
    tokens: int,
) -> tuple[SummaryNode, tuple[int, ...]]:
    """Return the node over everything, and whom it quotes: the weightiest head of each domain."""
    weights = tx.tree.weights([key for keys in heads.values() for key in keys])
    largest = sorted(domains, key=lambda domain: (-domain.members, domain.id))
    best: list[tuple[str, int]] = []
    for domain in largest:
        able = [key for key in heads[domain.id] if key in weights and weights[key].is_quotable]
        if able:
            best.append((domain.title, max(able, key=lambda key: (weights[key].importance, -key))))
    memories = tx.memories.by_keys([key for _, key in best])
    told = [(title, fact_of(key, memories[key])) for title, key in best if key in memories]
    gist = global_gist(told, tokens=tokens)
    middles = [domain.centroid * domain.members for domain in domains if domain.centroid is not None]
    middle = unit(np.sum(middles, axis=0)) if middles else None
    members = sum(domain.members for domain in domains)
    return words.whole(gist.text, members=members, centroid=middle), gist.quoted
