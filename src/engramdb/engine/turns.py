"""One turn of an agent: recall, build, run, capture, clean up."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec import Struct
from msgspec.structs import replace

from engramdb.capture.pipeline import observe
from engramdb.context.attention import AnticipatedAnswer, Measures, Momentum, blend, centre, fits, is_vague
from engramdb.context.working_memory import (
    AttendedMessage,
    AttentionState,
    Experience,
    attend,
    items,
    lines,
    may_enter,
    of_memory,
    of_turn,
    of_words,
    settle,
    used_by,
)
from engramdb.engine.assemble import Parts
from engramdb.engine.workers import READING_PATIENCE_SECONDS, Listener
from engramdb.errors import EmbeddingError, EngramError, InvalidQuery
from engramdb.models.calibration import IDENTITY
from engramdb.recall.pipeline import recall, with_missing
from engramdb.store.contract import Transaction
from engramdb.values import (
    Action,
    Actor,
    AuditEvent,
    Hit,
    Missing,
    Query,
    Recall,
    Restored,
    Role,
    Scope,
    Slot,
    SlotSource,
    Status,
    TopicShift,
    Turn,
    Window,
    WorkingItem,
    WorkingLine,
    WorkingMemory,
)
from engramdb.values.query import MAX_QUERY_CHARACTERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engramdb.engine.minds import Attending

RECALL_SLOTS = 3
"""So many of the best answers of a turn enter working memory,"""
RECALL_RELEVANCE = 0.35
"""where they fit at least this well."""


# What a turn is made of: who asked for it, what it was given, what came of it.
#
# Passed between `Engram.turn`, the `with` block and the steps in `lifecycle`; frozen, without behaviour of
# their own.


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
    """What was said a while ago, to be kept in mind."""
    is_anticipated: bool = False
    """Whether the recall had been prepared."""


class Expected(Struct, frozen=True, kw_only=True, eq=False):
    """What the next recall is prepared from."""

    text: str
    momentum: Momentum
    limit: int
    """How many memories the last window asked for, and the next may."""


# The recall of one turn: what was prepared where that fits, else asked for, leaning on where the talk is
# going.
#
# Made by `lifecycle` for each turn and handed to whoever builds the window, who knows how many memories
# fit. What is in working memory word for word is not given a second time as recalled. What was prepared is
# looked at again: a memory that was forgotten meanwhile is not given.


class TurnRecall:
    """Answers for one turn, when it is asked for how much."""

    def __init__(
        self,
        parts: Parts,
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
        """Return so many memories for the message, without those that are told as working memory anyway."""
        with self._parts.health.watch("recall"):
            found = self._from_prepared(limit)
            self.is_anticipated = found is not None
            found = found or self._asked(limit)
        if not self._is_read:
            found = with_missing(found, "turns", "some are still being read")
        self.answer = found
        self._parts.answers.add(found)
        fresh = tuple(hit for hit in found.hits if hit.memory.content not in self._in_mind)
        return replace(found, hits=fresh)

    def _asked(self, limit: int) -> Recall:
        vector = self._message.vector
        if vector is not None:
            policy = self._parts.policy.attention
            vector = blend(vector, self._momentum, self._message.text, policy)
        query = _query(self._message.text, self._scope, limit)
        return recall(query, self._parts.sources, now=self._now, vector=vector)

    def _from_prepared(self, limit: int) -> Recall | None:
        """Return what was prepared if it is for this question and holds enough, as it is known now."""
        prepared, vector, _policy = self._prepared, self._message.vector, self._parts.policy.attention
        if prepared is None or vector is None or not _is_enough(prepared.answer, limit):
            return None
        if not fits(prepared, vector, self._parts.embedder.calibration, now=self._now):
            return None
        hits = tuple(self._standing(prepared))[:limit]
        return replace(prepared.answer, query=_query(self._message.text, self._scope, limit), hits=hits)

    def _standing(self, prepared: AnticipatedAnswer) -> Iterator[Hit]:
        with self._parts.store.read() as tx:
            for hit in prepared.answer.hits:
                memory = tx.memories.get(hit.memory.id, scope=self._scope)
                if memory is not None and memory.status is Status.ACTIVE:
                    yield replace(hit, memory=memory)


def anticipate(parts: Parts, scope: Scope, expected: Expected) -> AnticipatedAnswer | None:
    """Return an answer to what will be asked next if the talk goes on as it does, if it goes anywhere."""
    if expected.momentum.is_empty:
        return None
    now, vector = parts.clock.now(), centre(expected.momentum)
    query = _query(expected.text, scope, expected.limit)
    answer = recall(query, parts.sources, now=now, vector=vector)
    return AnticipatedAnswer(expected=expected.momentum, answer=answer, made_at=now)


def _is_enough(answer: Recall, limit: int) -> bool:
    """Say whether an answer holds as many memories as are asked for, or all that there are."""
    return limit <= answer.query.limit or len(answer.hits) < answer.query.limit


def _query(text: str, scope: Scope, limit: int) -> Query:
    """Return the question; of a message that is too long its end is asked."""
    return Query(text=text.strip()[-MAX_QUERY_CHARACTERS:], scope=scope, limit=limit)


# The six steps of a turn, the same for every caller: resolve, recall, build, let run, capture, clean up.
#
# Held by `Turns`, driven by `AgentTurn`. The message is stored before anything else can fail. Everything
# the turn brings back, the replies, the audit row and the agent's mind, is one write at the end: a turn
# that fails or is never ended leaves the mind as it was, and nothing half-written. Seed 002 §17.5.1.

TURNS = "turns"
"""What health calls this part."""
REPLY_CHARACTERS = 1000
"""Of a reply so much is embedded: where the talk is going is said at its beginning."""


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a turn needs of the engine around it."""

    room: Callable[[TurnRequest], int]
    """How many tokens of the model's window working memory may take."""
    count: Callable[[TurnRequest], Callable[[str], int]]
    """Counts those tokens, as the window will be counted."""
    window: Callable[[TurnRequest, Turn, Sequence[WorkingLine], Callable[[int], Recall]], Window]
    """Builds the prompt for a message that was just stored."""
    given: Callable[[TurnRequest, Sequence[WorkingItem]], None]
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
        message = AttendedMessage(text=request.message, vector=self._vector(request.message))
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

        def changed(mind: AttentionState) -> AttentionState:
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
        _policy, now = self._parts.policy.attention, self._now()
        fitting = [hit for hit in begun.recall.hits if hit.trust.relevance >= RECALL_RELEVANCE]
        recalled = [
            of_memory(hit.memory, SlotSource.RECALL, activation=hit.trust.relevance, now=now)
            for hit in fitting
            if may_enter(hit.memory, now)
        ]
        notes = [of_words(text, source, activation=1.0, now=now) for text, source in noted]
        return Experience(
            message=begun.message,
            found=(*begun.sensory, *recalled[:RECALL_SLOTS], *notes),
            used=used_by(reply, begun.working.items),
            reply=self._vector(reply[:REPLY_CHARACTERS]),
        )

    def _settled(self, request: TurnRequest, now: datetime) -> tuple[Slot, ...]:
        """Return the latest message that has stood long enough, if it told something."""
        policy = self._parts.policy.attention
        ring = self._parts.capture.sensory.settled(request.scope, now=now)
        told = [turn for turn in ring if turn.role is Role.USER and turn.session == request.session]
        return tuple(of_turn(turn, now=now) for turn in told[-1:] if not is_vague(turn.content, policy))

    def _attend(
        self, mind: AttentionState, message: AttendedMessage, now: datetime
    ) -> tuple[AttentionState, TopicShift]:
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
            policy=self._parts.pipeline.policy,
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


def working_memory(
    scope: Scope, held: Sequence[WorkingItem], mind: AttentionState, restored: Restored
) -> WorkingMemory:
    """Return what is in mind as a value to look at."""
    return WorkingMemory(
        scope=scope,
        items=tuple(held),
        restored=restored,
        confidence=mind.momentum.confidence,
        topics=len(mind.topics),
    )


# One turn of an agent as a `with` block: what it is given on the way in, what it brings back on the way
# out.
#
# Made by `Engram.turn`; the steps themselves are in `lifecycle`. Whatever happens inside, the turn is
# closed once: well, with what was replied; failed, when the block raised; abandoned, when nothing was
# replied or nobody came back. `async with` does the same from a worker thread, as
# docs/decisions/0004-sync-core.md has it.

MOST_BYTES = 256 * 1024
"""Of one reply or one tool's output that are kept; the beginning says what it was."""
NO_OUTPUT = "(no output)"


class AgentTurn:
    """A turn under way; `window` is what to give the model, `reply` takes what it said."""

    def __init__(self, lifecycle: TurnLifecycle, request: TurnRequest) -> None:
        self._lifecycle = lifecycle
        self._request = request
        self._begun: Begun | None = None
        self._entering = threading.Lock()
        self._is_over = False
        self._said: list[Said] = []
        self._noted: list[tuple[str, SlotSource]] = []
        self._cut: list[Missing] = []
        self._finalizer: weakref.finalize[[Begun], AgentTurn] | None = None

    # --- what the agent is given ----------------------------------------------------------------------------

    @property
    def window(self) -> Window:
        """What to give the model, in sections that fit it."""
        return self._given().window

    @property
    def recall(self) -> Recall:
        """What was recalled for the message."""
        return self._given().recall

    @property
    def working_memory(self) -> WorkingMemory:
        """What the agent has in mind as it meets the message."""
        return self._given().working

    @property
    def shift(self) -> TopicShift:
        """What the message does to the topic."""
        return self._given().shift

    @property
    def missing(self) -> tuple[Missing, ...]:
        """What the window had to do without, and what was too long to be kept whole, each with its reason."""
        return (*self._given().window.missing, *self._cut)

    @property
    def scope(self) -> Scope:
        """Where everything of this turn belongs."""
        return self._request.scope

    @property
    def session(self) -> str | None:
        """The session that it is part of."""
        return self._request.session

    # --- what the agent brings back -------------------------------------------------------------------------

    def reply(self, text: str) -> None:
        """
        Take in what the model said; it is kept when the turn ends well. A blank one is no reply.

        Of a very long one the beginning is kept, and `missing` says so.
        """
        self._open()
        if kept := self._keepable("reply", text):
            self._said.append(Said(Role.ASSISTANT, kept, self._request.agent))

    def tool(self, name: str, result: str) -> None:
        """Take in what a tool answered; it is kept when the turn ends well."""
        self._open()
        self._said.append(Said(Role.TOOL, self._keepable("tool", result) or NO_OUTPUT, name))

    def note(self, text: str, *, source: SlotSource = SlotSource.EXPLICIT) -> None:
        """Hold something in mind beyond this turn; by default as long as it takes, and until it gives way."""
        self._open()
        if not text.strip():
            raise InvalidQuery("a note must say something")
        self._noted.append((self._keepable("note", text), SlotSource(source)))

    # --- in and out -----------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        with self._entering:  # of two threads with one turn, the second is told so
            if self._begun is not None or self._is_over:
                raise InvalidQuery("a turn is entered once", hint="Ask for another with `engram.turn`.")
            self._begun = self._lifecycle.begin(self._request)
        self._finalizer = weakref.finalize(self, self._lifecycle.lost, self._begun)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        begun = self._open()
        self._is_over = True
        if self._finalizer is not None:
            self._finalizer.detach()
        has_reply = any(said.role is Role.ASSISTANT for said in self._said)
        if error is not None:
            self._lifecycle.close(begun, Ended.FAILED, error=type(error).__name__)
        elif not has_reply:
            self._lifecycle.close(begun, Ended.ABANDONED)
        else:
            self._lifecycle.finish(begun, self._said, self._noted)

    async def __aenter__(self) -> Self:
        import asyncio  # noqa: PLC0415 - most callers never need it, and it is slow to load

        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio  # noqa: PLC0415 - as above

        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def _keepable(self, what: str, text: str) -> str:
        """Return a text as it can be kept: what a model or a tool put out must not cost the turn."""
        if not isinstance(text, str):
            raise InvalidQuery(f"what a turn brings back must be text, not {type(text).__name__}")
        whole = text.encode("utf-8", "replace")
        if len(whole) > MOST_BYTES:
            reason = f"only the first {MOST_BYTES:,} of its {len(whole):,} bytes are kept"
            self._cut.append(Missing(index=what, reason=reason))
        return whole[:MOST_BYTES].decode("utf-8", "ignore").strip()

    def _given(self) -> Begun:
        """Return what the turn was given, which can be looked at afterwards as well."""
        if self._begun is None:
            raise InvalidQuery("the turn is not open", hint="Use it inside `with engram.turn(…) as turn:`.")
        return self._begun

    def _open(self) -> Begun:
        """Return the same while there is still something to bring back."""
        if self._is_over:
            raise InvalidQuery("the turn is over", hint="Ask for another with `engram.turn`.")
        return self._given()
