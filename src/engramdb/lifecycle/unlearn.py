"""
Take back one message: the turn goes, and with it what was learnt from it alone.

What others vouch for stays, without this piece of evidence and what that had added. What a memory had
superseded or weakened counts again when the memory goes. The words of the turn are in nothing afterwards but
the history that names no words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import StatusNotAllowed
from engramdb.lifecycle.guard import refuse_agent
from engramdb.lifecycle.merging import unmerge
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.values import (
    Action,
    ActorKind,
    AuditEvent,
    EdgeType,
    HistoryEvent,
    Memory,
    MemoryId,
    Status,
    Turn,
    TurnId,
    UnlearnedTurn,
)

TAKEN_BACK = "the message was taken back"
SUCCESSOR_TAKEN_BACK = "the message that superseded it was taken back"
_GONE = frozenset({Status.FORGOTTEN, Status.ERASED})


def unlearn_turn(
    writer: MemoryWriter, turn: Turn, *, reason: str = "", is_wish: bool = True
) -> UnlearnedTurn:
    """
    Drop a turn and take back what it alone has taught; `reason` is for the history.

    Where it is nobody's wish but a program's housekeeping, the same may be learnt again.
    """
    taking = _TakingBack(writer, turn.id, reason or TAKEN_BACK, is_wish)
    taking.drop_summaries(turn)
    for memory in writer.tx.turns.memories_of([turn.id]).get(turn.id, []):
        if memory.scope == turn.scope:
            taking.take_from(memory.id, turn)
    writer.withdraw_context(turn.content, session=turn.session, scope=turn.scope)
    writer.tx.acts.drop_words(scope=turn.scope)  # the message does not come back
    holders = writer.tx.erasures.attention_scopes([turn.id], [turn.content], scope=turn.scope)
    writer.tx.erasures.drop_attention(holders)
    writer.tx.erasures.drop_turns([turn.id])
    found = taking.found
    counted = {name: len(getattr(found, name)) for name in ("forgotten", "kept", "restored")}
    event = AuditEvent(
        at=writer.now,
        action=Action.FORGET,
        actor=writer.actor,
        scope=turn.scope,
        target=turn.id,
        detail=counted,
    )
    writer.tx.audit.add(event)
    return found


class _TakingBack(Struct):
    """One turn on its way out, and what became of the memories so far."""

    writer: MemoryWriter
    turn_id: TurnId
    reason: str
    is_wish: bool
    found: UnlearnedTurn = UnlearnedTurn()

    def take_from(self, memory_id: MemoryId, turn: Turn) -> None:
        """Forget a memory that stands on this turn alone, or let it stand on the others."""
        memory = self._apart(self._current(memory_id, turn))
        if memory.status in _GONE or self.turn_id not in memory.provenance.turns:
            return
        if self._has_other_evidence(memory):
            self._lose_evidence(memory)
        else:
            self._forget(memory)

    def drop_summaries(self, turn: Turn) -> None:
        """Take back the summaries that cover the turn; the next are made of what is left."""
        gone = self.writer.withdraw_summaries(
            [turn.id], session=turn.session, scope=turn.scope, reason=self.reason
        )
        self.found = replace(self.found, forgotten=(*self.found.forgotten, *gone))

    def _current(self, memory_id: MemoryId, turn: Turn) -> Memory:
        memory = self.writer.tx.memories.get(memory_id, scope=turn.scope)
        assert memory is not None  # noqa: S101 - just read in the same transaction
        return memory

    def _apart(self, memory: Memory) -> Memory:
        """Take a merge apart whose one side goes: either side may have been said elsewhere."""
        is_keeper = memory.provenance.turns[:1] == (self.turn_id,) and memory.status is not Status.MERGED
        is_merged = memory.status is Status.MERGED or (
            is_keeper and bool(self.writer.tx.dreams.merges_into(memory.id))
        )
        if not is_merged:
            return memory
        try:
            unmerge(self.writer, memory, reason=self.reason)
        except StatusNotAllowed:  # something else says the same by now
            return memory
        return self.writer.tx.memories.get(memory.id, scope=memory.scope) or memory

    def _has_other_evidence(self, memory: Memory) -> bool:
        """Return whether another turn, a person or a document states it as well."""
        if memory.extractor is None or memory.pinned or len(memory.provenance.turns) > 1:
            return True
        events = self.writer.tx.history.of(memory.id)
        return any(
            event.action is Action.REINFORCE
            and "turns" not in event.changes
            # The reader may have met it twice in this very turn; a person has said it without the turn.
            and (event.at > memory.created_at or event.actor.kind is not ActorKind.RULE)
            for event in events
        )

    def _lose_evidence(self, memory: Memory) -> None:
        made = memory.provenance
        left = tuple(one for one in made.turns if one != self.turn_id)
        changes: dict[str, Any] = {"provenance": replace(made, turns=left)}
        added = _reinforcement(
            self.writer.tx.history.of(memory.id), place=made.turns.index(self.turn_id), has_others=bool(left)
        )
        if added is not None:
            changes["confidence"] = max(0.0, memory.confidence - _gain(added, "confidence"))
            changes["reinforcements"] = max(0, memory.reinforcements - 1)
        self.writer.update(memory, Action.WEAKEN, reason=self.reason, **changes)
        self.found = replace(self.found, kept=(*self.found.kept, memory.id))

    def _forget(self, memory: Memory) -> None:
        stood = memory.status
        if self.is_wish:
            refuse_agent(memory, self.writer.actor, "forget")
            self.writer.forget(memory, reason=self.reason)
        else:
            self.writer.set_status(memory, Status.FORGOTTEN, action=Action.FORGET, reason=self.reason)
        self.found = replace(self.found, forgotten=(*self.found.forgotten, memory.id))
        for edge in self.writer.tx.edges.of(memory.id):
            other = self.writer.tx.memories.get(edge.target, scope=memory.scope)
            if edge.source != memory.id or other is None or other.scope != memory.scope:
                continue
            if edge.type is EdgeType.SUPERSEDES and other.superseded_by == memory.id:
                self._release(other, memory, is_held=stood is Status.SUPERSEDED)
            elif edge.type is EdgeType.CONTRADICTS:
                self._strengthen(other, memory)

    def _release(self, old: Memory, successor: Memory, *, is_held: bool) -> None:
        """Let what a memory superseded count again, or hand it on to what superseded that one in turn."""
        if is_held and successor.superseded_by is not None:
            self.writer.update(
                old, Action.LINK, reason=SUCCESSOR_TAKEN_BACK, superseded_by=successor.superseded_by
            )
            return
        if old.status is not Status.SUPERSEDED or self.writer.tx.memories.has_active_twin(old.id):
            return
        self.writer.unlink(successor.id, old.id, EdgeType.SUPERSEDES)
        back = old.evolve(status=Status.ACTIVE, superseded_by=None, valid_to=None, updated_at=self.writer.now)
        self.writer.write(old, back, action=Action.RESTORE, reason=SUCCESSOR_TAKEN_BACK)
        self.found = replace(self.found, restored=(*self.found.restored, old.id))

    def _strengthen(self, old: Memory, other: Memory) -> None:
        """Give back the confidence that a contradiction has cost."""
        lost = sum(
            -_gain(event, "confidence")
            for event in self.writer.tx.history.of(old.id)
            if event.action is Action.WEAKEN and event.at == other.created_at
        )
        if lost > 0 and not old.status.is_terminal:
            confidence = min(1.0, old.confidence + lost)
            self.writer.update(old, Action.RESTORE, reason=SUCCESSOR_TAKEN_BACK, confidence=confidence)


def _reinforcement(events: Sequence[HistoryEvent], *, place: int, has_others: bool) -> HistoryEvent | None:
    """Return the event that a turn has strengthened a memory by; where it was the first, that of the next."""
    added = [event for event in events if event.action is Action.REINFORCE and _gain(event, "turns") > 0]
    number = max(place - 1, 0)
    return added[number] if has_others and number < len(added) else None


def _gain(event: HistoryEvent, name: str) -> float:
    before, after = event.changes.get(name, (0, 0))
    return float(after or 0) - float(before or 0)
