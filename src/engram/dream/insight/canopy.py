"""
Put a domain and its clusters into words, and the words into the store.

Called by the steps `tree` and `confidence` with what `grow` has grouped; calls `gist` for the words. What was
read in a snapshot may have left since, so everything is looked at again inside the write: a group that lost a
member in between is stored without a word, and the next dream words it anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from engram.dream.insight.gist import CLUSTER_FACTS, MAKER, Fact, cluster_gist, domain_gist, fact_of, title
from engram.dream.insight.grow import by_key
from engram.dream.insight.nearest import unit
from engram.store.contract import Node
from engram.values import Breadth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from engram.dream.insight.grow import Bough, Ground, Twig
    from engram.store.contract import Transaction
    from engram.store.contract.insight import Weight
    from engram.values import Memory, Scope

    Rows = NDArray[np.float32]
    Worded = Mapping[str, Mapping[int, int]]

SILENT = "silent"
"""Maker of a node of which nothing may be quoted; it needs no words at the next dream either."""
CENTRAL, IMPORTANT, CERTAIN = 0.5, 0.3, 0.2
"""What makes a member speak for its cluster: standing in the middle, mattering, being believed."""


@dataclass(frozen=True, slots=True)
class Foliage:
    """A domain in words: its nodes, and the highest level that quotes each member of each cluster."""

    domain: Node
    clusters: tuple[Node, ...]
    quoted: Mapping[str, Mapping[int, int]]

    def heads(self) -> list[int]:
        """Return the members that the domain's own summary quotes."""
        return [key for members in self.quoted.values() for key, level in members.items() if level >= 2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Canopy:
    """What wording the groups of one scope takes."""

    scope: Scope
    space: int
    now: datetime
    root: str
    known: Mapping[str, Node]

    def foliage(self, tx: Transaction, bough: Bough, on: Ground, *, worded: Worded | None = None) -> Foliage:
        """
        Return a domain and its clusters in the words of their members.

        `worded` are clusters that keep their words, with the highest level that quotes each member.
        """
        kept = worded or {}
        weights = tx.tree.weights(bough.keys)
        voices = {
            twig.id: _heard(kept[twig.id], weights) if twig.id in kept else _ranked(twig, on, weights)
            for twig in bough.twigs
        }
        read = tx.memories.by_keys([key for keys in voices.values() for key in keys[:CLUSTER_FACTS]])
        names = by_key(tx.tree.namings([key for key, one in weights.items() if one.is_quotable]))
        clusters, best, quoted = list[Node](), list[tuple[str, Fact]](), dict[str, dict[int, int]]()
        for twig in bough.twigs:
            facts = [fact_of(key, read[key]) for key in voices[twig.id][:CLUSTER_FACTS] if key in read]
            if twig.id in kept:
                node = self.known[twig.id]
                quoted[twig.id] = {key: min(level, 1) for key, level in kept[twig.id].items()}
            else:
                gist = cluster_gist(facts)
                named = _title(twig.keys, names, [read[fact.key] for fact in facts])
                node = self._cluster(twig, bough, title=named, text=gist.text)
                quoted[twig.id] = dict.fromkeys(twig.keys, 0) | dict.fromkeys(gist.quoted, 1)
            clusters.append(node)
            best += [(node.title, fact) for fact in facts if quoted[twig.id].get(fact.key)][:1]
        whole = domain_gist(best)
        for members in quoted.values():
            members.update({key: 2 for key in whole.quoted if key in members})
        named = _title(bough.keys, names, list(read.values()))
        return Foliage(self._domain(bough, title=named, text=whole.text), tuple(clusters), quoted)

    def _cluster(self, twig: Twig, bough: Bough, *, title: str, text: str) -> Node:
        node = self._node(twig.id, Breadth.CLUSTER, parent=bough.id, title=title, text=text)
        return replace(node, members=len(twig.keys), centroid=twig.centroid, grain=bough.grain)

    def _domain(self, bough: Bough, *, title: str, text: str) -> Node:
        node = self._node(bough.id, Breadth.DOMAIN, parent=self.root, title=title, text=text)
        sizes = np.array([len(twig.keys) for twig in bough.twigs], np.float32)
        middle: Rows = unit(sizes @ np.array([twig.centroid for twig in bough.twigs]))
        return replace(node, members=int(sizes.sum()), centroid=middle, grain=bough.grain)

    def whole(self, text: str, *, members: int, centroid: Rows | None) -> Node:
        """Return the node over the whole scope."""
        node = self._node(self.root, Breadth.GLOBAL, parent=None, title="overview", text=text)
        return replace(node, members=members, centroid=centroid)

    def _node(self, node_id: str, breadth: Breadth, *, parent: str | None, title: str, text: str) -> Node:
        """Return a node with the numbers that are known of it already."""
        known = self.known.get(node_id)
        return Node(
            id=node_id,
            scope=self.scope,
            breadth=breadth,
            parent=parent,
            title=title,
            summary=text,
            maker=MAKER if text else SILENT,
            members=0,
            grain=0,
            is_whole=True,
            space=self.space,
            centroid=None,
            certainty=known.certainty if known else 0.0,
            doubted=known.doubted if known else 0,
            latest_at=known.latest_at if known else self.now,
            built_at=self.now,
        )


def write(tx: Transaction, foliage: Foliage) -> bool:
    """Store a domain with its clusters and members, and say whether anything changed."""
    keys = [key for members in foliage.quoted.values() for key in members]
    standing = tx.tree.weights(keys)
    is_changed, is_sound = False, True
    for node in foliage.clusters:
        members = foliage.quoted[node.id]
        is_whole = all(_still(standing, key, level) for key, level in members.items())
        is_changed |= tx.tree.put(node if is_whole else wordless(node))
        is_changed |= tx.tree.assign(
            node.id, {key: level for key, level in members.items() if key in standing}
        )
        is_sound &= is_whole
    return tx.tree.put(foliage.domain if is_sound else wordless(foliage.domain)) or is_changed


def wordless(node: Node) -> Node:
    """Return a node that the next dream has to word anew."""
    return replace(node, title="", summary="", maker=MAKER, centroid=None)


def needs_words(node: Node) -> bool:
    """Say whether a node was blanked since it was made."""
    is_blank = not node.title or (not node.summary and node.maker != SILENT) or node.centroid is None
    return node.members > 0 and is_blank


def _still(standing: Mapping[int, Weight], key: int, level: int) -> bool:
    """Say whether a member is there yet, and may still be quoted where it is."""
    return key in standing and (level == 0 or standing[key].is_quotable)


def _ranked(twig: Twig, on: Ground, weights: Mapping[int, Weight]) -> list[int]:
    """Return the members that may be quoted, who speaks best for the cluster first."""
    here = on.of(twig.keys)
    central = dict(zip(here.keys.tolist(), (here.rows @ twig.centroid).tolist(), strict=True))
    allowed = [key for key in twig.keys if key in weights and weights[key].is_quotable]
    return sorted(allowed, key=lambda key: (-_voice(central.get(key, 0.0), weights[key]), key))


def _heard(quoted: Mapping[int, int], weights: Mapping[int, Weight]) -> list[int]:
    """Return the one member that speaks for a cluster whose words are kept: the weightiest that it quotes."""
    able = [key for key, level in quoted.items() if level and key in weights and weights[key].is_quotable]
    return sorted(able, key=lambda key: (-weights[key].importance, -weights[key].certainty, key))[:1]


def _voice(central: float, weight: Weight) -> float:
    return CENTRAL * central + IMPORTANT * weight.importance + CERTAIN * weight.certainty


def _title(keys: Sequence[int], names: Mapping[int, Sequence[str]], read: Sequence[Memory]) -> str:
    named = [name for key in keys for name in dict.fromkeys(names.get(key, ()))]
    topics = [topic for memory in read for topic in memory.traits.topics]
    return title(named, topics, members=len(keys))
