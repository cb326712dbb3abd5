"""
How often a topic that is named is the right one, and how pure the domains of a dream are.

Run by `python -m evals.capture blind_topics`, on texts of 23 topics and of none by somebody who knew neither
the lists nor the code; the open half may be looked at, the sealed half only counted. Each text is remembered
in a store of its own, and the first topic of the fixed list in `Memory.traits` is compared with the label.
Beside it the nearest of the labels by the embedder, which always names one. For the domains all texts with a
topic are remembered in one store that dreams; purity is the share of memories whose cluster or domain mostly
holds their topic or field, beside groups of the same sizes filled by chance and what is possible at most.
Write-up: docs/lab/0055-topics-and-names.md.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engramdb import Engram, Settings
from engramdb.models.static import StaticEmbedder
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock
from engramdb.text.topics import topic_names
from engramdb.values import GLOBAL
from evals.capture.labelled import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NONE = "none"
COARSER = {
    **dict.fromkeys(("cooking", "food"), "food"),
    **dict.fromkeys(("health", "sleep"), "health"),
    **dict.fromkeys(("car", "bicycle"), "vehicles"),
    **dict.fromkeys(("school", "languages"), "education"),
    **dict.fromkeys(("career", "meetings", "business"), "work"),
    **dict.fromkeys(("deployment", "infrastructure", "backups"), "devops"),
    **dict.fromkeys(("api", "performance", "search"), "software-backend"),
    **dict.fromkeys(("frontend", "mobile"), "software-frontend"),
    "garden": "gardening",
    "money": "finance",
    "books": "reading",
    "games": "gaming",
    "machine-learning": "data-science",
}
"""The label that a topic of our finer list falls under; a topic that is not here is a label itself."""


FIELDS = {
    topic: field
    for field, topics in {
        "technology": (
            "software-backend software-frontend databases devops testing security data-science hardware"
        ),
        "body": "health fitness food",
        "household": "family home pets gardening vehicles",
        "duties": "work finance education",
        "leisure": "travel music reading gaming",
    }.items()
    for topic in topics.split()
}
"""Domains are broader than topics: a store of seventy memories has four or five."""


def measure() -> list[dict[str, Any]]:
    """Return a row for each half and way: how often a topic is named, and how often it is right."""
    rows = []
    for half in ("open", "sealed"):
        labelled = read(half)
        if labelled:
            rows += [{"half": half, **_row(name, labelled, way)} for name, way in WAYS.items()]
            rows += [{"half": half, **row} for row in purity(labelled)]
    both = [*read("open"), *read("sealed")]
    return [*rows, *({"half": "both", **row} for row in purity(both))]


def read(half: str) -> list[dict[str, str]]:
    """Return the labelled texts of a half; none where it is not there."""
    path = DATA / f"blind_topics_{half}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def named_by_engram(texts: Sequence[str]) -> list[str | None]:
    """Return the first listed topic of each text, as it is stored."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), embedder="static")
        with Engram.open(Path(folder) / "memory.db", settings=settings, background=False) as engram:
            tags = [engram.remember(text).traits.topics for text in texts]
    listed = [[tag for tag in found if tag in topic_names()] for found in tags]
    return [COARSER.get(found[0], found[0]) if found else None for found in listed]


def named_by_meaning(texts: Sequence[str]) -> list[str | None]:
    """Return the label that the embedder finds nearest to each text."""
    labels, vectors = _labels()
    return [labels[place] for place in (StaticEmbedder().embed_documents(texts) @ vectors.T).argmax(axis=1)]


@cache
def _labels() -> tuple[list[str], Any]:
    labels = sorted({case["topic"] for case in read("open")} - {NONE})
    return labels, StaticEmbedder().embed_documents([label.replace("-", " ") for label in labels])


WAYS: dict[str, Callable[[Sequence[str]], list[str | None]]] = {
    "nearest label": named_by_meaning,
    "engram": named_by_engram,
}


def _row(
    way: str, labelled: Sequence[dict[str, str]], name: Callable[..., list[str | None]]
) -> dict[str, Any]:
    found = list(zip(labelled, name([case["text"] for case in labelled]), strict=True))
    about = [(case, topic) for case, topic in found if case["topic"] != NONE]
    named = [(case, topic) for case, topic in found if topic is not None]
    right = sum(case["topic"] == topic for case, topic in named)
    return {
        "way": way,
        "texts": len(found),
        "named": len(named),
        "precision": right / max(1, len(named)),
        "right of those with a topic": right / max(1, len(about)),
        "named where there is none": sum(case["topic"] == NONE for case, _ in named),
    }


def purity(labelled: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
    """Return how pure the clusters and domains of one store are that holds every text with a topic."""
    told = [case for case in labelled if case["topic"] != NONE]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        settings = Settings(home=Path(folder), embedder="static")
        with Engram.open(path, settings=settings, background=False) as engram:
            topics = {engram.remember(case["text"]).id: case["topic"] for case in told}
            engram.dream()
        clusters, domains = _tree(path, list(topics))
    fields = {memory: FIELDS[topic] for memory, topic in topics.items()}
    rows = []
    for name, groups, labels in (("clusters, topic", clusters, topics), ("domains, field", domains, fields)):
        held = [[labels[one] for one in some] for some in groups]
        rows += [_purity_row(name, held), _purity_row(f"{name}, by chance", _shuffled(held))]
    return rows


def _tree(path: Path, memories: Sequence[str]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the memories of each cluster and of each domain."""
    store = SqliteStore.open(str(path), now=ManualClock().now())
    with store.read() as tx:
        domains = {memory: node.id for memory, node in tx.tree.domains_of(memories).items()}
        clusters = {
            stored.id: node
            for node, keys in tx.tree.members(GLOBAL).items()
            for stored in tx.memories.by_keys(list(keys)).values()
            if stored.id in domains
        }
    store.close()
    return _grouped(clusters), _grouped(domains)


def _grouped(nodes: dict[str, str]) -> list[list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for memory, node in nodes.items():
        groups[node].append(memory)
    return list(groups.values())


def _purity_row(name: str, held: Sequence[Sequence[str]]) -> dict[str, Any]:
    total = sum(map(len, held))
    best = sum(max(Counter(topics).values()) for topics in held)
    largest = max(Counter(topic for topics in held for topic in topics).values(), default=0)
    possible = sum(min(len(topics), largest) for topics in held)
    shares = {"purity": best / max(1, total), "at most": possible / max(1, total)}
    return {"way": name, "texts": total, "groups": len(held), **shares}


def _shuffled(held: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return groups of the same sizes, filled by chance."""
    every = [topic for topics in held for topic in topics]
    random.Random(1).shuffle(every)
    return [[every.pop() for _ in topics] for topics in held]
