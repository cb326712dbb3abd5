"""
When turns are read: at once for a strong signal, in batches otherwise, in the background where there is one.

A turn is in the store before this hears of it. What is left is read by a process with a background, once its
conversation has gone quiet, or by the next process that opens the store with one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from engramdb.capture.answering import answer_in_turn
from engramdb.capture.extract import SentenceExtractor
from engramdb.capture.pipeline import Capture, read_turns
from engramdb.capture.signals import SmartBuffer, is_urgent, scan, sets_rule
from engramdb.clock import Clock
from engramdb.errors import ReadingUnfinished
from engramdb.health import Health
from engramdb.lifecycle.answers import AnswerRequest
from engramdb.lifecycle.person_rules import take_back
from engramdb.text.normalize import counted
from engramdb.text.withdrawals import Withdrawal, withdrawals
from engramdb.values import Actor, ActorKind, Provenance, Role, Scope, Turn
from engramdb.worker import Worker

READING = "reading"
"""The name of this part in `status`."""
READING_PATIENCE_SECONDS = 0.25
"""How long a question waits for turns that are being read, to see what was just said."""
FLUSH_SECONDS = 120.0
"""How long `flush` takes at most, but for a batch under way; half of it for the background's reading."""
QUIET = timedelta(seconds=20)
"""After so long without another turn, what waits is read; a chat model, which costs, goes by the policy."""
MAX_OVERDUE = 100
"""Conversations that are read after one look."""
READER = Actor(name="reader", kind=ActorKind.RULE)
"""Who writes what was read out of turns."""

Conversation: TypeAlias = tuple[Scope, str | None]


class CountsReadings(Protocol):
    """Is told when turns were read: enough of them make a dream due."""

    def extracted(self) -> None: ...


class FollowsSessions(Protocol):
    """Is told in which conversation turns were read: enough of them are summed up."""

    def turns_read(self, conversation: Conversation) -> None: ...


class ReadingParts(Protocol):
    """What reading needs of the engine; each part is built when it is first asked for."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def capture(self) -> Capture: ...
    @property
    def scheduler(self) -> CountsReadings: ...
    @property
    def summarizer(self) -> FollowsSessions: ...


class TurnReader:
    """Decides when turns are read, and has them read: by the worker, or without one by the caller."""

    def __init__(self, parts: ReadingParts, worker: Worker | None) -> None:
        self._parts = parts
        self._worker = worker
        self._making = threading.Lock()
        self._waiting: SmartBuffer | None = None
        self.heard_at: datetime | None = None
        """When a turn last came in."""

    def turn_stored(self, turn: Turn) -> None:
        """Take in a turn that has just been stored."""
        self.heard_at = self._parts.clock.now()
        self._parts.capture.sensory.add(turn)
        conversation = (turn.scope, turn.session)
        if turn.role is Role.USER and (found := withdrawals(turn.content)):
            self._withdraw(turn, found)
        if turn.role is Role.USER and turn.session is not None:
            self._later(lambda: self._answer(turn), key=(conversation, turn.id))
        is_now = is_urgent(scan(turn.content)) or (turn.role is Role.USER and sets_rule(turn.content))
        trigger = self._buffer().add(turn, is_urgent=is_now)
        if self._worker is not None:
            if trigger is not None:
                self._worker.submit(READING, lambda: self.read(conversation), key=conversation)
        elif trigger is not None or self._is_overfull(conversation):
            self.read(conversation)

    def _withdraw(self, turn: Turn, found: Sequence[Withdrawal]) -> None:
        """Invalidate the rules that a person takes back in a turn, those just said included."""
        self.read((turn.scope, turn.session))
        with self._parts.capture.pipeline.store.atomic() as tx:
            take_back(tx, turn, found, actor=READER, now=self._parts.clock.now())

    def _answer(self, turn: Turn) -> None:
        """Apply what a message plainly answers of what was asked in its session."""
        said = Provenance(
            speaker=turn.speaker, relayed_by=turn.relayed_by, session=turn.session, turns=(turn.id,)
        )
        request = AnswerRequest(
            pipeline=self._parts.capture.pipeline,
            scope=turn.scope,
            actor=READER,
            now=self._parts.clock.now(),
            provenance=said,
            closed_by=ActorKind.PERSON if turn.relayed_by is None else ActorKind.AGENT,
        )
        with self._parts.health.watch(READING):
            answer_in_turn(turn, request, read=lambda: self.read((turn.scope, turn.session)))

    def _later(self, work: Callable[[], object], *, key: Hashable) -> None:
        """Have something done by the worker, or at once where there is none."""
        if self._worker is not None:
            self._worker.submit(READING, work, key=key)
        else:
            work()

    def flush(self, conversation: Conversation | None = None, *, owner: Scope | None = None) -> int:
        """
        Read all that waits, of a conversation, a scope or all, and return how many turns there were.

        Raises `ReadingUnfinished` where that takes too long: what is left is in the store, and is read later.
        """
        until = time.monotonic() + FLUSH_SECONDS
        self.wait(FLUSH_SECONDS / 2)
        total = self.read(conversation, owner=owner, until=until)
        if time.monotonic() >= until:
            with self._parts.capture.pipeline.store.read() as tx:
                left, _ = tx.turns.pending(conversation, owner=owner)
            if left:
                told = counted(left, "turn is", "turns are")
                raise ReadingUnfinished(f"{told} still unread after {FLUSH_SECONDS:g} seconds")
        return total

    def wait(self, seconds: float = READING_PATIENCE_SECONDS) -> bool:
        """Give readings under way a moment; return False if they are not done by then."""
        return self._worker is None or self._worker.wait(seconds)

    def read(
        self, conversation: Conversation | None, *, owner: Scope | None = None, until: float = math.inf
    ) -> int:
        """Read now what waits, and return how many turns there were; begins no batch after `until`."""
        total, conversations = 0, dict[Conversation, None]()
        with self._parts.health.watch(READING):
            while time.monotonic() < until:
                reading = read_turns(
                    self._parts.capture,
                    actor=READER,
                    now=self._parts.clock.now(),
                    within=conversation,
                    owner=owner,
                )
                if not reading.turns:
                    break
                total += reading.turns
                if reading.conversation is not None:
                    conversations[reading.conversation] = None
        if total:
            self._parts.scheduler.extracted()
        for one in conversations:
            self._parts.summarizer.turns_read(one)
        return total

    def read_overdue(self) -> None:
        """Read the conversations that have gone quiet, or whose turns have waited too long for others."""
        now, capture = self._parts.clock.now(), self._parts.capture
        longest = timedelta(minutes=capture.pipeline.policy.buffer_minutes)
        quiet = min(QUIET, longest) if isinstance(capture.extractor, SentenceExtractor) else longest
        self._buffer().drop_overdue(now)
        with capture.pipeline.store.read() as tx:
            found = tx.turns.overdue(
                now=now, quiet_since=now - quiet, oldest=now - longest, limit=MAX_OVERDUE
            )
        for conversation in found:
            self.read(conversation)

    def clear(self) -> None:
        """Hold no words: what was just said is in the store."""
        if self.heard_at is not None:
            self._parts.capture.sensory.clear()

    def _buffer(self) -> SmartBuffer:
        with self._making:
            if self._waiting is None:
                self._waiting = SmartBuffer(self._parts.capture.pipeline.policy)
            return self._waiting

    def _is_overfull(self, conversation: Conversation) -> bool:
        """Return whether more waits than this process has counted: every shell command is a new process."""
        capture = self._parts.capture
        with capture.pipeline.store.read() as tx:
            count, oldest = tx.turns.pending(conversation)
        policy = capture.pipeline.policy
        age_limit = timedelta(minutes=policy.buffer_minutes)
        is_old = oldest is not None and self._parts.clock.now() - oldest > age_limit
        return count >= policy.buffer_turns or is_old
