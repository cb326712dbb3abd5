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

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from engramdb.errors import StoreCorrupt
from engramdb.store.contract import Transaction
from engramdb.values import (
    AccessLog,
    Action,
    EdgeType,
    Filters,
    HistoryEvent,
    Kind,
    Layer,
    Memory,
    MemoryType,
    Provenance,
    Scope,
    SecurityTier,
    Status,
)
from engramdb.values.query import Then
from engramdb.values.reading import Lasting

INDEXED = frozenset(status for status in Status if status.is_indexed)
"""What a memory may be today to be found at all."""
_REPLACING = (Action.SUPERSEDE, Action.CORRECT)


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
    members = sorted({key for chain in chains for key in chain})
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
        memory = undo(memory, event)
    return without_later(memory, moment)


def undo(memory: Memory, event: HistoryEvent) -> Memory:
    """Return a memory as it was before what happened to it last; a row of nonsense is `StoreCorrupt`."""
    before: dict[str, Any] = {}
    if event.action in _REPLACING:  # rows of the first versions say no more than that the status changed
        before |= {"superseded_by": None, "valid_to": None}
    if event.old_status is not None:
        before["status"] = event.old_status
    provenance = memory.provenance
    for name, (old, _) in event.changes.items():
        try:
            if name in _EVIDENCE:
                provenance = _with_evidence(provenance, name, int(old))
            elif name in _TYPES:  # a later version may note more than this one knows
                before[name] = _TYPES[name](old)
        except (TypeError, ValueError) as exc:
            raise StoreCorrupt(f"the history of memory {memory.id} makes no sense: {name}") from exc
    return memory.evolve(provenance=provenance, **before)


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


def _with_evidence(provenance: Provenance, name: str, number: int) -> Provenance:
    """Return the provenance with the first so many pieces of evidence: new ones are added at the end."""
    pieces: dict[str, Any] = {name: getattr(provenance, name)[:number]}
    return replace(provenance, **pieces)


def _moment(stored: Any) -> datetime | None:
    """Return a moment that JSON may have made a text of."""
    if stored is None or isinstance(stored, datetime):
        return stored
    return datetime.fromisoformat(stored)


def _lasting(stored: Any) -> Lasting | None:
    return None if stored is None else Lasting(stored)


def _id(stored: Any) -> str | None:
    return None if stored is None else str(stored)


_EVIDENCE = ("turns", "episodes")
"""Kept in the history as how many there were: lists would be written again with every repetition."""
_TYPES: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("confidence", "importance", "stability", "strength"), float),
    **dict.fromkeys(("reinforcements", "successes", "failures", "helped", "unhelpful", "version"), int),
    **dict.fromkeys(("pinned", "layer_held"), bool),
    **dict.fromkeys(("said_at", "confirmed_at", "occurred_at", "valid_from", "valid_to"), _moment),
    "forget_after": _moment,
    **dict.fromkeys(("supersedes", "superseded_by", "box", "extractor"), _id),
    "layer": Layer,
    "type": MemoryType,
    "kind": Kind,
    "lasting": _lasting,
    "security": SecurityTier,
    "category": str,
}
"""What the history may say of a memory, and what makes a value of it again after JSON made it a text."""
