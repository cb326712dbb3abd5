"""
Tell how what is known of a topic changed: added, confirmed, corrected, disputed, removed, and when.

Reads the history and links of the memories that recall found for the topic, in any status, and what replaced
or disputed them. `trace` is pure. One act is one entry: the row
that retires a memory and the row that begins its successor are told together. Each entry stands at the time
of what it tells, not of when the store heard of it: ten years that are imported today are ten years. A move
between layers, a pin or a recall is no change of what is known and is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from engramdb.lifecycle.recorded import before_event
from engramdb.lifecycle.valid_time import last_said
from engramdb.recall.as_of import as_it_was, without_later
from engramdb.store.contract import Transaction
from engramdb.values import Action, Edge, EdgeType, HistoryEvent, Memory, MemoryId, Status
from engramdb.values.recall import BusyPeriod, KnowledgeChange, Timeline, TimelineEntry

BUSIEST_SHOWN = 3
DAYS_UP_TO = timedelta(days=31)
WEEKS_UP_TO = timedelta(days=182)
"""A month is counted in days, half a year in weeks, more in months: some thirty periods to choose from."""
_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
_LINKS = (EdgeType.SUPERSEDES, EdgeType.CONTRADICTS)
_SAYING = {
    Action.REMEMBER: KnowledgeChange.ADDITION,
    Action.REINFORCE: KnowledgeChange.REINFORCEMENT,
    Action.WEAKEN: KnowledgeChange.DISPUTE,
}


def timeline(tx: Transaction, topic: str, found: Sequence[Memory], *, now: datetime) -> Timeline:
    """
    Return how knowledge of a topic changed, given the memories about it that the reader may see.

    What has been forgotten since is left out, also where it replaced or disputed one of them.
    """
    found = [memory for memory in found if memory.status.is_indexed and not memory.is_over(now)]
    history = tx.history.since([memory.id for memory in found], _BEGINNING)
    edges = {edge for memory in found for edge in tx.edges.of(memory.id) if edge.type in _LINKS}
    linked = [memory for memory in _linked(tx, found, history, edges) if not memory.is_over(now)]
    history |= tx.history.since([memory.id for memory in linked], _BEGINNING)
    return trace(topic, found, linked=linked, history=history, edges=edges)


def trace(
    topic: str,
    found: Sequence[Memory],
    *,
    linked: Sequence[Memory],
    history: Mapping[MemoryId, Sequence[HistoryEvent]],
    edges: Iterable[Edge],
) -> Timeline:
    """
    Return the timeline of the memories that were found.

    Those that are only `linked` appear where they replaced or disputed one, or the other way round.
    """
    known = {memory.id: memory for memory in (*linked, *found)}
    told = list(_Teller(known, history, edges).entries())
    about = {memory.id for memory in found}
    entries = _in_order([entry for entry in told if about & _named(entry)])
    return Timeline(topic=topic, entries=entries, busiest=busiest([entry.at for entry in entries]))


def busiest(moments: Sequence[datetime]) -> tuple[BusyPeriod, ...]:
    """
    Return the periods of the calendar with most of these moments; of equals the latest comes first.

    They are days, weeks or months, whichever suits the span from the first moment to the last.
    """
    if not moments:
        return ()
    span = max(moments) - min(moments)
    counts = Counter(_calendar(moment, span) for moment in moments)
    best = sorted(counts.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[:BUSIEST_SHOWN]
    return tuple(BusyPeriod(start=start, end=end, entries=number) for (start, end), number in best)


class _Teller(Struct, frozen=True):
    """Makes entries of what happened to some memories."""

    known: Mapping[MemoryId, Memory]
    history: Mapping[MemoryId, Sequence[HistoryEvent]]
    edges: Iterable[Edge]

    def entries(self) -> Iterator[TimelineEntry]:
        """Yield every change; those of one memory stand in their order."""
        contradictions = [
            edge
            for edge in self.edges
            if edge.type is EdgeType.CONTRADICTS and edge.source in self.known and edge.target in self.known
        ]
        yield from map(self._between_two, contradictions)
        told = {(edge.target, edge.created_at) for edge in contradictions}
        for memory in self.known.values():
            for event, after in self._steps(memory):
                change = _change(event)
                if change is None or (change is KnowledgeChange.DISPUTE and (memory.id, event.at) in told):
                    continue
                yield self._entry(event, change, after)

    def _steps(self, memory: Memory) -> list[tuple[HistoryEvent, Memory]]:
        """Return the events of a memory, oldest first, each with the memory as it was right after it."""
        steps = []
        for event in reversed(self.history.get(memory.id, ())):
            steps.append((event, without_later(memory, event.at)))
            memory = before_event(memory, event)
        return steps[::-1]

    def _entry(self, event: HistoryEvent, change: KnowledgeChange, after: Memory) -> TimelineEntry:
        new = self._successor(event, after) if change is KnowledgeChange.REMOVAL else None
        if new is None:
            at = self._moment(event, change)
            return TimelineEntry(at=at, learned_at=event.at, change=change, memory=after, reason=event.reason)
        old = self.known[after.id]
        is_chained = old.superseded_by == new.id  # else something has come between, or it was brought back
        return TimelineEntry(
            at=_changed_at(old, new) if is_chained else event.at,
            learned_at=max(event.at, new.created_at) if is_chained else event.at,
            change=KnowledgeChange.CORRECTION,
            memory=self._at(new, max(event.at, new.created_at)),
            replaced=after.evolve(valid_to=old.valid_to, superseded_by=new.id) if is_chained else after,
            reason=event.reason,
        )

    def _moment(self, event: HistoryEvent, change: KnowledgeChange) -> datetime:
        """Return when it happened what an event tells of one memory."""
        if change is KnowledgeChange.ADDITION:
            return self.known[event.memory_id].holds_from
        if change is KnowledgeChange.REINFORCEMENT:
            return last_said(event) or event.at
        return event.at

    def _between_two(self, edge: Edge) -> TimelineEntry:
        """Return the dispute that a contradiction tells of, with the reason for the doubt."""
        events = self.history.get(edge.target, ())
        doubts = [event for event in events if _change(event) is KnowledgeChange.DISPUTE]
        new = self.known[edge.source]
        return TimelineEntry(
            at=new.holds_from if edge.created_at == new.created_at else edge.created_at,
            learned_at=edge.created_at,
            change=KnowledgeChange.DISPUTE,
            memory=self._at(new, edge.created_at),
            disputed=self._at(self.known[edge.target], edge.created_at),
            reason=next((event.reason for event in doubts if event.at == edge.created_at), ""),
        )

    def _successor(self, event: HistoryEvent, after: Memory) -> Memory | None:
        """Return what took the place of a memory with this event, if that may still be shown."""
        if event.new_status is not Status.SUPERSEDED:
            return None
        current = self.known[after.id].superseded_by
        if current is not None and current in self.known:  # something older may have come between since
            return self.known[current]
        _, named = event.changes.get("superseded_by", (None, after.superseded_by))
        if named is not None:
            return self.known.get(named)
        # Rows of the first versions do not name it, and a memory that was brought back names it no more.
        heirs = [one for one in self.known.values() if one.supersedes == after.id]
        return next((one for one in heirs if one.created_at == event.at), None)

    def _at(self, memory: Memory, moment: datetime) -> Memory:
        return as_it_was(memory, self.history.get(memory.id, ()), moment) or memory


def _change(event: HistoryEvent) -> KnowledgeChange | None:
    """Return what an event did to what is known, if it did anything."""
    if event.action in _SAYING:
        return _SAYING[event.action]
    old, new = event.old_status, event.new_status
    if old is None or new is None or (old.is_terminal and new.is_terminal):
        return None
    if new.is_terminal:
        return KnowledgeChange.REMOVAL
    return KnowledgeChange.DISPUTE if old is Status.ACTIVE else KnowledgeChange.RETURN


def _named(entry: TimelineEntry) -> set[MemoryId]:
    return {one.id for one in (entry.memory, entry.replaced, entry.disputed) if one is not None}


def _in_order(entries: Sequence[TimelineEntry]) -> tuple[TimelineEntry, ...]:
    """Return the entries, oldest first; what begins the new one of a pair is told with the pair."""
    pairs = [entry for entry in entries if _is_pair(entry)]
    learned = {(entry.memory.id, entry.learned_at) for entry in pairs}
    changed = {(entry.memory.id, entry.at) for entry in pairs}
    kept = []
    for entry in entries:
        place, is_begun = (entry.memory.id, entry.learned_at), (entry.memory.id, entry.at) in changed
        if entry.change is KnowledgeChange.ADDITION and (place in learned or is_begun):
            learned.discard(place)
        elif entry.change is KnowledgeChange.REINFORCEMENT and place in learned:
            learned.discard(place)  # only the first: it may have been said again in the same moment
        else:
            kept.append(entry)
    return tuple(sorted(kept, key=_place))


def _place(entry: TimelineEntry) -> tuple[datetime, datetime, MemoryId, int]:
    """Return where an entry stands: by when it happened, then by when it was learned."""
    return (entry.at, entry.learned_at, entry.memory.id, 0 if _is_pair(entry) else 1)


def _changed_at(old: Memory, new: Memory) -> datetime:
    """Return when one statement took the place of another; one that never held gives way to what did."""
    if old.valid_to is not None and old.valid_to > old.holds_from:
        return old.valid_to
    return new.holds_from if new.stated_at >= old.last_stated_at else max(old.holds_from, new.holds_from)


def _is_pair(entry: TimelineEntry) -> bool:
    return entry.replaced is not None or entry.disputed is not None


def _calendar(moment: datetime, span: timedelta) -> tuple[datetime, datetime]:
    """Return the day, week or month around a moment, whichever suits the span."""
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if span <= DAYS_UP_TO:
        return day, day + timedelta(days=1)
    if span <= WEEKS_UP_TO:
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(days=7)
    first = day.replace(day=1)
    return first, (first + timedelta(days=31)).replace(day=1)


def _linked(
    tx: Transaction,
    found: Sequence[Memory],
    history: Mapping[MemoryId, Sequence[HistoryEvent]],
    edges: Iterable[Edge],
) -> list[Memory]:
    """
    Return what stands on the other side of a replacement or a contradiction and was not found itself.

    Looked for from the scope of the memory that names it: who may see the one may see the other.
    """
    scopes = {memory.id: memory.scope for memory in found}
    named = [(memory.id, memory.supersedes) for memory in found]
    named += [(memory.id, memory.superseded_by) for memory in found]
    named += [pair for edge in edges for pair in ((edge.source, edge.target), (edge.target, edge.source))]
    for memory_id, events in history.items():
        replacing = [event.changes.get("superseded_by", ()) for event in events]
        named += [(memory_id, other) for pair in replacing for other in pair]
    places = {(other, scopes[one]) for one, other in named if one in scopes and other is not None}
    read = [tx.memories.get(other, scope=scope) for other, scope in places if other not in scopes]
    linked = {memory.id: memory for memory in read if memory is not None and memory.status.is_indexed}
    return [linked[memory_id] for memory_id in sorted(linked)]
