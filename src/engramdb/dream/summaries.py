"""Put clusters and domains into words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.dream.clustering import Cluster, DomainGroup, ScopeVectors, by_key, unit
from engramdb.dream.step import Dreaming
from engramdb.errors import ChatError
from engramdb.models.chat import CallLog
from engramdb.models.prompts.retell import VERSION, retold
from engramdb.store.contract import SummaryNode, Transaction
from engramdb.store.contract.dreams import MemoryWeight
from engramdb.text.detail import levels
from engramdb.text.normalize import normalise
from engramdb.text.tokens import count_tokens
from engramdb.values import Breadth, Memory, Scope

# Say in short what a group of memories says, in their own words.
#
# Called by `canopy` and the step `tree`; pure. A title names what most members name; a summary lines up the
# statements of those that stand in the middle and matter. Nothing is invented and nothing confidential comes
# in: the caller hands over only what may be quoted, and is told which of it was.

MAKER = "gist/1"
FACT_TOKENS = 30
"""Longer statements are quoted by their summary."""
CLUSTER_FACTS = 5
CLUSTER_TOKENS = 100
DOMAIN_TOKENS = 70
TITLE_NAMES = 2
LEAST_SUPPORT = 2
"""A name stands in a title when so many members share it, so it is not one memory's alone."""
LONGEST_TITLE = 60
NO_TITLE = "various"


class ShortFact(Struct, frozen=True):
    """What one memory says at its shortest."""

    key: int
    text: str


class Gist(Struct, frozen=True):
    """A summary, and the memories whose words it uses."""

    text: str
    quoted: tuple[int, ...]


def fact_of(key: int, memory: Memory) -> ShortFact:
    """
    Return what a memory says, whole if it is short, or else its own summary.

    Not its key fact: subject, predicate and object alone make "puts sugar in coffee" of "never puts".
    """
    text = memory.content
    cost = memory.detail.tokens.get("full") or count_tokens(text)
    if cost > FACT_TOKENS:
        text = memory.detail.summary or levels(text, category=memory.category).summary or text
    return ShortFact(key, " ".join(text.split()).rstrip(" .;"))


def title(names: Iterable[str], topics: Iterable[str], *, members: int) -> str:
    """Return what to call a group: the names that most of it shares, or else its topics."""
    least = min(LEAST_SUPPORT, members)
    shared = [word for word, count in _ranked(names) if count >= least]
    if not shared:
        shared = [word for word, count in _ranked(topics) if count >= least]
    chosen: list[str] = []
    for word in shared:
        if len(chosen) < TITLE_NAMES and len(", ".join([*chosen, word])) <= LONGEST_TITLE:
            chosen.append(word)
    return ", ".join(chosen) or NO_TITLE


def cluster_gist(facts: Sequence[ShortFact]) -> Gist:
    """Return the key facts of a cluster, given best first."""
    return _lined_up([(fact.key, fact.text) for fact in facts], most=CLUSTER_FACTS, tokens=CLUSTER_TOKENS)


def domain_gist(best: Sequence[tuple[str, ShortFact]]) -> Gist:
    """Return one fact of each cluster of a domain, given as titles and facts, the largest cluster first."""
    return _lined_up([(fact.key, _headed(name, fact)) for name, fact in best], most=8, tokens=DOMAIN_TOKENS)


def global_gist(best: Sequence[tuple[str, ShortFact]], *, tokens: int) -> Gist:
    """Return one fact of each domain, given as titles and facts, the largest domain first."""
    return _lined_up([(fact.key, _headed(name, fact)) for name, fact in best], most=len(best), tokens=tokens)


def _headed(name: str, fact: ShortFact) -> str:
    """Return a fact behind the name of its group, unless it says the name itself."""
    is_said = name == NO_TITLE or any(word in normalise(fact.text) for word in normalise(name).split(", "))
    return fact.text if is_said else f"{name}: {fact.text}"


def _lined_up(texts: Sequence[tuple[int, str]], *, most: int, tokens: int) -> Gist:
    """Return different texts in a row, as many as there is room for."""
    chosen: dict[str, tuple[int, str]] = {}
    room = tokens
    for key, text in texts:
        cost = count_tokens(text)
        if text and len(chosen) < most and cost <= room and normalise(text) not in chosen:
            chosen[normalise(text)] = (key, text)
            room -= cost
    while chosen and count_tokens("; ".join(text for _, text in chosen.values())) > tokens:
        chosen.popitem()  # in a row they may cost more than one by one
    return Gist("; ".join(text for _, text in chosen.values()), tuple(key for key, _ in chosen.values()))


def _ranked(words: Iterable[str]) -> list[tuple[str, int]]:
    """Return words by how often they come, the most frequent first, and equal ones by name."""
    return sorted(Counter(words).items(), key=lambda pair: (-pair[1], pair[0]))


# Put a domain and its clusters into words, and the words into the store.
#
# Called by the steps `tree` and `confidence` with what `grow` has grouped; calls `gist` for the words. What
# was
# read in a snapshot may have left since, so everything is looked at again inside the write: a group that
# lost a
# member in between is stored without a word, and the next dream words it anew.

Rows = NDArray[np.float32]
Worded = Mapping[str, Mapping[int, int]]

SILENT = "silent"
"""Maker of a node of which nothing may be quoted; it needs no words at the next dream either."""
CENTRAL, IMPORTANT, CERTAIN = 0.5, 0.3, 0.2
"""What makes a member speak for its cluster: standing in the middle, mattering, being believed."""


class WordedDomain(Struct, frozen=True):
    """A domain in words: its nodes, and the highest level that quotes each member of each cluster."""

    domain: SummaryNode
    clusters: tuple[SummaryNode, ...]
    quoted: Mapping[str, Mapping[int, int]]

    def heads(self) -> list[int]:
        """Return the members that the domain's own summary quotes."""
        return [key for members in self.quoted.values() for key, level in members.items() if level >= 2]


class SummaryWriter(Struct, frozen=True, kw_only=True):
    """What wording the groups of one scope takes."""

    scope: Scope
    space: int
    now: datetime
    root: str
    known: Mapping[str, SummaryNode]

    def foliage(
        self, tx: Transaction, bough: DomainGroup, on: ScopeVectors, *, worded: Worded | None = None
    ) -> WordedDomain:
        """
        Return a domain and its clusters in the words of their members.

        `worded` are clusters that keep their words, with the highest level that quotes each member.
        """
        kept = worded or {}
        weights = tx.tree.weights(bough.keys)
        voices = {
            twig.id: _heard(kept[twig.id], weights) if twig.id in kept else _ranked_canopy(twig, on, weights)
            for twig in bough.twigs
        }
        read = tx.memories.by_keys([key for keys in voices.values() for key in keys[:CLUSTER_FACTS]])
        names = by_key(tx.tree.namings([key for key, one in weights.items() if one.is_quotable]))
        clusters, best, quoted = (
            list[SummaryNode](),
            list[tuple[str, ShortFact]](),
            dict[str, dict[int, int]](),
        )
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
        return WordedDomain(self._domain(bough, title=named, text=whole.text), tuple(clusters), quoted)

    def _cluster(self, twig: Cluster, bough: DomainGroup, *, title: str, text: str) -> SummaryNode:
        node = self._node(twig.id, Breadth.CLUSTER, parent=bough.id, title=title, text=text)
        return replace(node, members=len(twig.keys), centroid=twig.centroid, grain=bough.grain)

    def _domain(self, bough: DomainGroup, *, title: str, text: str) -> SummaryNode:
        node = self._node(bough.id, Breadth.DOMAIN, parent=self.root, title=title, text=text)
        sizes = np.array([len(twig.keys) for twig in bough.twigs], np.float32)
        middle: Rows = unit(sizes @ np.array([twig.centroid for twig in bough.twigs]))
        return replace(node, members=int(sizes.sum()), centroid=middle, grain=bough.grain)

    def whole(self, text: str, *, members: int, centroid: Rows | None) -> SummaryNode:
        """Return the node over the whole scope."""
        node = self._node(self.root, Breadth.GLOBAL, parent=None, title="overview", text=text)
        return replace(node, members=members, centroid=centroid)

    def _node(
        self, node_id: str, breadth: Breadth, *, parent: str | None, title: str, text: str
    ) -> SummaryNode:
        """Return a node with the numbers that are known of it already."""
        known = self.known.get(node_id)
        return SummaryNode(
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


def write(tx: Transaction, foliage: WordedDomain) -> bool:
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


def wordless(node: SummaryNode) -> SummaryNode:
    """Return a node that the next dream has to word anew."""
    return replace(node, title="", summary="", maker=MAKER, centroid=None)


def needs_words(node: SummaryNode) -> bool:
    """Say whether a node was blanked since it was made."""
    is_blank = not node.title or (not node.summary and node.maker != SILENT) or node.centroid is None
    return node.members > 0 and is_blank


def _still(standing: Mapping[int, MemoryWeight], key: int, level: int) -> bool:
    """Say whether a member is there yet, and may still be quoted where it is."""
    return key in standing and (level == 0 or standing[key].is_quotable)


def _ranked_canopy(twig: Cluster, on: ScopeVectors, weights: Mapping[int, MemoryWeight]) -> list[int]:
    """Return the members that may be quoted, who speaks best for the cluster first."""
    here = on.of(twig.keys)
    central = dict(zip(here.keys.tolist(), (here.rows @ twig.centroid).tolist(), strict=True))
    allowed = [key for key in twig.keys if key in weights and weights[key].is_quotable]
    return sorted(allowed, key=lambda key: (-_voice(central.get(key, 0.0), weights[key]), key))


def _heard(quoted: Mapping[int, int], weights: Mapping[int, MemoryWeight]) -> list[int]:
    """Return the one member that speaks for a cluster whose words are kept: the weightiest that it quotes."""
    able = [key for key, level in quoted.items() if level and key in weights and weights[key].is_quotable]
    return sorted(able, key=lambda key: (-weights[key].importance, -weights[key].certainty, key))[:1]


def _voice(central: float, weight: MemoryWeight) -> float:
    return CENTRAL * central + IMPORTANT * weight.importance + CERTAIN * weight.certainty


def _title(keys: Sequence[int], names: Mapping[int, Sequence[str]], read: Sequence[Memory]) -> str:
    named = [name for key in keys for name in dict.fromkeys(names.get(key, ()))]
    topics = [topic for memory in read for topic in memory.traits.topics]
    return title(named, topics, members=len(keys))


# Let a chat model put a domain, and the whole, into better words than statements in a row.

CALLS_MOST = 20
"""So many calls a run for summaries; what is left over is worded without it until it changes again."""
LEAST_FACTS = 3


class ModelSummarizer:
    """A chat model with a budget of calls, or nobody."""

    def __init__(self, dreaming: Dreaming) -> None:
        self._chat = dreaming.chat
        self._log = dreaming.calls or CallLog()
        self._left = CALLS_MOST if dreaming.chat is not None else 0

    def domain(self, foliage: WordedDomain) -> WordedDomain:
        """Return a domain in the model's words, where it found good ones."""
        facts = [fact for node in foliage.clusters for fact in node.summary.split("; ") if fact]
        text = self._told(facts, foliage.domain.title, DOMAIN_TOKENS)
        if text is None:
            return foliage
        quoted = {
            cluster: {key: max(level, 2) if level else 0 for key, level in members.items()}
            for cluster, members in foliage.quoted.items()
        }
        domain = replace(foliage.domain, summary=text, maker=self._maker())
        return WordedDomain(domain, foliage.clusters, quoted)

    def whole(self, text: str, *, tokens: int) -> str:
        """Return the text over everything in the model's words, where it found good ones."""
        told = self._told(text.split("; "), "everything", tokens)
        return text if told is None else told

    def _told(self, facts: list[str], title: str, tokens: int) -> str | None:
        if self._chat is None or self._left == 0 or len(facts) < LEAST_FACTS:
            return None
        self._left -= 1
        try:
            return retold(self._chat, facts, title=title, tokens=tokens, log=self._log)
        except ChatError:  # counted in the log; the statements in a row say the same
            return None

    def _maker(self) -> str:
        return f"{self._chat.name} summary/{VERSION}" if self._chat else ""
