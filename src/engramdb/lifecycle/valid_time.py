"""
When each of several statements about one thing was true: a chain of what held, each until the next began.

Statements come in whatever order: an export of 2021 after the talk of 2024. What was *said* last holds, and
is true from the moment on that it says; what was said before it is true until then. So a statement takes its
place in the chain by when it was said, and ends where one of those after it begins. A statement that was
said again after another one had contradicted it is two links of the chain: Berlin, Paris, Berlin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from engramdb.lifecycle.pair_rules import contradicts, same_relation, understood
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Transaction
from engramdb.text.identity import fingerprint_of
from engramdb.values import AccessLog, Action, EdgeType, HistoryEvent, Memory, Status, new_id

_STATED, _RESTATED = "stated", "restated"
"""What the history of a memory that was said again notes: from when on it was said to hold, and when."""
SAID_AGAIN = "said again after something else had held"


class ChainPlace(Struct, frozen=True):
    """Where a statement belongs among what was said of the same thing."""

    heir: Memory
    """The first that was said, or said again, after it."""
    before: tuple[Memory, ...]
    """What the heir took the place of so far."""
    same: Memory | None
    """The neighbor that says the same, so that nothing has to come between."""


def find_place(writer: MemoryWriter, memory: Memory, later: Memory, *, is_same: bool) -> ChainPlace:
    """
    Return where a statement belongs that was said before `later` was, or was again.

    `is_same` tells that the two say the same. Where words do not tell that they contradict each other, but a
    judge, everything that `later` took the place of counts as being about the same.
    """
    by_words = contradicts(later, memory)
    heir, before, seen = later, [], {later.id}
    while True:
        before = [
            one
            for one in writer.superseded_by(heir)
            if one.id not in seen and (not by_words or contradicts(one, memory) or says_same(one, memory))
        ]
        said_after = [one for one in before if one.last_stated_at > memory.stated_at]
        if not said_after:
            break
        heir = max(said_after, key=lambda one: one.last_stated_at)
        seen.add(heir.id)
    is_between = heir.stated_at > memory.stated_at
    neighbors = (*before, heir) if is_between else (heir,)
    known = later.id if is_same else None
    same = next((one for one in neighbors if one.id == known or says_same(one, memory)), None)
    return ChainPlace(heir, tuple(before), same)


def says_same(one: Memory, other: Memory) -> bool:
    """Return whether two statements say the same of the same: in the same words, or of one object."""
    return fingerprint_of(one) == fingerprint_of(other) or same_relation(understood(one), understood(other))


def put_in_chain(writer: MemoryWriter, memory: Memory, place: ChainPlace, *, reason: str) -> Memory:
    """Let a memory that was just stored be history, at its place, and return it."""
    heir, before = place.heir, place.before
    if heir.stated_at <= memory.stated_at:
        heir, past = _split(writer, heir, memory)
        before = (past,)
    until = max(memory.holds_from, _next_beginning(writer.tx, heir))
    retired = writer.supersede(memory, heir, reason=reason, until=until)
    for one in before:
        writer.unlink(heir.id, one.id, EdgeType.SUPERSEDES)
        writer.link(retired, one, EdgeType.SUPERSEDES)
        writer.update(one, Action.LINK, superseded_by=retired.id)
    if before:
        retired = writer.update(retired, Action.LINK, supersedes=_latest(before).id)
        writer.end_earlier(retired, retired.holds_from)
    writer.update(heir, Action.LINK, supersedes=retired.id)
    return retired


def said_again(tx: Transaction, known: Memory, again: Memory) -> dict[str, datetime | None]:
    """Return the times of a memory that was said again, before or after: when, and when it was true."""
    begins, until = min(known.holds_from, again.holds_from), known.valid_to
    if begins < known.holds_from and known.superseded_by is not None:
        heir = tx.memories.get(known.superseded_by, scope=known.scope)
        until = until if heir is None else max(begins, _next_beginning(tx, heir))
    return {
        "said_at": min(known.stated_at, again.stated_at),
        "confirmed_at": max(known.last_stated_at, again.last_stated_at),
        "valid_from": begins,
        "valid_to": until,
    }


def restated(known: Memory, again: Memory) -> dict[str, tuple[datetime, datetime]]:
    """Return what the history notes of a memory that was said again, so that it can be parted later."""
    noted = {_RESTATED: (again.holds_from, again.stated_at)}
    if again.stated_at < known.stated_at:  # then the memory itself tells no more when that was
        noted[_STATED] = (known.holds_from, known.stated_at)
    return noted


def last_said(event: HistoryEvent) -> datetime | None:
    """Return when something was said again that an event of its history tells of."""
    return _moment(event.changes[_RESTATED][1]) if _RESTATED in event.changes else None


def _latest(memories: Iterable[Memory]) -> Memory:
    return max(memories, key=lambda one: one.last_stated_at)


def _next_beginning(tx: Transaction, heir: Memory) -> datetime:
    """Return where the heir begins, or one after it that begins before the heir does."""
    begins = heir.holds_from
    while heir.superseded_by is not None and heir.valid_to is not None and heir.valid_to <= heir.holds_from:
        after = tx.memories.get(heir.superseded_by, scope=heir.scope)
        if after is None:
            break
        heir, begins = after, min(begins, after.holds_from)
    return begins


# A statement that was said again, and what came between.


class _Statement(Struct, frozen=True):
    """One time that something was said: when, and from when on it was said to hold."""

    said_at: datetime
    holds_from: datetime


def _split(writer: MemoryWriter, known: Memory, between: Memory) -> tuple[Memory, Memory]:
    """
    Part a memory that was said before and after another one: what was said after it, and what before.

    The memory itself goes on as what holds, with its id and all that hangs on it; what it was before is a
    memory of its own.
    """
    said = _statements(writer.tx, known)
    before = [one for one in said if one.said_at <= between.stated_at]
    after = [one for one in said if one.said_at > between.stated_at]
    past = known.evolve(
        id=new_id(writer.now),
        created_at=writer.now,
        updated_at=writer.now,
        status=Status.SUPERSEDED,
        superseded_by=known.id,
        confirmed_at=before[-1].said_at if len(before) > 1 else None,
        reinforcements=max(0, len(before) - 1),
        access=AccessLog(),
        pinned=False,
    )
    writer.create(past, fingerprint=fingerprint_of(past), reason=SAID_AGAIN)
    for one in writer.superseded_by(known):
        writer.unlink(known.id, one.id, EdgeType.SUPERSEDES)
        writer.link(past, one, EdgeType.SUPERSEDES)
        writer.update(one, Action.LINK, superseded_by=past.id)
    resumed = writer.update(
        known,
        Action.LINK,
        reason=SAID_AGAIN,
        said_at=after[0].said_at,
        valid_from=min(one.holds_from for one in after),
        confirmed_at=after[-1].said_at if len(after) > 1 else None,
        reinforcements=len(after) - 1,
    )
    return resumed, past


def _statements(tx: Transaction, memory: Memory) -> list[_Statement]:
    """Return every time that a memory was said, first to last, as far as that is known."""
    found: dict[datetime, datetime] = {}
    for one in _told(tx, memory):
        if memory.stated_at <= one.said_at <= memory.last_stated_at:  # else it is another link's by now
            found[one.said_at] = min(one.holds_from, found.get(one.said_at, one.holds_from))
    return [_Statement(said_at, found[said_at]) for said_at in sorted(found)]


def _told(tx: Transaction, memory: Memory) -> Iterator[_Statement]:
    yield _Statement(memory.stated_at, memory.holds_from)
    if memory.confirmed_at is not None:  # an import brings the last time, and no history
        yield _Statement(memory.confirmed_at, memory.confirmed_at)
    for event in tx.history.of(memory.id):
        for name in (_STATED, _RESTATED):
            if name in event.changes:
                holds_from, said_at = map(_moment, event.changes[name])
                yield _Statement(said_at, holds_from)
    for merged in tx.dreams.merges_into(memory.id):
        loser = tx.memories.get(merged.loser, scope=memory.scope)
        if loser is not None:
            yield from _told(tx, loser)


def _moment(stored: datetime | str) -> datetime:
    return stored if isinstance(stored, datetime) else datetime.fromisoformat(stored)
