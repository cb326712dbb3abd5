"""Put clusters and domains into words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.dream.clustering import Cluster, DomainGroup, ScopeVectors, names_by_memory, to_unit_length
from engramdb.dream.step import Dreaming
from engramdb.errors import ChatError
from engramdb.models.chat import CallLog
from engramdb.models.prompts.retell import VERSION, retold
from engramdb.store.contract import SummaryNode, Transaction
from engramdb.store.contract.dreams import MemoryWeight
from engramdb.text.dates import standalone, with_dates
from engramdb.text.detail import levels
from engramdb.text.normalize import normalize_text
from engramdb.text.tokens import count_tokens
from engramdb.values import Breadth, Memory, Scope
from engramdb.values.insight import FACT_END

# Say in short what a group of memories says, in their own words.
#
# A title names what most members name; a summary lines up the statements of those that stand in the middle
# and matter. Nothing is invented and nothing confidential comes in: the caller hands over only what may be
# quoted, and is told which of it was.

MAKER = "gist/1"
FACT_TOKENS = 30
"""Longer statements are quoted by their summary."""
CLUSTER_FACTS = 5
CLUSTER_TOKENS = 100
DOMAIN_TOKENS = 70
TITLE_NAMES = 2
MIN_TITLE_SUPPORT = 2
"""How many members must share a name for it to enter the title, so it is not one memory's alone."""
MAX_TITLE_CHARACTERS = 60
NO_TITLE = "various"


class ShortFact(Struct, frozen=True):
    """What one memory says at its shortest."""

    key: int
    text: str


class SummaryText(Struct, frozen=True):
    """A summary, and the memories whose words it uses."""

    text: str
    quoted: tuple[int, ...]


def short_fact(key: int, memory: Memory) -> ShortFact:
    """
    Return what a memory says, whole if it is short, or else its own summary.

    Not its key fact: subject, predicate and object alone make "puts sugar in coffee" of "never puts".
    """
    text = standalone(memory)
    cost = memory.detail.tokens.get("full") or count_tokens(text)
    if cost > FACT_TOKENS:
        short = memory.detail.summary or levels(memory.content, category=memory.category).summary
        text = with_dates(short, memory.moments) if short else text
    return ShortFact(key, " ".join(text.split()).rstrip(" .;").replace(FACT_END, ", "))


def make_title(names: Iterable[str], topics: Iterable[str], *, members: int) -> str:
    """Return what to call a group: the names that most of it shares, or else its topics."""
    least = min(MIN_TITLE_SUPPORT, members)
    shared = [word for word, count in _by_frequency(names) if count >= least]
    if not shared:
        shared = [word for word, count in _by_frequency(topics) if count >= least]
    chosen: list[str] = []
    for word in shared:
        if len(chosen) < TITLE_NAMES and len(", ".join([*chosen, word])) <= MAX_TITLE_CHARACTERS:
            chosen.append(word)
    return ", ".join(chosen) or NO_TITLE


def cluster_summary(facts: Sequence[ShortFact]) -> SummaryText:
    """Return the key facts of a cluster, given best first."""
    return _join_texts(
        [(fact.key, fact.text) for fact in facts], limit=CLUSTER_FACTS, token_budget=CLUSTER_TOKENS
    )


def domain_summary(best: Sequence[ShortFact]) -> SummaryText:
    """Return one fact of each cluster of a domain, that of the largest cluster first."""
    return _join_texts([(fact.key, fact.text) for fact in best], limit=8, token_budget=DOMAIN_TOKENS)


def global_summary(best: Sequence[ShortFact], *, token_budget: int) -> SummaryText:
    """Return one fact of each domain, that of the largest domain first."""
    return _join_texts([(fact.key, fact.text) for fact in best], limit=len(best), token_budget=token_budget)


def _join_texts(texts: Sequence[tuple[int, str]], *, limit: int, token_budget: int) -> SummaryText:
    """Return different texts in a row, as many as there is room for."""
    chosen: dict[str, tuple[int, str]] = {}
    room = token_budget
    for key, text in texts:
        cost = count_tokens(text)
        if text and len(chosen) < limit and cost <= room and normalize_text(text) not in chosen:
            chosen[normalize_text(text)] = (key, text)
            room -= cost
    while chosen and count_tokens(FACT_END.join(text for _, text in chosen.values())) > token_budget:
        chosen.popitem()  # in a row they may cost more than one by one
    return SummaryText(
        FACT_END.join(text for _, text in chosen.values()), tuple(key for key, _ in chosen.values())
    )


def _by_frequency(words: Iterable[str]) -> list[tuple[str, int]]:
    """Return words by how often they come, the most frequent first, and equal ones by name."""
    return sorted(Counter(words).items(), key=lambda pair: (-pair[1], pair[0]))


# Put a domain and its clusters into words, and the words into the store.
#
# Called by the steps `tree` and `confidence` with what `grow` has grouped; calls `gist` for the words. What
# was read in a snapshot may have left since, so everything is looked at again inside the write: a group
# that lost a member in between is stored without a word, and the next dream words it again.

Rows = NDArray[np.float32]
WordedNodes = Mapping[str, Mapping[int, int]]

SILENT_MEMBER = "silent"
"""Maker of a node of which nothing may be quoted; it needs no words at the next dream either."""
CENTRAL, IMPORTANT, CERTAIN = 0.5, 0.3, 0.2
"""What makes a member speak for its cluster: standing in the middle, mattering, being believed."""


class WordedDomain(Struct, frozen=True):
    """A domain in words: its nodes, and the highest level that quotes each member of each cluster."""

    domain: SummaryNode
    clusters: tuple[SummaryNode, ...]
    quoted: Mapping[str, Mapping[int, int]]

    def members(self) -> list[int]:
        """Return every member of its clusters."""
        return [key for members in self.quoted.values() for key in members]

    def quoted_members(self) -> list[int]:
        """Return the members that the domain's own summary quotes."""
        return [key for members in self.quoted.values() for key, level in members.items() if level >= 2]


class SummaryWriter(Struct, frozen=True, kw_only=True):
    """What wording the groups of one scope takes."""

    scope: Scope
    space: int
    now: datetime
    root: str
    known: Mapping[str, SummaryNode]

    def word_domain(
        self, tx: Transaction, group: DomainGroup, vectors: ScopeVectors, *, worded: WordedNodes | None = None
    ) -> WordedDomain:
        """
        Return a domain and its clusters in the words of their members.

        `worded` are clusters that keep their words, with the highest level that quotes each member.
        """
        unchanged = worded or {}
        weights = tx.tree.weights(group.keys)
        voices = {
            cluster.id: _representative_member(unchanged[cluster.id], weights)
            if cluster.id in unchanged
            else _rank_members(cluster, vectors, weights)
            for cluster in group.clusters
        }
        read = tx.memories.by_keys([key for keys in voices.values() for key in keys[:CLUSTER_FACTS]])
        names = names_by_memory(
            tx.tree.entity_namings([key for key, one in weights.items() if one.is_quotable])
        )
        clusters, best, quoted = (
            list[SummaryNode](),
            list[ShortFact](),
            dict[str, dict[int, int]](),
        )
        for cluster in group.clusters:
            facts = [short_fact(key, read[key]) for key in voices[cluster.id][:CLUSTER_FACTS] if key in read]
            if cluster.id in unchanged:
                node = self.known[cluster.id]
                quoted[cluster.id] = {key: min(level, 1) for key, level in unchanged[cluster.id].items()}
            else:
                gist = cluster_summary(facts)
                named = _cluster_title(cluster.keys, names, [read[fact.key] for fact in facts])
                node = self._cluster(cluster, group, title=named, text=gist.text)
                quoted[cluster.id] = dict.fromkeys(cluster.keys, 0) | dict.fromkeys(gist.quoted, 1)
            clusters.append(node)
            best += [fact for fact in facts if quoted[cluster.id].get(fact.key)][:1]
        whole = domain_summary(best)
        for members in quoted.values():
            members.update({key: 2 for key in whole.quoted if key in members})
        named = _cluster_title(group.keys, names, list(read.values()))
        return WordedDomain(self._domain(group, title=named, text=whole.text), tuple(clusters), quoted)

    def _cluster(self, cluster: Cluster, group: DomainGroup, *, title: str, text: str) -> SummaryNode:
        node = self._node(cluster.id, Breadth.CLUSTER, parent=group.id, title=title, text=text)
        return replace(node, members=len(cluster.keys), centroid=cluster.centroid, grain=group.grain)

    def _domain(self, group: DomainGroup, *, title: str, text: str) -> SummaryNode:
        node = self._node(group.id, Breadth.DOMAIN, parent=self.root, title=title, text=text)
        sizes = np.array([len(cluster.keys) for cluster in group.clusters], np.float32)
        middle: Rows = to_unit_length(sizes @ np.array([cluster.centroid for cluster in group.clusters]))
        return replace(node, members=int(sizes.sum()), centroid=middle, grain=group.grain)

    def word_scope(self, text: str, *, members: int, centroid: Rows | None) -> SummaryNode:
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
            maker=MAKER if text else SILENT_MEMBER,
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


def store_domain(
    tx: Transaction, domain: WordedDomain, clusters: Sequence[SummaryNode] | None = None
) -> bool:
    """
    Store a domain with its clusters and members, and return whether anything changed.

    Where `clusters` are only the last of them, the others were stored by `store_clusters` before.
    """
    standing = tx.tree.weights(domain.members())
    is_sound = all(_is_still_quoted(standing, members) for members in domain.quoted.values())
    is_changed = _store_clusters(tx, domain, domain.clusters if clusters is None else clusters, standing)
    return tx.tree.put(domain.domain if is_sound else without_words(domain.domain)) or is_changed


def store_clusters(tx: Transaction, domain: WordedDomain, clusters: Sequence[SummaryNode]) -> bool:
    """
    Store some clusters of a domain, and return whether anything changed.

    The domain has no words until all are stored: what it said might quote somebody whom nothing notes as
    quoted any more.
    """
    standing = tx.tree.weights([key for node in clusters for key in domain.quoted[node.id]])
    is_blanked = tx.tree.put(without_words(domain.domain))
    return _store_clusters(tx, domain, clusters, standing) or is_blanked


def _store_clusters(
    tx: Transaction,
    domain: WordedDomain,
    clusters: Sequence[SummaryNode],
    standing: Mapping[int, MemoryWeight],
) -> bool:
    is_changed = False
    for node in clusters:
        members = domain.quoted[node.id]
        is_changed |= tx.tree.put(node if _is_still_quoted(standing, members) else without_words(node))
        is_changed |= tx.tree.assign(
            node.id, {key: level for key, level in members.items() if key in standing}
        )
    return is_changed


def without_words(node: SummaryNode) -> SummaryNode:
    """Return a node that the next dream has to put into words again."""
    return replace(node, title="", summary="", maker=MAKER, centroid=None)


def needs_words(node: SummaryNode) -> bool:
    """Return whether a node was blanked since it was made."""
    is_blank = not node.title or (not node.summary and node.maker != SILENT_MEMBER) or node.centroid is None
    return node.members > 0 and is_blank


def _is_still_quoted(standing: Mapping[int, MemoryWeight], members: Mapping[int, int]) -> bool:
    """Return whether all members are there yet, and may still be quoted where they are."""
    return all(
        key in standing and (level == 0 or standing[key].is_quotable) for key, level in members.items()
    )


def _rank_members(cluster: Cluster, vectors: ScopeVectors, weights: Mapping[int, MemoryWeight]) -> list[int]:
    """Return the members that may be quoted, the most representative first."""
    here = vectors.of(cluster.keys)
    central = dict(zip(here.keys.tolist(), (here.rows @ cluster.centroid).tolist(), strict=True))
    allowed = [key for key in cluster.keys if key in weights and weights[key].is_quotable]
    return sorted(allowed, key=lambda key: (-_representativeness(central.get(key, 0.0), weights[key]), key))


def _representative_member(quoted: Mapping[int, int], weights: Mapping[int, MemoryWeight]) -> list[int]:
    """Return the representative of a cluster whose words are unchanged: the weightiest member it quotes."""
    able = [key for key, level in quoted.items() if level and key in weights and weights[key].is_quotable]
    return sorted(able, key=lambda key: (-weights[key].importance, -weights[key].certainty, key))[:1]


def _representativeness(central: float, weight: MemoryWeight) -> float:
    return CENTRAL * central + IMPORTANT * weight.importance + CERTAIN * weight.certainty


def _cluster_title(keys: Sequence[int], names: Mapping[int, Sequence[str]], read: Sequence[Memory]) -> str:
    named = [name for key in keys for name in dict.fromkeys(names.get(key, ()))]
    topics = [topic for memory in read for topic in memory.traits.topics]
    return make_title(named, topics, members=len(keys))


# Let a chat model put a domain, and the whole, into better words than statements in a row.

MAX_CALLS = 20
"""Model calls per run for summaries; the rest is worded by rule until it changes again."""
MIN_FACTS = 3


class ModelSummarizer:
    """A chat model with a budget of calls, or none."""

    def __init__(self, dreaming: Dreaming) -> None:
        self._chat = dreaming.chat
        self._log = dreaming.calls or CallLog()
        self._left = MAX_CALLS if dreaming.chat is not None else 0

    def domain(self, worded: WordedDomain) -> WordedDomain:
        """Return a domain in the model's words, where it found good ones."""
        facts = [fact for node in worded.clusters for fact in node.summary.split(FACT_END) if fact]
        text = self._ask_model(facts, worded.domain.title, DOMAIN_TOKENS)
        if text is None:
            return worded
        quoted = {
            cluster: {key: max(level, 2) if level else 0 for key, level in members.items()}
            for cluster, members in worded.quoted.items()
        }
        domain = replace(worded.domain, summary=text, maker=self._maker())
        return WordedDomain(domain, worded.clusters, quoted)

    def word_scope(self, text: str, *, tokens: int) -> str:
        """Return the text over everything in the model's words, where it found good ones."""
        told = self._ask_model(text.split(FACT_END), "everything", tokens)
        return text if told is None else told

    def _ask_model(self, facts: list[str], title: str, tokens: int) -> str | None:
        if self._chat is None or self._left == 0 or len(facts) < MIN_FACTS:
            return None
        self._left -= 1
        try:
            return retold(self._chat, facts, title=title, tokens=tokens, log=self._log)
        except ChatError:  # counted in the log; the statements in a row say the same
            return None

    def _maker(self) -> str:
        return f"{self._chat.name} summary/{VERSION}" if self._chat else ""
