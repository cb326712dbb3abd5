"""
A look at the knowledge itself: what is there twice, old, disputed, doubtful, open, or never used.

Reads and changes nothing. It looks at the newest memories that a scope may see, as many as can be compared
with one another in a moment, and says how many those were. What is confidential or flagged is counted, not
shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.index.domains import list_domains
from engramdb.lifecycle.pair_rules import exclude_each_other, may_be_same, understood
from engramdb.lifecycle.questions import is_quotable, open_questions
from engramdb.policy import Policy
from engramdb.store.contract import Transaction
from engramdb.values import (
    Disagreement,
    Doubt,
    EdgeType,
    Filters,
    Kind,
    Memory,
    Reflection,
    Scope,
    Status,
)

MAX_MEMORIES = 2000
"""The newest memories that are looked at: comparing so many takes about a second."""
MAX_LINKED = 500
"""Pairs of a scope that are looked at."""
MAX_QUESTIONS = 1000
"""Open questions that are counted."""
PAGE = 500
STALE_IMPORTANCE = 0.5
"""From this importance on an old, unconfirmed memory is worth a question."""

Item = TypeVar("Item")


class ComparesMany(Protocol):
    """How alike statements are to one another, on the common scale."""

    def within(self, statements: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return a row for each."""
        ...


class ReflectRequest(Struct, frozen=True, kw_only=True):
    """Whose knowledge is looked at, when, and how much of each finding is told."""

    scope: Scope
    policy: Policy
    likeness: ComparesMany
    now: datetime
    limit: int


def reflect(tx: Transaction, request: ReflectRequest) -> Reflection:
    """Return what is to be said about the knowledge of a scope."""
    looked_at, is_whole = _newest(tx, request)
    shown = [one for one in looked_at if is_quotable(one)]
    duplicates = find_duplicates(shown, request)
    stale = sorted(
        (one for one in shown if _is_stale(one, request)),
        key=lambda one: (one.importance, one.access.count, one.id),
        reverse=True,
    )
    disputed = list(_disagreements(tx, looked_at))
    doubtful = [Doubt(memory=two, change=one) for one, two in _pairs(tx, looked_at, EdgeType.DOUBTS)]
    questions = open_questions(tx, request.scope, limit=MAX_QUESTIONS)
    domains = list_domains(tx, request.scope, request.policy.insight, request.now)
    counts = {
        "duplicates": len(duplicates),
        "stale": len(stale),
        "disputed": len(disputed),
        "doubtful": len(doubtful),
        "questions": len(questions),
    }
    return Reflection(
        scope=request.scope,
        memories=len(looked_at),
        is_whole=is_whole,
        never_recalled=_share(not one.access.count for one in looked_at),
        withheld=len(looked_at) - len(shown),
        counts=counts,
        duplicates=_first(duplicates, request),
        stale=_first(stale, request),
        disputed=_first(disputed, request),
        doubtful=_first(doubtful, request),
        questions=_first(questions, request),
        least_known=_first(domains[::-1], request),
    )


def _newest(tx: Transaction, request: ReflectRequest) -> tuple[list[Memory], bool]:
    """Return the newest memories that hold, and whether those are all."""
    found: list[Memory] = []
    while len(found) < MAX_MEMORIES:
        before = found[-1].id if found else None
        page = tx.memories.list(
            scope=request.scope, filters=Filters(), limit=PAGE, before=before, alive_at=request.now
        )
        found += page
        if len(page) < PAGE:
            return found, True
    return found, False


def find_duplicates(memories: Sequence[Memory], request: ReflectRequest) -> list[tuple[Memory, ...]]:
    """Return groups of memories of one scope that look the same and were not merged, the largest first."""
    groups = []
    for scope in dict.fromkeys(one.scope for one in memories):
        own = [one for one in memories if one.scope == scope and _states(one)]
        groups += _groups_of(own, request)
    return sorted(groups, key=lambda group: (-len(group), group[0].id))


def _states(memory: Memory) -> bool:
    """Return whether somebody stated it: what a dream or a summary tells is told by others as well."""
    return memory.is_believed and not memory.is_derived and not memory.is_session_summary


def _groups_of(memories: Sequence[Memory], request: ReflectRequest) -> list[tuple[Memory, ...]]:
    if len(memories) < 2:
        return []
    alike = request.likeness.within([one.told for one in memories])
    home = list(range(len(memories)))

    def root(place: int) -> int:
        while home[place] != place:
            place = home[place]
        return place

    near = np.argwhere(np.triu(alike > request.policy.capture.same_above, k=1))
    for first, second in near.tolist():
        one, other = understood(memories[first]), understood(memories[second])
        if may_be_same(one, other) and not exclude_each_other(one, other):
            home[root(second)] = root(first)
    found: dict[int, list[Memory]] = {}
    for place, memory in enumerate(memories):
        found.setdefault(root(place), []).append(memory)
    return [tuple(sorted(group, key=lambda one: one.id)) for group in found.values() if len(group) > 1]


def _is_stale(memory: Memory, request: ReflectRequest) -> bool:
    """Return whether a memory is old, matters, and nobody has said it again."""
    oldest = request.now - timedelta(days=request.policy.insight.probe_after_days)
    is_old = memory.last_stated_at <= oldest and not memory.reinforcements
    may_change = memory.kind is Kind.NOTE and not memory.endures and not memory.is_derived
    return is_old and may_change and memory.importance >= STALE_IMPORTANCE


def _disagreements(tx: Transaction, looked_at: Sequence[Memory]) -> Iterator[Disagreement]:
    """Yield pairs that contradict each other, and what is disputed otherwise."""
    explained = {two.id for _, two in _pairs(tx, looked_at, EdgeType.DOUBTS)}
    for newer, older in _pairs(tx, looked_at, EdgeType.CONTRADICTS):
        explained |= {newer.id, older.id}
        yield Disagreement(memory=older, other=newer)
    for memory in looked_at:
        is_alone = memory.status is Status.CHALLENGED and memory.id not in explained
        if is_alone and is_quotable(memory):
            yield Disagreement(memory=memory)


def _pairs(tx: Transaction, looked_at: Sequence[Memory], kind: EdgeType) -> Iterator[tuple[Memory, Memory]]:
    """Yield the ends of the links of a kind, source first, in the scopes of the memories."""
    for scope in dict.fromkeys(one.scope for one in looked_at):
        linked = tx.gaps.linked_in(scope, kind, limit=MAX_LINKED)
        memories = tx.memories.by_keys(sorted({key for pair in linked for key in pair}))
        for source, target in linked:
            both = (memories[source], memories[target])
            if all(map(is_quotable, both)):
                yield both


def _share(facts: Iterable[bool]) -> float:
    found = list(facts)
    return round(sum(found) / len(found), 4) if found else 0.0


def _first(items: Sequence[Item], request: ReflectRequest) -> tuple[Item, ...]:
    return tuple(items[: request.limit])
