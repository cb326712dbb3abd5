"""
Two clocks: the memories as they were believed at an earlier moment, and those that were true at one.

What was believed is the present, undone event by event. What was true is what holds at that moment by its
valid time, also where it was said later or has been superseded since. Both may be asked at once.

Only the history of the candidates is read. Undoing begins at the present, so it needs only what
came after the moment, and a memory that nothing happened to since costs nothing.

Three things do not come back. What was forgotten, pruned or erased since is in no index and stays away:
forgetting is forever, also for questions about the past. Recalls leave no history: their log is cut at
the moment as far as it reaches back, and the stability that they added stays. What is inferred from the
words is as it is inferred today.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from engramdb.lifecycle.recorded import before_event
from engramdb.store.contract import Transaction
from engramdb.values import (
    AccessLog,
    Action,
    EdgeType,
    Filters,
    HistoryEvent,
    Memory,
    MemoryId,
    Scope,
    Status,
)
from engramdb.values.query import Then

INDEXED = frozenset(status for status in Status if status.is_indexed)
"""What a memory may be today to be found at all."""


def widened(filters: Filters) -> Filters:
    """Return the filters to search with: status and layer may have been others than they are today."""
    return replace(filters, statuses=INDEXED, layers=frozenset())


def believed(
    tx: Transaction,
    keys_in_order: Sequence[int],
    *,
    then: Then,
    scope: Scope,
    filters: Filters,
    now: datetime,
    limit: int,
) -> list[tuple[int, Memory]]:
    """
    Return the first of these memories that count at the moments asked for, as they were believed then.

    What this scope may not see, and what has been forgotten since, is left out here even where an index
    still names it.
    """
    best: list[tuple[int, Memory]] = []
    start, rows = 0, limit
    while start < len(keys_in_order) and len(best) < limit:
        page = _page(tx, keys_in_order[start : start + rows], moment=then.as_of or now, scope=scope)
        best += [(key, memory) for key, memory in page if then.counts(memory, filters, now=now)]
        start, rows = start + rows, 2 * rows  # where the first are too new, most of the next may be, too
    return best[:limit]


_LISTED_AT_ONCE = 200


def list_then(
    tx: Transaction,
    *,
    then: Then,
    scope: Scope,
    filters: Filters,
    limit: int,
    before: MemoryId | None,
    now: datetime,
) -> list[Memory]:
    """Return the memories that count at the moments asked for, newest first, from before the given one."""
    found: list[Memory] = []
    moment = then.as_of or now
    while len(found) < limit:
        page = tx.memories.list(scope=scope, filters=widened(filters), limit=_LISTED_AT_ONCE, before=before)
        later = tx.history.since([one.id for one in page], moment)
        for one in page:
            was = as_it_was(one, later.get(one.id, ()), moment)
            if was is not None and then.counts(was, filters, now=now):
                found.append(was)
        if len(page) < _LISTED_AT_ONCE:
            break
        before = page[-1].id
    return found[:limit]


MAX_LENDING = 50
"""Candidates whose fit counts for what held before or after them."""
_MAX_LINKS_APART = 8


def held_instead(
    tx: Transaction, scores: Mapping[int, float], *, then: Then, scope: Scope, filters: Filters, now: datetime
) -> dict[int, float]:
    """
    Return how well what held at the moments asked for answers, by what it replaced or was replaced by.

    Who asks where we lived in 2019 may use the words of today's address.
    """
    best_first = sorted(scores, key=lambda key: -scores[key])[:MAX_LENDING]
    chains = _chains(tx, best_first)
    linked = sorted({key for chain in chains for key in chain})
    passing = tx.candidates.filter_keys(linked, scope=scope, filters=widened(filters))
    members = [key for key in linked if key in passing]
    held = believed(tx, members, then=then, scope=scope, filters=filters, now=now, limit=len(members) + 1)
    answering = {key for key, _ in held}
    return {
        key: max(scores.get(one, 0.0) for one in chain)
        for chain in chains
        for key in chain
        if key in answering
    }


def _chains(tx: Transaction, keys: Sequence[int]) -> list[set[int]]:
    """Return the chains of more than one that these memories stand in, by what superseded what."""
    chain_of = {key: {key} for key in keys}
    for key, (heir, _) in tx.memories.heirs(keys).items():
        _join_chains(chain_of, key, heir)
    fresh = list(chain_of)
    for _ in range(_MAX_LINKS_APART):
        links = tx.edges.touching(fresh) if fresh else None
        if links is None:
            break
        known = set(chain_of)
        for source, target, kind in zip(links.sources, links.targets, links.types, strict=True):
            if kind == EdgeType.SUPERSEDES:
                _join_chains(chain_of, int(source), int(target))
        fresh = [key for key in chain_of if key not in known]
    distinct = {id(chain): chain for chain in chain_of.values()}
    return [chain for chain in distinct.values() if len(chain) > 1]


def _join_chains(chain_of: dict[int, set[int]], one: int, other: int) -> None:
    joined = chain_of.get(one, {one}) | chain_of.get(other, {other})
    for key in joined:
        chain_of[key] = joined


def as_it_was(memory: Memory, later: Sequence[HistoryEvent], moment: datetime) -> Memory | None:
    """
    Return a memory as the store believed it at that moment, or None if it was not stored then.

    `later` is its history, oldest first, from the moment on or longer; what happened at the very moment
    counts as known. Also None for what has been erased since: there are no words left to give back.
    """
    undone = [event for event in later if event.at > moment]
    if memory.created_at > moment or any(_is_beginning_or_end(event) for event in undone):
        return None
    for event in reversed(undone):
        memory = before_event(memory, event)
    return without_later(memory, moment)


def without_later(memory: Memory, moment: datetime) -> Memory:
    """
    Return the memory with no time of its own after the moment.

    The last change before the moment may be older than the history at hand; `updated_at` is then the
    moment itself, the latest that it can have been. A confirmation that came later, told by an old row
    that does not say what was there before, counts as none.
    """
    confirmed_at = memory.confirmed_at
    return memory.evolve(
        updated_at=min(memory.updated_at, moment),
        confirmed_at=confirmed_at if confirmed_at is None or confirmed_at <= moment else None,
        access=_accesses(memory.access, moment),
    )


def _page(
    tx: Transaction, keys: Sequence[int], *, moment: datetime, scope: Scope
) -> Iterator[tuple[int, Memory]]:
    read = tx.memories.by_keys(keys)
    found = [(key, read[key]) for key in keys if key in read]
    seen = [
        (key, memory)
        for key, memory in found
        if memory.status.is_indexed and scope.sees(memory.scope) and memory.created_at <= moment
    ]
    later = tx.history.since([memory.id for _, memory in seen], moment)
    for key, memory in seen:
        was = as_it_was(memory, later.get(memory.id, ()), moment)
        if was is not None:
            yield key, was


def _is_beginning_or_end(event: HistoryEvent) -> bool:
    return event.action is Action.REMEMBER or event.new_status is Status.ERASED


def _accesses(log: AccessLog, moment: datetime) -> AccessLog:
    """Return the log without the recalls after the moment; those without a date stay counted."""
    if log.last_at is None or log.last_at <= moment:
        return log
    recent = tuple(at for at in log.recent if at <= moment)
    count = log.count - (len(log.recent) - len(recent))
    last_at = recent[-1] if recent else None
    return replace(log, count=count, last_at=last_at, recent=recent, sessions=min(log.sessions, count))
