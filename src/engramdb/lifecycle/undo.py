"""
Undo what was done: take an act back with all that followed from it, be it a person's, an agent's or a rule's.

An act is what one actor changed in one scope, in one write. What it stored no longer holds, what it displaced
holds again, and what it changed is as it was before. Where later acts build on it, they are named, and undone
first only where that was asked for. An undo is an act itself and can be undone. What was erased stays erased,
and what was forgotten since stays forgotten.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from engramdb.errors import AccessDenied, InvalidQuery, MemoryNotFound, UndoRefused
from engramdb.lifecycle.change import ChangeRequest, find_own
from engramdb.lifecycle.guard import refuse_agent
from engramdb.lifecycle.merging import merge_again, unmerge
from engramdb.lifecycle.recorded import overlap, without_event
from engramdb.lifecycle.transitions import DISPUTING, MemoryWriter
from engramdb.store.contract import EdgeChange, Transaction
from engramdb.values import (
    Act,
    ActId,
    Action,
    Actor,
    ActorKind,
    Edge,
    HistoryEvent,
    Memory,
    MemoryId,
    Scope,
    Source,
    Status,
    Undone,
)
from engramdb.values.memory import BELIEVED

UNDONE = "undone"
"""The reason in the history where nobody gave one."""
MAX_NAMED = 5
"""So many of the acts that stand in the way are named."""
_STAYS_AWAY: Final = frozenset({Status.FORGOTTEN, Status.PRUNED, Status.ERASED})
"""An undo of something else does not bring back what was forgotten since."""
_LEAVES_ALONE: Final = frozenset(
    {Action.WEAKEN, Action.FEEDBACK, Action.COUNT, Action.LINK, Action.UNLINK, Action.UNPIN}
)
"""What may happen to a memory without anything being built on it."""
_BUILDS: Final = frozenset({Action.SUPERSEDE, Action.CORRECT, Action.MERGE, Action.REINFORCE, Action.DERIVE})
"""What a rule builds on a memory; whatever else it does to one may be lost with it."""


def undo(
    request: ChangeRequest,
    *,
    memory_id: MemoryId | None = None,
    act: ActId | None = None,
    with_later: bool = False,
) -> Undone:
    """
    Undo the act named, or the last one that concerns a memory, or else the last one of who asks.

    Raises `UndoRefused` where there is none, it cannot be undone, or later acts build on it.
    """
    with request.store.atomic() as tx:
        chosen = _chosen(tx, request, memory_id, act)
        acts = _with_later(tx, chosen, request.scope, is_allowed=with_later)
        begun = tx.acts.begin(Action.UNDO, actor=request.actor, scope=request.scope, at=request.now)
        writer = MemoryWriter(tx, request.actor, request.now)
        undoing = _Undoing(writer, begun, request.scope, request.reason or UNDONE)
        for one in acts:
            undoing.take_back(one)
        tx.acts.mark_undone([one.id for one in acts], by=begun)
        return _report(tx, acts, undoing)


def list_acts(tx: Transaction, scope: Scope, *, limit: int, before: ActId | None) -> Sequence[Act]:
    """Return the latest acts of exactly this scope, newest first."""
    start = None if before is None else find_act(tx, before, scope).id
    return tx.acts.recent(scope=scope, limit=limit, before=start)


def find_act(tx: Transaction, name: ActId, scope: Scope) -> Act:
    """Return an act of exactly this scope by its id or the last eight characters of it."""
    found = tx.acts.find(name, scope=scope) if isinstance(name, str) and name.isprintable() else ()
    if len(found) != 1:
        what = f"{len(found)} acts" if found else "no act"
        raise MemoryNotFound(f"{what} of scope {scope}: {str(name)[:40]!r}", hint="`acts` shows their ids.")
    return found[0]


# --- what is undone, and whether it may be ----------------------------------------------------------------


def _chosen(tx: Transaction, request: ChangeRequest, memory_id: MemoryId | None, act: ActId | None) -> Act:
    if memory_id is not None and act is not None:
        raise InvalidQuery("undo takes a memory or an act, not both", hint="Name one of them, or none.")
    if act is not None:
        found = find_act(tx, act, request.scope)
        if found.undone_by is not None:
            raise UndoRefused(
                f"act {found.id} was undone already", hint=f"Undo {found.undone_by} to have it back."
            )
        return found
    if memory_id is not None:
        find_own(tx, memory_id, request.scope, expected_version=request.expected_version)
        latest = tx.acts.latest_of(memory_id, scope=request.scope)
    else:
        latest = tx.acts.latest_by(request.actor, scope=request.scope)
    if latest is None:
        raise UndoRefused(
            f"nothing is left to undo in scope {request.scope}"
            + (f" of what {request.actor.name!r} did" if memory_id is None else f" for memory {memory_id}"),
            hint="`acts` shows what was done, and by whom; name one of them to undo it.",
        )
    return latest


def _check_may_undo(act: Act, events: Sequence[HistoryEvent], actor: Actor) -> None:
    if actor.kind is ActorKind.RULE:
        raise AccessDenied("a rule undoes nothing", hint="Only a person, or an agent for one, can.")
    if actor.kind is ActorKind.AGENT and act.actor.kind is ActorKind.PERSON:
        raise AccessDenied(
            f"act {act.id} was done by a person, {act.actor.name!r}, and an agent may not undo it",
            hint="Ask the person to.",
        )
    for event in events:
        if event.new_status is Status.ERASED:
            raise UndoRefused(f"act {act.id} erased something: nothing is left to bring back")
        is_meant = event.new_status is Status.FORGOTTEN and event.actor.kind is not ActorKind.RULE
        if is_meant and actor.kind is not ActorKind.PERSON:
            raise AccessDenied(
                f"act {act.id} forgot something on purpose", hint="Only a person can bring it back."
            )


def _with_later(tx: Transaction, act: Act, scope: Scope, *, is_allowed: bool) -> Sequence[Act]:
    """Return what an act consists of and what must be undone before that, the latest first."""
    own = {one.id for one in tx.acts.parts(act.id, scope=scope)}
    found, waiting = set(own), list(own)
    while waiting:
        new = _built_on(tx, waiting.pop()) - found
        found |= new
        waiting += new
    acts = tx.acts.by_ids(list(found))
    later = [describe_act(one) for one in acts if one.id not in own]
    if later and not is_allowed:
        more = f" and {len(later) - MAX_NAMED} more" if len(later) > MAX_NAMED else ""
        raise UndoRefused(
            f"later acts build on {act.id[-8:]}: {'; '.join(later[:MAX_NAMED])}{more}",
            hint="Undo those first, or have them undone too: `with_later`, `--with-later`.",
        )
    return acts


def describe_act(act: Act) -> str:
    """Return an act in a few words: its id, what was done, by whom and when."""
    return f"{act.id[-8:]} ({act.action} by {act.actor.name}, {act.at:%Y-%m-%d %H:%M})"


def _built_on(tx: Transaction, act_id: ActId) -> set[ActId]:
    """Return the acts that build on one: they changed the same again, or rest on what it stored."""
    own: dict[MemoryId, list[HistoryEvent]] = {}
    for event in tx.acts.events(act_id):
        own.setdefault(event.memory_id, []).append(event)
    later: dict[MemoryId, list[HistoryEvent]] = {}
    for event in tx.acts.later_events(act_id):
        later.setdefault(event.memory_id, []).append(event)
    found = {
        event.act
        for memory_id, events in later.items()
        for event in events
        if any(_builds_on(one, event, events[-1]) for one in own[memory_id])
    }
    for change in tx.acts.links(act_id):
        if _weight(tx, change) != change.new_weight:
            found |= set(tx.acts.later_link_acts(change))
    return {one for one in found if one is not None} - {act_id}


def _builds_on(event: HistoryEvent, later: HistoryEvent, last: HistoryEvent) -> bool:
    if last.new_status in _STAYS_AWAY:
        return False
    if event.action is Action.MERGE:
        return event.new_status is not None and overlap(event, later)  # the other side gives back what it got
    if not _is_beginning(event):
        return overlap(event, later)
    if later.new_status is Status.INVALIDATED or later.action in _LEAVES_ALONE:
        return False
    return later.actor.kind is not ActorKind.RULE or later.action in _BUILDS


def _is_beginning(event: HistoryEvent) -> bool:
    return event.old_status is None and event.new_status is not None


# --- taking it back ---------------------------------------------------------------------------------------


class _Undoing(Struct):
    """One undo under way."""

    writer: MemoryWriter
    begun: ActId
    scope: Scope
    reason: str
    untouched: dict[MemoryId, None] = {}

    @property
    def tx(self) -> Transaction:
        return self.writer.tx

    def take_back(self, act: Act) -> None:
        """Take one act back: memories, links, words that others had quoted, and questions it had closed."""
        events = self.tx.acts.events(act.id)
        _check_may_undo(act, events, self.writer.actor)
        self._check_guarded(act, events)
        self._unmerge(events)
        changes = self.tx.acts.links(act.id)
        for change in reversed(changes):
            self._take_back_link(change)
        self._take_back_changes(events)
        self._ask_again(changes)
        self._give_back_words(act)
        for event in events:
            if event.action is Action.UNMERGE and event.old_status is Status.MERGED:
                merge_again(self.writer, event.memory_id)
        self._set_notes(act.id, events, is_undone=True)
        for one in self.tx.acts.undid(act.id):
            self._set_notes(one, self.tx.acts.events(one), is_undone=False)

    def _check_guarded(self, act: Act, events: Sequence[HistoryEvent]) -> None:
        """Keep an agent, but for its own acts, from undoing what a person said or what is guarded."""
        actor = self.writer.actor
        if actor.kind is not ActorKind.AGENT or act.actor.is_same_as(actor):
            return
        for event in events:
            memory = self._get(event.memory_id)
            if memory is None:
                continue
            if memory.status in BELIEVED:  # else undoing brings it back
                refuse_agent(memory, actor, "undo what was done to")
            is_said = _is_beginning(event) and memory.provenance.source is Source.HUMAN
            if is_said and not memory.is_derived:
                raise AccessDenied(
                    f"act {act.id} stored what the person said, and an agent may not undo it",
                    hint="Ask the person to, or use `correct`.",
                )

    def _set_notes(self, act_id: ActId, events: Sequence[HistoryEvent], *, is_undone: bool) -> None:
        """Let questions that an act had closed, and feedback that it gave, count as undone or not."""
        if is_undone:
            self.tx.acts.open_gaps(act_id)
        else:
            self.tx.acts.close_gaps(act_id, at=self.writer.now, by=self.writer.actor.kind)
        for event in events:
            if event.action is Action.FEEDBACK:
                self.tx.feedback.set_undone(event.memory_id, at=event.at, is_undone=is_undone)

    def _unmerge(self, events: Sequence[HistoryEvent]) -> None:
        """Take apart what the act merged; the memory that stood for both gives back what it was given."""
        made = {event.memory_id for event in events if _is_beginning(event)}
        for event in reversed(events):
            if event.new_status is Status.MERGED and event.action is Action.MERGE:
                loser = self._get(event.memory_id)
                before = Status.INVALIDATED if event.memory_id in made else event.old_status
                if loser is not None and before is not None and loser.status is Status.MERGED:
                    unmerge(self.writer, loser, reason=self.reason, status=before)

    def _take_back_changes(self, events: Sequence[HistoryEvent]) -> None:
        """Let memories be as they were; those that stop to count go first, since they may say the same."""
        by_memory: dict[MemoryId, list[HistoryEvent]] = {}
        for event in reversed(events):
            if event.action is not Action.MERGE:
                by_memory.setdefault(event.memory_id, []).append(event)
        coming_back = []
        for memory_id, latest_first in by_memory.items():
            memory = self._get(memory_id)
            before = None if memory is None else self._before(memory, latest_first)
            if memory is None or before is None:
                continue
            if before.status is Status.ACTIVE:
                coming_back.append(memory_id)
            else:
                self._put_back(memory, before)
        for memory_id in coming_back:
            memory = self._get(memory_id)
            if memory is not None:
                self._put_back(memory, self._before(memory, by_memory[memory_id]))

    def _before(self, memory: Memory, latest_first: Sequence[HistoryEvent]) -> Memory:
        """Return a memory without what the events of an act did to it."""
        moves = {event.new_status for event in latest_first if event.new_status is not None}
        if memory.status is Status.ERASED or (moves and memory.status in _STAYS_AWAY - moves):
            self.untouched[memory.id] = None
            return memory
        before = memory
        for event in (*self._followed(memory), *latest_first):
            before = without_event(before, event)
        changes: dict[str, Any] = {}
        if _is_beginning(latest_first[-1]):
            changes["status"] = Status.INVALIDATED
        elif any(event.action is Action.AGE for event in latest_first) and before.status in BELIEVED:
            changes |= self.writer.vouched_for(before)
        if before.layer is not memory.layer and any(_is_layer_rule(event) for event in latest_first):
            changes["layer_held"] = True
        before = before.evolve(**changes)
        is_back = memory.status in _STAYS_AWAY and before.status not in _STAYS_AWAY
        return self._without_missed(before) if is_back else before

    def _without_missed(self, before: Memory) -> Memory:
        """Return a memory that comes back without what was undone while it was away and untouched."""
        history = self.tx.history.of(before.id)
        seen = {event.act for event in history}
        undone = {
            act.id: act.undone_by
            for act in self.tx.acts.by_ids([one for one in seen if one is not None])
            if act.undone_by is not None and act.undone_by not in seen
        }
        for event in reversed(history):
            if event.act in undone:
                before = without_event(before, event)
                if _is_beginning(event):
                    before = before.evolve(status=Status.INVALIDATED)
        return before

    def _followed(self, memory: Memory) -> list[HistoryEvent]:
        """Return what rules did to a memory in the course of this undo, the latest first."""
        events = reversed(self.tx.history.of(memory.id))
        own = itertools.takewhile(lambda event: event.act == self.begun, events)
        return [event for event in own if event.actor.kind is ActorKind.RULE]

    def _put_back(self, memory: Memory, before: Memory) -> None:
        if before == memory:
            return
        is_returning = before.status is Status.ACTIVE and memory.status is not Status.ACTIVE
        if is_returning:
            self.writer.refuse_active_twin(memory)
        changed = before.evolve(updated_at=self.writer.now)
        self.writer.write(memory, changed, action=Action.UNDO, reason=self.reason)
        if changed.status in BELIEVED and memory.status not in BELIEVED:  # its questions may be gone
            self.writer.ask_again(changed)
        if memory.is_session_summary and is_returning:
            self.tx.turns.mark_summarized(memory.provenance.turns, now=self.writer.now)
        elif memory.is_session_summary and before.status not in BELIEVED:
            self.tx.turns.unmark_summarized(memory.provenance.turns)

    def _take_back_link(self, change: EdgeChange) -> None:
        if _weight(self.tx, change) != change.new_weight:
            return  # somebody has changed it since
        if change.old_weight is None or change.old_created_at is None:
            self.writer.unlink(change.source, change.target, change.type)
            if change.type in DISPUTING:
                self.writer.unask(change.source, change.target, change.type, scope=self.scope)
            return
        ends = [self._get(one) for one in (change.source, change.target)]
        if any(one is None or one.status is Status.ERASED for one in ends):
            return
        edge = Edge(
            source=change.source,
            target=change.target,
            type=change.type,
            weight=change.old_weight,
            created_at=change.old_created_at,
        )
        self.writer.put_back_link(edge)

    def _ask_again(self, changes: Sequence[EdgeChange]) -> None:
        """Open the questions that links raise which were put back."""
        for memory_id in dict.fromkeys(one.source for one in changes if one.new_weight is None):
            memory = self._get(memory_id)
            if memory is not None and memory.status in BELIEVED:
                self.writer.ask_again(memory)

    def _give_back_words(self, act: Act) -> None:
        for words in self.tx.acts.kept_words(act.id):
            memory = self._get(words.memory_id)
            if memory is not None and memory.status is not Status.ERASED:
                self.writer.give_back_context(memory, words, reason=self.reason)

    def _get(self, memory_id: MemoryId) -> Memory | None:
        return self.tx.memories.get(memory_id, scope=self.scope)


def _is_layer_rule(event: HistoryEvent) -> bool:
    return "layer" in event.changes and event.actor.kind is ActorKind.RULE


def _weight(tx: Transaction, change: EdgeChange) -> float | None:
    """Return what a link weighs now, or None where it is not there."""
    return tx.edges.weight(change.source, change.target, change.type)


def _report(tx: Transaction, acts: Sequence[Act], undoing: _Undoing) -> Undone:
    """Return what an undo has changed, by what that means for each memory."""
    moves: dict[MemoryId, list[HistoryEvent]] = {}
    for event in tx.acts.events(undoing.begun):
        moves.setdefault(event.memory_id, []).extend([event] if event.new_status is not None else [])
    back: list[MemoryId] = []
    gone: list[MemoryId] = []
    changed: list[MemoryId] = []
    for memory_id, events in moves.items():
        counted = bool(events) and events[0].old_status in BELIEVED
        counts = bool(events) and events[-1].new_status in BELIEVED
        (changed if counts is counted else back if counts else gone).append(memory_id)
    return Undone(
        act=undoing.begun,
        undone=tuple(acts),
        back=tuple(back),
        gone=tuple(gone),
        changed=tuple(changed),
        untouched=tuple(one for one in undoing.untouched if one not in moves),
    )
