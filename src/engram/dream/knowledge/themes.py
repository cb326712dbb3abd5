"""
Find statements of one theme: the same subject and relation, or the same topic, and alike.

Called by the step `synthesis`. Statements are only compared within a small group that shares a relation or a
topic, and of a large group only the newest are, so the work grows with the number of statements.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engram.dream.merging.wording import read
from engram.text.normal import normalise

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from engram.dream.step import ComparesStatements
    from engram.values import Memory, MemoryId

MOST_COMPARED = 60
"""Statements of one group that are compared with one another, the newest."""

LISTED = {
    **{
        name: name.replace("_", " ")
        for name in (
            *("likes", "dislikes", "prefers", "uses", "plays", "speaks", "owns", "knows", "collects"),
            *("teaches", "studies", "learns", "drives", "eats", "drinks", "wears", "needs"),
            *("is_allergic_to", "manages", "maintains", "supports", "hosts", "stores", "deploys"),
        )
    },
    "has_pet": "has as pets",
}
"""Relations that hold for several objects at a time, and how they are said before a list."""


@dataclass(frozen=True, slots=True)
class Said:
    """What grouping needs to know of a statement."""

    key: int
    id: MemoryId
    content: str
    subject: str
    predicate: str
    object: str
    topics: tuple[str, ...] = ()


def said(key: int, memory: Memory) -> Said:
    """Return a memory as grouping sees it."""
    return Said(
        key,
        memory.id,
        memory.content,
        memory.subject or "",
        memory.predicate or "",
        memory.object or "",
        memory.traits.topics,
    )


def by_relation(statements: Iterable[Said]) -> dict[tuple[str, str], list[Said]]:
    """Return the plain statements by subject and relation; one that denies, doubts or wishes is not plain."""
    found: defaultdict[tuple[str, str], dict[str, Said]] = defaultdict(dict)
    for one in statements:
        is_listed = one.predicate in LISTED and one.subject and one.object
        if is_listed and not read(one.content).marks:
            found[normalise(one.subject), one.predicate].setdefault(normalise(one.object), one)
    return {group: list(objects.values()) for group, objects in found.items()}


def by_topic(statements: Iterable[Said]) -> dict[str, list[Said]]:
    """Return the statements by each of their topics."""
    found: defaultdict[str, list[Said]] = defaultdict(list)
    for one in statements:
        for topic in one.topics:
            found[topic].append(one)
    return dict(found)


def themes(
    statements: Sequence[Said], likeness: ComparesStatements, *, above: float, least: int, most: int
) -> list[list[Said]]:
    """Return the clusters of statements each of which is like another of the cluster, the largest first."""
    newest = sorted(statements, key=lambda one: one.key)[-MOST_COMPARED:]
    if len(newest) < least:
        return []
    rows = likeness.vectors([one.content for one in newest])
    is_near = likeness.similarity(rows @ rows.T) >= above
    groups: defaultdict[Hashable, list[Said]] = defaultdict(list)
    for place, label in enumerate(_components(is_near)):
        groups[label].append(newest[place])
    large = [group[-most:] for group in groups.values() if len(group) >= least]
    return sorted(large, key=lambda group: (-len(group), group[0].key))


def _components(is_near: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
    """Return for each row the first row that it hangs together with."""
    labels = list(range(len(is_near)))
    for row in range(len(is_near)):
        for other in np.flatnonzero(is_near[row, :row]):
            old, new = max(labels[row], labels[other]), min(labels[row], labels[other])
            labels = [new if label == old else label for label in labels]
    return labels
