"""
What every verb stands on: the opened parts, the scope and actor they are used for, the threads beside.

The ground of `Engram` and its groups of verbs; opens nothing itself. Safe to share between threads.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Self

from engram import capture, kept
from engram.engine.built import is_built
from engram.engine.listening import Listener
from engram.engine.reads import ReadNotes
from engram.errors import EngramError, InvalidScope, MemoryNotFound
from engram.text.normal import fingerprint, is_text
from engram.values import Actor, ActorKind, Scope
from engram.values.query import MAX_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from types import TracebackType

    from engram.capture.draft import Draft
    from engram.engine.assemble import Parts
    from engram.values import Memory, MemoryId

BULK_ROWS = 256
"""Drafts per write of `remember_many`: large enough to be fast, small enough for others to get their turn."""
READER = Actor("reader", ActorKind.RULE)
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
            admissions = capture.admit.admit(
                drafts,
                self._parts.gate,
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
        kept.let_go()
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
        drafts = capture.bridges.session_summary(
            turns, stated, session=session, scope=place, occurred_at=self._now()
        )
        if before is None or not drafts:
            return self._admit(drafts)[0] if drafts else None
        return before if drafts[0].content == before.content else self._renew(before, drafts[0])

    def _renew(self, before: Memory, draft: Draft) -> Memory:
        """Store a summary in the place of the one before."""
        with self._parts.health.watch("write"):
            renewed = capture.change.renew(
                before,
                draft,
                self._parts.gate,
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
