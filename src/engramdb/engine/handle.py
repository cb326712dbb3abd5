"""What every verb stands on: parts, scope, actor."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from engramdb import erasable_cache
from engramdb.capture.agents import session_summary
from engramdb.engine.assemble import Parts
from engramdb.engine.built import is_built
from engramdb.engine.status import Health
from engramdb.engine.workers import Listener
from engramdb.errors import EngramError, InvalidScope, MemoryNotFound, StorageError
from engramdb.lifecycle.admission import admit
from engramdb.lifecycle.change import renew
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.echo import ECHO_HOURS
from engramdb.policy import Policy
from engramdb.store import contract
from engramdb.store.contract import Store
from engramdb.text.normalize import fingerprint, is_text
from engramdb.values import Actor, ActorKind, Memory, MemoryId, Scope
from engramdb.values.query import MAX_LIMIT

# Remember what readers were given: to count it as a recall, and to tell an agent's echo of it from news.
#
# Noted by the engine at every recall, in memory, and written a moment later, with the next write, or when the
# engine closes: a question must not wait for the disk. A killed process loses the notes of its last moment.
# What cannot be written is let go, and `status` says so.

READ_NOTES = "read notes"
"""What health calls these notes."""
WRITE_AFTER_SECONDS = 1.0
"""How long notes wait for others to be written with them."""
MOST_WAITING = 10_000
"""With more, they are written at once."""


class ReadNotes:
    """What was given to whom and is not written yet."""

    def __init__(self, store: Store, health: Health, *, policy: Callable[[], Policy]) -> None:
        self._store = store
        self._health = health
        self._policy = policy
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._handed_out: dict[tuple[Scope, str, MemoryId], datetime] = {}
        self._recalls: defaultdict[MemoryId, list[tuple[datetime, str]]] = defaultdict(list)
        self._waiting = 0
        self._timer: threading.Timer | None = None

    def note(
        self,
        memory_ids: Sequence[MemoryId],
        *,
        fitting: Set[MemoryId],
        scope: Scope,
        session: str | None,
        at: datetime,
        in_background: bool,
    ) -> None:
        """Note that a reader was given these memories; those that fit the question count as recalled."""
        with self._lock:
            for one in memory_ids:
                self._handed_out[scope, session or "", one] = at
                if one in fitting:
                    self._recalls[one].append((at, session or ""))
            self._waiting += len(memory_ids)
            is_full = self._waiting >= MOST_WAITING
            if in_background and self._waiting and self._timer is None:
                self._timer = threading.Timer(WRITE_AFTER_SECONDS, self.write, [at])
                self._timer.daemon = True
                self._timer.start()
        if is_full:
            self.write(at)

    def write(self, now: datetime) -> None:
        """Write what was noted and drop what is too old to matter; also waits for whoever does so already."""
        with self._writing:
            self._write(now)

    def close(self, now: datetime) -> None:
        """Write what is left, and start no more timers."""
        with self._lock:
            timer = self._timer
        if timer is not None:
            timer.cancel()
            timer.join()
        self.write(now)

    def _write(self, now: datetime) -> None:
        with self._lock:
            handed_out, self._handed_out = self._handed_out, {}
            recalls, self._recalls = self._recalls, defaultdict(list)
            self._waiting, self._timer = 0, None
        if not handed_out:
            return
        aging, keep = self._policy().aging, timedelta(hours=ECHO_HOURS)
        recalled = [
            contract.RecallCount(
                memory_id,
                tuple(at for at, _ in notes),
                frozenset(session for _, session in notes if session),
            )
            for memory_id, notes in recalls.items()
        ]
        try:
            with self._health.watch(READ_NOTES), self._store.atomic() as tx:
                tx.ages.count_recalls(
                    recalled,
                    stability_per_recall=aging.stability_per_recall,
                    stability_most=aging.stability_most,
                )
                for (scope, session, memory_id), at in handed_out.items():
                    tx.handed_out.add([memory_id], scope=scope, session=session, at=at)
                tx.handed_out.prune(now - keep)
        except StorageError:  # noted in health; an answer is worth more than the count of it
            return


# What every verb stands on: the opened parts, the scope and actor they are used for, the threads beside.
#
# The ground of `Engram` and its groups of verbs; opens nothing itself. Safe to share between threads.

BULK_ROWS = 256
"""Drafts per write of `remember_many`: large enough to be fast, small enough for others to get their turn."""
READER = Actor(name="reader", kind=ActorKind.RULE)
_ENDING = 8


class Handle:
    """An opened store, seen from one scope by one actor."""

    def __init__(self, parts: Parts, *, scope: Scope, actor: Actor) -> None:
        self._parts = parts
        self._scope = scope
        self._actor = actor
        self._loader: threading.Thread | None = None
        self._listener = Listener(lambda: parts.capture, clock=parts.clock, health=parts.health, actor=READER)
        self._listener.on_patrol = parts.ledger.keep
        self._reads = ReadNotes(parts.store, parts.health, policy=lambda: parts.policy)

    @property
    def scope(self) -> Scope:
        """Where it reads and writes unless a call names another scope."""
        return self._scope

    def close(self) -> None:
        """Finish what is under way and let go of the store."""
        self._parts.stop.set()
        self._listener.close()
        self._reads.close(self._now())
        if is_built(self._parts, "backfill"):
            self._parts.backfill.close()
        if self._loader is not None:
            self._loader.join()
        elif is_built(self._parts, "spaces"):
            self._keep_index()
        if is_built(self._parts, "foreign") and self._parts.foreign is not None:
            self._parts.foreign.close()
        self._parts.ledger.keep()
        self._parts.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        """Load the vector index and embed what waits, in the background."""
        self._loader = threading.Thread(target=self._load, name="engram-loader", daemon=True)
        self._loader.start()

    def _load(self) -> None:
        parts = self._parts
        try:
            parts.spaces.load(parts.store, stop=parts.stop)
            if parts.policy.recall.uses_graph:
                parts.graph.load(parts.store, stop=parts.stop)
            with parts.store.read() as tx:
                space = tx.vectors.space(parts.embedder.identity)
                is_waiting = bool(tx.vectors.pending(space, limit=1) or tx.memories.count_unenriched())
        except EngramError:  # noted in health where it is the embedder's; the next call shows the store's own
            is_waiting = True
        if is_waiting and not parts.stop.is_set():
            parts.backfill.wake()

    def _keep_index(self) -> None:
        """Keep what a process without a loader has read of a large index: the next command starts there."""
        with contextlib.suppress(EngramError), self._parts.health.watch("index snapshot"):
            if self._parts.spaces.state() is not None:
                self._parts.spaces.keep(self._parts.store)

    def _admit(
        self, drafts: Sequence[Draft], progress: Callable[[int], None] | None = None
    ) -> Sequence[Memory]:
        self._reads.write(self._now())
        with self._parts.health.watch("write"):
            admissions = admit(
                drafts,
                self._parts.pipeline,
                actor=self._actor,
                now=self._now(),
                enrich=len(drafts) < BULK_ROWS,
            )
        if len(drafts) >= BULK_ROWS or not all(admission.is_embedded for admission in admissions):
            self._embed_later()
        if progress is not None:
            progress(len(drafts))
        return [admission.memory for admission in admissions]

    def _embed_later(self) -> None:
        """Embed what waits, unless this memory was opened without background work."""
        if self._loader is not None:
            self._parts.backfill.wake()

    def _let_go(self) -> None:
        """Let go of the words that this process holds, because some of them were erased."""
        erasable_cache.clear_caches()
        if is_built(self._parts, "capture"):
            self._parts.capture.sensory.clear()

    def _summarise(self, session: str, place: Scope) -> Memory | None:
        """
        Store a summary of a session; a short or trivial one gives none.

        One that was resumed and ends again has one summary all the same: the new takes the old one's place.
        """
        with self._parts.store.read() as tx:
            turns = tx.turns.list(scope=place, session=session, limit=MAX_LIMIT)
            stated = tx.memories.of_session(session, scope=place)
            before = tx.memories.summary_of(session, scope=place)
        drafts = session_summary(turns, stated, session=session, scope=place, occurred_at=self._now())
        if before is None or not drafts:
            return self._admit(drafts)[0] if drafts else None
        return before if drafts[0].content == before.content else self._renew(before, drafts[0])

    def _renew(self, before: Memory, draft: Draft) -> Memory:
        """Store a summary in the place of the one before."""
        with self._parts.health.watch("write"):
            renewed = renew(
                before,
                draft,
                self._parts.pipeline,
                reason="the session went on",
                actor=self._actor,
                now=self._now(),
            )
        if not renewed.is_embedded:
            self._embed_later()
        return renewed.memory

    def _resolve(self, memory_id: MemoryId, scope: Scope | None) -> MemoryId:
        """Return the whole id for one that may be given by its last eight characters, or by the words."""
        place = self._in(scope)
        if not isinstance(memory_id, str):
            raise MemoryNotFound(f"an id is text, not {type(memory_id).__name__}")
        if not is_text(memory_id):
            raise MemoryNotFound("the id holds half a surrogate pair")
        with self._parts.store.read() as tx:
            if len(memory_id) == _ENDING:
                found = tx.memories.ids_ending_with(memory_id.lower(), scope=place)
            else:
                twin = tx.memories.active_twin(fingerprint(memory_id), scope=place)
                found = [memory_id if twin is None else twin.id]
        if len(found) > 1:
            raise MemoryNotFound(f"{len(found)} memories end in {memory_id!r}", hint="Give the whole id.")
        return found[0] if found else memory_id

    def _in(self, scope: Scope | None) -> Scope:
        place = self._scope if scope is None else scope
        if not isinstance(place, Scope):  # a name or a dict would fail far from here, or match nothing
            raise InvalidScope(
                f"a scope is a Scope, not {type(place).__name__}", hint='Give one, such as Scope(user="ann").'
            )
        return place

    def _now(self) -> datetime:
        return self._parts.clock.now()
