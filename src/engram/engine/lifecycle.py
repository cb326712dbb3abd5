"""
The six steps of a turn, the same for every caller: resolve, recall, build, let run, capture, clean up.

Held by `Turns`, driven by `AgentTurn`. The message is stored before anything else can fail. Everything
the turn brings back, the replies, the audit row and the agent's mind, is one write at the end: a turn
that fails or is never ended leaves the mind as it was, and nothing half-written. Seed 002 §17.5.1.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.attention.contents import items, lines, may_enter, of_memory, of_turn, of_words, used_by
from engram.attention.mind import Experience, Message, attend, settle
from engram.attention.momentum import is_vague
from engram.capture.observe import observe
from engram.engine.listening import READING_PATIENCE_SECONDS
from engram.engine.turn_recall import TurnRecall
from engram.engine.turn_shapes import Begun, Ended, Expected, TurnKind
from engram.errors import EmbeddingError, EngramError
from engram.providers.calibration import IDENTITY
from engram.values import Action, AuditEvent, Query, Recall, Role, SlotSource, WorkingMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.attention.mind import Mind
    from engram.attention.momentum import Measures
    from engram.engine.assemble import Parts
    from engram.engine.attending import Attending
    from engram.engine.listening import Listener
    from engram.engine.turn_shapes import Said, TurnRequest
    from engram.store.contract import Transaction
    from engram.values import Actor, Item, Restored, Scope, Slot, TopicShift, Turn, Window, WorkingLine

TURNS = "turns"
"""What health calls this part."""
REPLY_CHARACTERS = 1000
"""Of a reply so much is embedded: where the talk is going is said at its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a turn needs of the engine around it."""

    room: Callable[[TurnRequest], int]
    """How many tokens of the model's window working memory may take."""
    count: Callable[[TurnRequest], Callable[[str], int]]
    """Counts those tokens, as the window will be counted."""
    window: Callable[[TurnRequest, Turn, Sequence[WorkingLine], Callable[[int], Recall]], Window]
    """Builds the prompt for a message that was just stored."""
    given: Callable[[TurnRequest, Sequence[Item]], None]
    """Notes that the agent was shown what it has in mind."""
    keep_result: Callable[[TurnRequest, str], None]
    """Remembers how a task ended."""
    look_ahead: Callable[[Scope, Expected], None]
    """Prepares the next recall."""
    ended: Callable[[Scope], None]
    """Schedules what should follow a turn."""


class _MessageGone(Exception):
    """The message that a turn began with is no longer in the store."""


class TurnLifecycle:
    """Begins and ends turns."""

    def __init__(
        self, parts: Parts, attending: Attending, listener: Listener, around: Surroundings, *, actor: Actor
    ) -> None:
        self._parts = parts
        self._attending = attending
        self._listener = listener
        self._around = around
        self._actor = actor
        self._lost: deque[Begun] = deque()
        self._open: dict[str, Begun] = {}

    # --- steps one to three: resolve, recall, build ---------------------------------------------------------

    def begin(self, request: TurnRequest) -> Begun:
        """Store the message and return what the agent should have in mind for it."""
        self.bury()
        is_read = self._listener.wait(READING_PATIENCE_SECONDS)
        turn = self._observed(request, request.message, request.kind.role, request.speaker)
        self._attending.begin(request.scope)
        try:
            begun = self._attended(request, turn, is_read=is_read)
        except BaseException as exc:
            self._attending.end(request.scope)
            self._record(request, turn.id, Ended.FAILED, error=type(exc).__name__)
            with suppress(EngramError):
                self._listener.heard(turn)
            raise
        self._open[begun.id] = begun
        self._listener.heard(turn)  # not before the recall: a message must not find itself
        return begun

    def _attended(self, request: TurnRequest, turn: Turn, *, is_read: bool) -> Begun:
        scope, now = request.scope, self._now()
        message = Message(text=request.message, vector=self._vector(request.message))
        mind, restored = self._attending.look(scope)
        ahead, shift = self._attend(mind, message, now)
        with self._parts.store.read() as tx:
            held = items(tx, ahead.slots, scope=scope, now=now)
        told = lines(held, room=self._around.room(request), count=self._around.count(request))
        answer = TurnRecall(
            self._parts,
            message=message,
            scope=scope,
            momentum=ahead.momentum,
            prepared=self._attending.take_prepared(scope),
            in_mind={line.text for line in told},
            is_read=is_read,
            now=now,
        )
        window = self._around.window(request, turn, told, answer)
        self._around.given(request, held[: len(told)])
        return Begun(
            id=turn.id,
            request=request,
            message=message,
            working=working_memory(scope, held, ahead, restored),
            shift=shift,
            recall=answer.answer or Recall(query=Query(text=request.message, scope=scope)),
            window=window,
            sensory=self._settled(request, now),
            is_anticipated=answer.is_anticipated,
        )

    # --- steps five and six: capture, clean up --------------------------------------------------------------

    def finish(self, begun: Begun, said: Sequence[Said], noted: Sequence[tuple[str, SlotSource]]) -> None:
        """Keep what a turn brought back, all of it or nothing, and let what follows from it happen."""
        request = begun.request
        stored: list[Turn] = []
        reply = "\n\n".join(one.text for one in said if one.role is Role.ASSISTANT)
        experience = self._experience(begun, reply, noted)

        def changed(mind: Mind) -> Mind:
            now = self._now()
            attending, _ = self._attend(mind, begun.message, now)
            return settle(attending, experience, self._measure(), self._parts.policy.attention, now=now)

        def write(tx: Transaction) -> None:
            if tx.turns.get(begun.id, scope=request.scope) is None:
                raise _MessageGone
            stored.extend(self._observed(request, one.text, one.role, one.speaker) for one in said)
            tx.audit.add(self._event(request, begun.id, Ended.DONE, shift=begun.shift))

        try:
            mind = self._attending.change(request.scope, changed, write)
        except _MessageGone:  # erased meanwhile: nothing of this turn may be left either
            self.close(begun, Ended.ABANDONED)
            return
        except BaseException as exc:
            self.close(begun, Ended.FAILED, error=type(exc).__name__)
            raise
        self._closed(begun)
        for turn in stored:
            self._listener.heard(turn)
        if request.kind is not TurnKind.CHAT:
            self._around.keep_result(request, reply)
        limit = begun.recall.query.limit
        ahead = Expected(text=request.message, momentum=mind.momentum, limit=limit)
        self._around.look_ahead(request.scope, ahead)
        self._around.ended(request.scope)

    def close(self, begun: Begun, ended: Ended, *, error: str | None = None) -> None:
        """End a turn that brought nothing back: the mind stays as it was, and the audit says how it ended."""
        self._closed(begun)
        self._record(begun.request, begun.id, ended, error=error)

    def lost(self, begun: Begun) -> None:
        """Note that nobody holds a turn any more; called by the garbage collector, so it only notes."""
        self._lost.append(begun)

    def bury(self) -> None:
        """Close the turns that nobody holds any more."""
        while self._lost:
            begun = self._lost.popleft()
            if begun.id in self._open:
                self.close(begun, Ended.ABANDONED)

    def close_all(self) -> None:
        """Close every turn that is still open, because the engine closes."""
        self.bury()
        for begun in list(self._open.values()):
            self.close(begun, Ended.ABANDONED)

    # --- the pieces -----------------------------------------------------------------------------------------

    def _experience(self, begun: Begun, reply: str, noted: Sequence[tuple[str, SlotSource]]) -> Experience:
        """Return what the turn brings to mind: the best answers, what was said before, what was noted."""
        policy, now = self._parts.policy.attention, self._now()
        fitting = [hit for hit in begun.recall.hits if hit.trust.relevance >= policy.recall_relevance]
        recalled = [
            of_memory(hit.memory, SlotSource.RECALL, activation=hit.trust.relevance, now=now)
            for hit in fitting
            if may_enter(hit.memory, now)
        ]
        notes = [of_words(text, source, activation=1.0, now=now) for text, source in noted]
        return Experience(
            message=begun.message,
            found=(*begun.sensory, *recalled[: policy.recall_slots], *notes),
            used=used_by(reply, begun.working.items),
            reply=self._vector(reply[:REPLY_CHARACTERS]),
        )

    def _settled(self, request: TurnRequest, now: datetime) -> tuple[Slot, ...]:
        """Return the latest message that has stood long enough, if it told something."""
        policy = self._parts.policy.attention
        ring = self._parts.capture.sensory.settled(request.scope, now=now)
        told = [turn for turn in ring if turn.role is Role.USER and turn.session == request.session]
        return tuple(of_turn(turn, now=now) for turn in told[-1:] if not is_vague(turn.content, policy))

    def _attend(self, mind: Mind, message: Message, now: datetime) -> tuple[Mind, TopicShift]:
        return attend(mind, message, self._measure(), self._parts.policy.attention, now=now)

    def _observed(self, request: TurnRequest, content: str, role: Role, speaker: str | None) -> Turn:
        return observe(
            content,
            role=role,
            speaker=speaker,
            session=request.session,
            occurred_at=None,
            scope=request.scope,
            store=self._parts.store,
            policy=self._parts.gate.policy,
            actor=self._actor,
            now=self._now(),
        )

    def _vector(self, text: str) -> NDArray[np.float32] | None:
        """Return a text's vector; None where the embedder fails, which health has noted."""
        try:
            (vector,) = self._parts.embedder.embed_queries([text])
        except EmbeddingError:
            return None
        found: NDArray[np.float32] = vector
        return found

    def _measure(self) -> Measures:
        try:
            return self._parts.embedder.calibration
        except EmbeddingError:  # nothing has a vector then, and nothing is measured
            return IDENTITY

    def _record(self, request: TurnRequest, turn_id: str, ended: Ended, *, error: str | None = None) -> None:
        """Write how a turn ended; what cannot be written is noted in health, and hides no other error."""
        with suppress(EngramError), self._parts.health.watch(TURNS), self._parts.store.atomic() as tx:
            tx.audit.add(self._event(request, turn_id, ended, error=error))

    def _event(self, request: TurnRequest, turn_id: str, ended: Ended, **detail: str | None) -> AuditEvent:
        told = {"kind": request.kind, "outcome": ended, **detail}
        return AuditEvent(
            at=self._now(),
            action=Action.TURN,
            actor=self._actor,
            target=turn_id,
            detail={name: value for name, value in told.items() if value is not None},
        )

    def _closed(self, begun: Begun) -> None:
        self._open.pop(begun.id, None)
        self._attending.end(begun.request.scope)

    def _now(self) -> datetime:
        return self._parts.clock.now()


def working_memory(scope: Scope, held: Sequence[Item], mind: Mind, restored: Restored) -> WorkingMemory:
    """Return what is in mind as a value to look at."""
    return WorkingMemory(
        scope=scope,
        items=tuple(held),
        restored=restored,
        confidence=mind.momentum.confidence,
        topics=len(mind.topics),
    )
