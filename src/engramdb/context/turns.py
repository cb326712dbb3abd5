"""
The steps of an agent's turn, the same for every caller: resolve, recall, build, let run, capture, clean up.

The message is stored before anything else can fail. Everything the turn brings back, the replies, the audit
row and the agent's working memory, is one write at the end: a turn that fails or is never ended leaves the
working memory as it was, and nothing half-written. Seed 002 §17.5.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.capture.actions import task_result
from engramdb.capture.agents import AdmitsDrafts
from engramdb.capture.pipeline import Capture, observe
from engramdb.capture.reading import TurnReader
from engramdb.clock import Clock
from engramdb.context.agent_state import WorkingMemories
from engramdb.context.attention import (
    AnticipatedAnswer,
    Measures,
    Momentum,
    blend_with_momentum,
    is_usable_for,
    is_vague,
    momentum_center,
)
from engramdb.context.service import ContextService, PromptRequest
from engramdb.context.working_memory import (
    AttendedMessage,
    AttentionState,
    TurnExperience,
    attend_to,
    may_enter_working_memory,
    memory_slot,
    read_items,
    settle_turn,
    slots_used_by,
    text_slot,
    turn_slot,
    working_lines,
)
from engramdb.errors import EmbeddingError, EngramError, StatementForgotten
from engramdb.health import Health
from engramdb.lifecycle.access_log import AccessRecorder
from engramdb.lifecycle.forgotten import ForgottenStatements
from engramdb.models.calibration import IDENTITY
from engramdb.models.embedder import Embedder
from engramdb.policy import Policy
from engramdb.recall.gather import Sources
from engramdb.recall.pipeline import recall
from engramdb.recall.service import AnswerLog, message_query, still_reading
from engramdb.store.contract import Store, Transaction
from engramdb.values import (
    Action,
    Actor,
    AuditEvent,
    Hit,
    Query,
    Recall,
    Restored,
    Role,
    Scope,
    Slot,
    SlotSource,
    Status,
    TaskOutcome,
    TopicShift,
    Turn,
    Window,
    WorkingItem,
    WorkingMemory,
)

RECALL_SLOTS = 3
"""How many of the best answers of a turn enter working memory,"""
RECALL_RELEVANCE = 0.35
"""where they fit at least this well."""


class TurnKind(StrEnum):
    """Who runs the agent; every one of them gets the whole lifecycle."""

    CHAT = "chat"
    TASK = "task"
    CRON = "cron"
    ORCHESTRATOR = "orchestrator"
    SWARM = "swarm"
    FLOW = "flow"

    @property
    def role(self) -> Role:
        """Whose words the message is: a person's, another agent's, or those of a schedule."""
        if self in (TurnKind.CHAT, TurnKind.TASK):
            return Role.USER
        return Role.SYSTEM if self in (TurnKind.CRON, TurnKind.FLOW) else Role.ASSISTANT


class Ended(StrEnum):
    """How a turn ended, as the audit has it."""

    DONE = "done"
    FAILED = "failed"
    ABANDONED = "abandoned"


class TurnRequest(Struct, frozen=True, kw_only=True):
    """What a turn was asked for with, scope and session resolved."""

    message: str
    scope: Scope
    kind: TurnKind = TurnKind.CHAT
    agent: str | None = None
    model: str | None = None
    session: str | None = None
    speaker: str | None = None
    history: Sequence[Turn | Mapping[str, str]] | None = None
    fixed: str | Sequence[str] = ()
    reserve: int | None = None

    def for_context(self) -> PromptRequest:
        """Return what the prompt of this turn is to be built for."""
        return PromptRequest(
            message=self.message,
            scope=self.scope,
            model=self.model,
            history=self.history,
            fixed=self.fixed,
            reserve=self.reserve,
            session=self.session,
        )


class Said(Struct, frozen=True):
    """Something that came up in a turn."""

    role: Role
    text: str
    speaker: str | None


class Begun(Struct, frozen=True, kw_only=True, eq=False):
    """A turn that is under way, named by the id of its stored message."""

    id: str
    request: TurnRequest
    message: AttendedMessage
    working: WorkingMemory
    shift: TopicShift
    recall: Recall
    window: Window
    sensory: tuple[Slot, ...] = ()
    """What was said a while ago, to be held in working memory."""
    is_anticipated: bool = False
    """Whether the recall had been prepared."""


class Expected(Struct, frozen=True, kw_only=True, eq=False):
    """What the next recall is prepared from."""

    text: str
    momentum: Momentum
    limit: int
    """How many memories the last window asked for, and the next may."""


class Schedules(Protocol):
    """Is told that something happened after which slow work may be due."""

    def schedule(self, reason: str = "") -> None: ...


class TurnParts(Protocol):
    """What a turn needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def store(self) -> Store: ...
    @property
    def actor(self) -> Actor: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def sources(self) -> Sources: ...
    @property
    def answers(self) -> AnswerLog: ...
    @property
    def access_log(self) -> AccessRecorder: ...
    @property
    def writer(self) -> AdmitsDrafts: ...
    @property
    def capture(self) -> Capture: ...
    @property
    def turn_reader(self) -> TurnReader: ...
    @property
    def contexts(self) -> ContextService: ...
    @property
    def forgotten(self) -> ForgottenStatements: ...
    @property
    def scheduler(self) -> Schedules: ...


class LooksAhead(Protocol):
    """Prepares in the background what an agent will ask for next."""

    def look_ahead(self, scope: Scope, expected: Expected) -> None: ...


class TurnRecall:
    """
    The recall of one turn: what was prepared where that fits, else asked for, leaning on where the talk goes.

    What is in working memory word for word is not given a second time as recalled. What was prepared is
    looked at again: a memory that was forgotten meanwhile is not given.
    """

    def __init__(
        self,
        parts: TurnParts,
        *,
        message: AttendedMessage,
        scope: Scope,
        momentum: Momentum,
        prepared: AnticipatedAnswer | None,
        in_mind: Set[str],
        is_read: bool,
        now: datetime,
    ) -> None:
        self._parts = parts
        self._message = message
        self._scope = scope
        self._momentum = momentum
        self._prepared = prepared
        self._in_mind = in_mind
        self._is_read = is_read
        self._now = now
        self.answer: Recall | None = None
        self.is_anticipated = False

    def __call__(self, limit: int) -> Recall:
        """Return memories for the message, without those that working memory shows anyway."""
        with self._parts.health.watch("recall"):
            found = self._from_prepared(limit)
            self.is_anticipated = found is not None
            found = found or self._asked(limit)
        if not self._is_read:
            found = still_reading(found)
        self.answer = found
        self._parts.answers.add(found)
        fresh = tuple(hit for hit in found.hits if hit.memory.content not in self._in_mind)
        return replace(found, hits=fresh)

    def _asked(self, limit: int) -> Recall:
        vector = self._message.vector
        if vector is not None:
            policy = self._parts.policy.attention
            vector = blend_with_momentum(vector, self._momentum, self._message.text, policy)
        query = message_query(self._message.text, self._scope, limit)
        return recall(query, self._parts.sources, now=self._now, vector=vector)

    def _from_prepared(self, limit: int) -> Recall | None:
        """Return what was prepared if it is for this question and holds enough, as it is known now."""
        prepared, vector, _policy = self._prepared, self._message.vector, self._parts.policy.attention
        if prepared is None or vector is None or not _is_enough(prepared.answer, limit):
            return None
        if not is_usable_for(prepared, vector, self._parts.embedder.calibration, now=self._now):
            return None
        hits = tuple(self._standing(prepared))[:limit]
        return replace(
            prepared.answer, query=message_query(self._message.text, self._scope, limit), hits=hits
        )

    def _standing(self, prepared: AnticipatedAnswer) -> Iterator[Hit]:
        with self._parts.store.read() as tx:
            for hit in prepared.answer.hits:
                memory = tx.memories.get(hit.memory.id, scope=self._scope)
                if memory is not None and memory.status is Status.ACTIVE:
                    yield replace(hit, memory=memory)


def anticipate(parts: TurnParts, scope: Scope, expected: Expected) -> AnticipatedAnswer | None:
    """Return an answer to what will be asked next if the talk goes on as it does, if it goes anywhere."""
    if expected.momentum.is_empty:
        return None
    now, vector = parts.clock.now(), momentum_center(expected.momentum)
    query = message_query(expected.text, scope, expected.limit)
    answer = recall(query, parts.sources, now=now, vector=vector)
    return AnticipatedAnswer(expected=expected.momentum, answer=answer, made_at=now)


def _is_enough(answer: Recall, limit: int) -> bool:
    """Return whether an answer holds as many memories as are asked for, or all that there are."""
    return limit <= answer.query.limit or len(answer.hits) < answer.query.limit


TURNS = "turns"
"""What health calls this part."""
REPLY_CHARACTERS = 1000
"""Of a reply so much is embedded: where the talk is going is said at its beginning."""


class _MessageGone(Exception):
    """The message that a turn began with is no longer in the store."""


class TurnLifecycle:
    """Begins and ends turns."""

    def __init__(self, parts: TurnParts, memories: WorkingMemories, ahead: LooksAhead) -> None:
        self._parts = parts
        self._memories = memories
        self._ahead = ahead
        self._lost: deque[Begun] = deque()
        self._open: dict[str, Begun] = {}

    # --- steps one to three: resolve, recall, build ---------------------------------------------------------

    def begin(self, request: TurnRequest) -> Begun:
        """Store the message and return what the agent needs to know for it."""
        self.bury()
        is_read = self._parts.turn_reader.wait()
        turn = self._observe(request, request.message, request.kind.role, request.speaker)
        self._memories.begin(request.scope)
        try:
            begun = self._attend_and_save(request, turn, is_read=is_read)
        except BaseException as exc:
            self._memories.end(request.scope)
            self._record(request, turn.id, Ended.FAILED, error=type(exc).__name__)
            with suppress(EngramError):
                self._parts.turn_reader.turn_stored(turn)
            raise
        self._open[begun.id] = begun
        self._parts.turn_reader.turn_stored(turn)  # not before the recall: a message must not find itself
        return begun

    def _attend_and_save(self, request: TurnRequest, turn: Turn, *, is_read: bool) -> Begun:
        scope, now = request.scope, self._now()
        message = AttendedMessage(text=request.message, vector=self._vector(request.message))
        state, restored = self._memories.look(scope)
        ahead, shift = self._attend(state, message, now)
        with self._parts.store.read() as tx:
            held = read_items(tx, ahead.slots, scope=scope, now=now, known=self._parts.forgotten)
        contexts, wanted = self._parts.contexts, request.for_context()
        told = working_lines(
            held, token_budget=contexts.working_budget(wanted), count=contexts.counter(request.model).most
        )
        answer = TurnRecall(
            self._parts,
            message=message,
            scope=scope,
            momentum=ahead.momentum,
            prepared=self._memories.take_prepared(scope),
            in_mind={line.text for line in told},
            is_read=is_read,
            now=now,
        )
        history = self._said_before(request, turn)
        window = contexts.build(replace(wanted, history=history, working=told), recalled=answer)
        self._note_given(request, held[: len(told)])
        return Begun(
            id=turn.id,
            request=request,
            message=message,
            working=working_memory(scope, held, ahead, restored),
            shift=shift,
            recall=answer.answer or Recall(query=Query(text=request.message, scope=scope)),
            window=window,
            sensory=self._settled_slots(request, now),
            is_anticipated=answer.is_anticipated,
        )

    # --- steps five and six: capture, clean up --------------------------------------------------------------

    def finish(
        self,
        begun: Begun,
        said: Sequence[Said],
        noted: Sequence[tuple[str, SlotSource]],
        *,
        outcome: TaskOutcome = TaskOutcome.DONE,
    ) -> None:
        """Keep what a turn brought back, all of it or nothing, and let what follows from it happen."""
        request = begun.request
        stored: list[Turn] = []
        reply = "\n\n".join(one.text for one in said if one.role is Role.ASSISTANT)
        experience = self._experience(begun, reply, noted)

        def changed(state: AttentionState) -> AttentionState:
            now = self._now()
            attending, _ = self._attend(state, begun.message, now)
            return settle_turn(attending, experience, self._measure(), self._parts.policy.attention, now=now)

        def write(tx: Transaction) -> None:
            if tx.turns.get(begun.id, scope=request.scope) is None:
                raise _MessageGone
            stored.extend(self._observe(request, one.text, one.role, one.speaker) for one in said)
            tx.audit.add(self._event(request, begun.id, Ended.DONE, shift=begun.shift))

        try:
            state = self._memories.change(request.scope, changed, write)
        except _MessageGone:  # erased meanwhile: nothing of this turn may be left either
            self.close(begun, Ended.ABANDONED)
            return
        except BaseException as exc:
            self.close(begun, Ended.FAILED, error=type(exc).__name__)
            raise
        self._close(begun)
        for turn in stored:
            self._parts.turn_reader.turn_stored(turn)
        if request.kind is not TurnKind.CHAT:
            self._keep_result(request, reply, outcome)
        limit = begun.recall.query.limit
        ahead = Expected(text=request.message, momentum=state.momentum, limit=limit)
        self._ahead.look_ahead(request.scope, ahead)
        self._parts.scheduler.schedule("turn")

    def fail(self, begun: Begun, error: BaseException) -> None:
        """End a turn that raised; of a task that leaves how it ended, so that a later try can be compared."""
        name = type(error).__name__
        self.close(begun, Ended.FAILED, error=name)
        if begun.request.kind is not TurnKind.CHAT:
            is_cancelled = name == "CancelledError" or isinstance(error, KeyboardInterrupt | GeneratorExit)
            outcome = TaskOutcome.CANCELLED if is_cancelled else TaskOutcome.FAILED
            self._keep_result(begun.request, f"{name}: {error}".rstrip(": "), outcome)

    def close(self, begun: Begun, ended: Ended, *, error: str | None = None) -> None:
        """End a turn that brought nothing back: the state is unchanged, and the audit says how it ended."""
        self._close(begun)
        self._record(begun.request, begun.id, ended, error=error)

    def lost(self, begun: Begun) -> None:
        """Note that no one holds a turn any more; called by the garbage collector, so it only notes."""
        self._lost.append(begun)

    def bury(self) -> None:
        """Close the turns that no one holds any more."""
        while self._lost:
            begun = self._lost.popleft()
            if begun.id in self._open:
                self.close(begun, Ended.ABANDONED)

    def close_all(self) -> None:
        """Close every turn that is still open, because the engine closes."""
        self.bury()
        for begun in list(self._open.values()):
            self.close(begun, Ended.ABANDONED)

    def _said_before(self, request: TurnRequest, turn: Turn) -> Sequence[Turn | Mapping[str, str]]:
        """Return the talk so far: as given, or as the session has it, without the message itself."""
        if request.history is not None or request.session is None:
            return request.history or ()
        said = self._parts.contexts.stored_talk(request.scope, request.session)
        return [one for one in said if one.id != turn.id]

    def _note_given(self, request: TurnRequest, held: Sequence[WorkingItem]) -> None:
        """Note that the agent was given these memories, so that its echo of one is not taken for news."""
        self._parts.access_log.note(
            [item.memory.id for item in held if item.memory is not None],
            fitting=frozenset(),
            scope=request.scope,
            session=request.session,
        )

    def _keep_result(self, request: TurnRequest, result: str, outcome: TaskOutcome) -> None:
        """Remember how a task ended; what admission refuses is noted, for the turn itself is stored."""
        draft = task_result(
            request.message,
            result,
            outcome=outcome,
            session=request.session,
            scope=request.scope,
            occurred_at=self._now(),
        )
        try:
            self._parts.writer.admit([draft])
        except StatementForgotten:
            return  # it works as it should: the person asked to forget this
        except EngramError as exc:
            self._parts.health.failed(TURNS, exc)

    # --- the pieces -----------------------------------------------------------------------------------------

    def _experience(
        self, begun: Begun, reply: str, noted: Sequence[tuple[str, SlotSource]]
    ) -> TurnExperience:
        """Return the slots that a turn adds: the best answers, what was said before, what was noted."""
        _policy, now = self._parts.policy.attention, self._now()
        fitting = [hit for hit in begun.recall.hits if hit.trust.relevance >= RECALL_RELEVANCE]
        recalled = [
            memory_slot(hit.memory, SlotSource.RECALL, activation=hit.trust.relevance, now=now)
            for hit in fitting
            if may_enter_working_memory(hit.memory, now)
        ]
        notes = [text_slot(text, source, activation=1.0, now=now) for text, source in noted]
        return TurnExperience(
            message=begun.message,
            found=(*begun.sensory, *recalled[:RECALL_SLOTS], *notes),
            used=slots_used_by(reply, begun.working.items),
            reply=self._vector(reply[:REPLY_CHARACTERS]),
        )

    def _settled_slots(self, request: TurnRequest, now: datetime) -> tuple[Slot, ...]:
        """Return the latest message that has stood long enough, if it told something."""
        policy = self._parts.policy.attention
        ring = self._parts.capture.sensory.settled(request.scope, now=now)
        told = [turn for turn in ring if turn.role is Role.USER and turn.session == request.session]
        return tuple(turn_slot(turn, now=now) for turn in told[-1:] if not is_vague(turn.content, policy))

    def _attend(
        self, state: AttentionState, message: AttendedMessage, now: datetime
    ) -> tuple[AttentionState, TopicShift]:
        return attend_to(state, message, self._measure(), self._parts.policy.attention, now=now)

    def _observe(self, request: TurnRequest, content: str, role: Role, speaker: str | None) -> Turn:
        return observe(
            content,
            role=role,
            speaker=speaker,
            session=request.session,
            occurred_at=None,
            scope=request.scope,
            store=self._parts.store,
            policy=self._parts.policy.capture,
            actor=self._parts.actor,
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
            actor=self._parts.actor,
            scope=request.scope,
            target=turn_id,
            detail={name: value for name, value in told.items() if value is not None},
        )

    def _close(self, begun: Begun) -> None:
        self._open.pop(begun.id, None)
        self._memories.end(begun.request.scope)

    def _now(self) -> datetime:
        return self._parts.clock.now()


def working_memory(
    scope: Scope, held: Sequence[WorkingItem], state: AttentionState, restored: Restored
) -> WorkingMemory:
    """Return working memory as a value to look at."""
    return WorkingMemory(
        scope=scope,
        items=tuple(held),
        restored=restored,
        confidence=state.momentum.confidence,
        topics=len(state.topics),
    )
