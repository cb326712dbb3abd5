"""
One turn of an agent as a `with` block: what it is given on the way in, what it brings back on the way out.

Whatever happens inside, the turn is closed once: well, with what was replied; failed, when the block raised;
abandoned, when nothing was replied or no one came back. `async with` does the same from a worker thread, as
docs/decisions/0004-sync-core.md has it.
"""

from __future__ import annotations

import threading
import weakref
from types import TracebackType
from typing import Self

from engramdb.context.agent_state import WorkingMemories
from engramdb.context.turns import (
    Begun,
    Ended,
    Expected,
    Said,
    TurnLifecycle,
    TurnParts,
    TurnRequest,
    anticipate,
    working_memory,
)
from engramdb.context.working_memory import read_items
from engramdb.errors import InvalidQuery
from engramdb.values import (
    Missing,
    Recall,
    Role,
    Scope,
    SlotSource,
    TaskOutcome,
    TopicShift,
    Window,
    WorkingMemory,
)
from engramdb.values.query import parse_enum
from engramdb.worker import Worker

MAX_BYTES = 256 * 1024
"""Bytes stored of one reply or one tool's output; the beginning says what it was."""
NO_OUTPUT = "(no output)"
ANTICIPATION = "anticipation in the background"
"""The name of this part in `status`; it is at work without anybody waiting for it."""
MAX_ANTICIPATIONS = 16
"""Agents whose next recall waits to be prepared; the oldest is dropped."""
SWEEP_SECONDS = 60.0


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
        self._outcome = TaskOutcome.DONE
        self._cut: list[Missing] = []
        self._finalizer: weakref.finalize[[Begun], AgentTurn] | None = None

    # --- what the agent is given ----------------------------------------------------------------------------

    @property
    def window(self) -> Window:
        """What to give the model, in sections that fit it."""
        return self._require_begun().window

    @property
    def recall(self) -> Recall:
        """What was recalled for the message."""
        return self._require_begun().recall

    @property
    def working_memory(self) -> WorkingMemory:
        """The working memory of the agent as it meets the message."""
        return self._require_begun().working

    @property
    def shift(self) -> TopicShift:
        """What the message does to the topic."""
        return self._require_begun().shift

    @property
    def missing(self) -> tuple[Missing, ...]:
        """What the window lacked, and what was too long to be stored whole, each with its reason."""
        return (*self._require_begun().window.missing, *self._cut)

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
        Add what the model said; it is stored when the turn ends well. A blank one is no reply.

        Of a very long one the beginning is stored, and `missing` says so.
        """
        self._require_open()
        if kept := self._storable("reply", text):
            self._said.append(Said(Role.ASSISTANT, kept, self._request.agent))

    def tool(self, name: str, result: str) -> None:
        """Add what a tool answered; it is stored when the turn ends well."""
        self._require_open()
        self._said.append(Said(Role.TOOL, self._storable("tool", result) or NO_OUTPUT, name))

    def note(self, text: str, *, source: SlotSource = SlotSource.EXPLICIT) -> None:
        """Hold something in working memory beyond this turn; by default until it gives way."""
        self._require_open()
        if not text.strip():
            raise InvalidQuery("a note must say something")
        self._noted.append((self._storable("note", text), SlotSource(source)))

    def conclude(self, outcome: TaskOutcome) -> None:
        """Say how the task of this turn ended, where it is not done: partial, failed or cancelled."""
        self._require_open()
        self._outcome = parse_enum(TaskOutcome, outcome)

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
        begun = self._require_open()
        self._is_over = True
        if self._finalizer is not None:
            self._finalizer.detach()
        has_reply = any(said.role is Role.ASSISTANT for said in self._said)
        if error is not None:
            self._lifecycle.fail(begun, error)
        elif not has_reply:
            self._lifecycle.close(begun, Ended.ABANDONED)
        else:
            self._lifecycle.finish(begun, self._said, self._noted, outcome=self._outcome)

    async def __aenter__(self) -> Self:
        import asyncio  # noqa: PLC0415 - most callers never need it, and it is slow to load

        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio  # noqa: PLC0415 - as above

        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def _storable(self, what: str, text: str) -> str:
        """Return a text as it can be stored: what a model or a tool put out must not cost the turn."""
        if not isinstance(text, str):
            raise InvalidQuery(f"what a turn brings back must be text, not {type(text).__name__}")
        whole = text.encode("utf-8", "replace")
        if len(whole) > MAX_BYTES:
            reason = f"only the first {MAX_BYTES:,} of its {len(whole):,} bytes are kept"
            self._cut.append(Missing(index=what, reason=reason))
        return whole[:MAX_BYTES].decode("utf-8", "ignore").strip()

    def _require_begun(self) -> Begun:
        """Return what the turn was given, which can be looked at afterwards as well."""
        if self._begun is None:
            raise InvalidQuery("the turn is not open", hint="Use it inside `with engram.turn(…) as turn:`.")
        return self._begun

    def _require_open(self) -> Begun:
        """Return the same while there is still something to bring back."""
        if self._is_over:
            raise InvalidQuery("the turn is over", hint="Ask for another with `engram.turn`.")
        return self._require_begun()


class Agents:
    """The working memories of this process, the turns that are open, and what is prepared for the next."""

    def __init__(self, parts: TurnParts, worker: Worker | None) -> None:
        self._parts = parts
        self._worker = worker
        self._memories = WorkingMemories(
            parts.store,
            parts.embedder,
            policy=parts.policy.attention,
            clock=parts.clock,
            health=parts.health,
        )
        self._lifecycle = TurnLifecycle(parts, self._memories, self)

    def turn(self, request: TurnRequest) -> AgentTurn:
        """Return a turn that has not begun yet."""
        return AgentTurn(self._lifecycle, request)

    def working_memory(self, scope: Scope) -> WorkingMemory:
        """Return the working memory of an agent, restored if need be."""
        self._lifecycle.bury()
        state, restored = self._memories.look(scope)
        with self._parts.store.read() as tx:
            now, known = self._parts.clock.now(), self._parts.forgotten
            held = read_items(tx, state.slots, scope=scope, now=now, known=known)
        return working_memory(scope, held, state, restored)

    def suspend(self, scope: Scope) -> WorkingMemory:
        """Save the working memory of an agent, drop it here, and return what was saved."""
        held = self.working_memory(scope)
        self._memories.put_away(scope)
        return held

    def look_ahead(self, scope: Scope, expected: Expected) -> None:
        """Prepare in the background what an agent will ask for next, and put silent ones away."""
        if self._worker is None:
            return
        self._worker.every(SWEEP_SECONDS, "idle working memories", self._memories.sweep)
        if self._parts.policy.attention.anticipates:
            self._worker.submit(
                ANTICIPATION,
                lambda: self._prepare(scope, expected),
                key=scope,
                retry=False,
                max_waiting=MAX_ANTICIPATIONS,
            )

    def clear(self) -> None:
        """Hold no words of any memory: the store has them."""
        self._memories.let_go()

    def close(self) -> None:
        """Close the turns that are open, and put every working memory away."""
        self._lifecycle.close_all()
        if self._worker is not None:
            self._worker.close()
        self._memories.close()

    def _prepare(self, scope: Scope, expected: Expected) -> None:
        with self._parts.health.watch(ANTICIPATION):
            self._memories.prepare(scope, anticipate(self._parts, scope, expected))
