"""
Engram: the object that users hold. Each verb is a few lines that call one room.

Built by `Engram.open`; safe to share between threads. Reads and writes happen inside a scope, the handle's
own unless a call names another, and every write is made in the name of the handle's actor.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from engram.capture import bridges
from engram.capture.admit import admit
from engram.capture.change import correct, find, set_pinned, set_status
from engram.capture.draft import Draft, chosen
from engram.capture.enrich import enrich_pending
from engram.capture.observe import observe
from engram.engine.assemble import Parts, assemble
from engram.engine.clock import SystemClock
from engram.engine.derived import embed_pending, rebuild
from engram.engine.doctor import examine
from engram.engine.doors import AgentDoors
from engram.engine.handed import HandedOutNotes
from engram.engine.health import EMBEDDER
from engram.engine.listening import Listener
from engram.engine.overview import overview
from engram.errors import EngramError, InvalidQuery, MemoryNotFound
from engram.recall.pipeline import recall, with_missing
from engram.settings import Settings
from engram.text.normal import fingerprint, is_text
from engram.values import (
    GLOBAL,
    Action,
    Actor,
    ActorKind,
    Filters,
    Kind,
    Layer,
    MemoryType,
    Provenance,
    Query,
    Scope,
    Source,
    Status,
)
from engram.values.query import MAX_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from os import PathLike
    from types import TracebackType

    from engram.engine.clock import Clock
    from engram.providers.embedder import Embedder
    from engram.values import DoctorReport, HistoryEvent, Memory, MemoryId, Recall, StatusReport, Turn

BULK_ROWS = 256
"""Drafts per write of `remember_many`: large enough to be fast, small enough for others to get their turn."""
READING_PATIENCE_SECONDS = 0.25
"""How long a question waits for turns that are being read, so that it sees what was just said."""
READER = Actor("reader", ActorKind.RULE)
_ENDING = 8


class Engram:
    """A long-term memory: give it statements and turns, ask it questions."""

    def __init__(self, parts: Parts, *, scope: Scope, actor: Actor) -> None:
        self._parts = parts
        self._scope = scope
        self._actor = actor
        self._loader: threading.Thread | None = None
        self._listener = Listener(parts.capture, clock=parts.clock, health=parts.health, actor=READER)
        self.capture = AgentDoors(parts, self._admit, scope=scope, actor=actor)
        """Doors for what agents produce besides talk: compactions, task results, findings, tool runs."""
        self._handed = HandedOutNotes(parts.store, parts.health, keep_hours=parts.gate.policy.echo_hours)

    @classmethod
    def open(
        cls,
        store: str | PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
        scope: Scope = GLOBAL,
        actor: Actor = Actor(),
        embedder: Embedder | None = None,
        must_exist: bool = False,
        background: bool = True,
    ) -> Engram:
        """
        Open a memory, made if need be; without arguments, the one in your home folder.

        Settings come from the environment and the settings file unless given. `background=False` starts no
        threads: the vector index is then not kept between questions of a large store.
        """
        settings = settings or Settings.load()
        if store is not None:
            settings = replace(settings, store=str(store))
        parts = assemble(settings, clock=clock or SystemClock(), embedder=embedder, must_exist=must_exist)
        engram = cls(parts, scope=scope, actor=actor)
        if background:
            engram._start()
            engram._listener.start()
        return engram

    def close(self) -> None:
        """Finish what is under way and let go of the store."""
        self._parts.stop.set()
        self._listener.close()
        self._handed.write(self._now())
        self._parts.backfill.close()
        if self._loader is not None:
            self._loader.join()
        self._parts.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- words in -------------------------------------------------------------------------------------------

    def observe(
        self,
        content: str,
        *,
        role: str = "user",
        speaker: str | None = None,
        session: str | None = None,
        occurred_at: datetime | None = None,
        scope: Scope | None = None,
    ) -> Turn:
        """
        Keep one message as it was said; it is durable when this returns.

        What it states is read out of it soon after: at once for a correction, a decision, a promise and the
        like, otherwise together with the turns around it. `flush` reads what still waits.
        """
        self._handed.write(self._now())
        turn = observe(
            content,
            role=role,
            speaker=speaker,
            session=session,
            occurred_at=occurred_at,
            scope=self._in(scope),
            store=self._parts.store,
            policy=self._parts.gate.policy,
            actor=self._actor,
            now=self._now(),
        )
        self._listener.heard(turn)
        return turn

    def flush(self, *, session: str | None = None, scope: Scope | None = None) -> int:
        """Read now what still waits, of one session if that is given, and return how many turns that were."""
        return self._listener.flush(None if session is None else (self._in(scope), session))

    def end_session(self, session: str, *, scope: Scope | None = None) -> Memory | None:
        """Read what still waits of a session and store a summary of it; a short or trivial one gives none."""
        place = self._in(scope)
        self.flush(session=session, scope=place)
        with self._parts.store.read() as tx:
            turns = tx.turns.list(scope=place, session=session, limit=MAX_LIMIT)
            stated = tx.memories.of_session(session, scope=place)
        drafts = bridges.session_summary(turns, stated, session=session, scope=place, occurred_at=self._now())
        return self._admit(drafts)[0] if drafts else None

    def remember(
        self,
        content: str,
        *,
        category: str = "general",
        importance: float | None = None,
        confidence: float | None = None,
        layer: Layer = Layer.EPISODIC,
        type: MemoryType = MemoryType.FACT,  # noqa: A002 - the word users know
        kind: Kind = Kind.NOTE,
        source: Source = Source.HUMAN,
        speaker: str | None = None,
        session: str | None = None,
        occurred_at: datetime | None = None,
        forget_after: datetime | None = None,
        pinned: bool = False,
        scope: Scope | None = None,
    ) -> Memory:
        """
        Store one statement and return it; one that is already known becomes stronger instead.

        It is durable and can be recalled, by every process that has the store open, when this returns.
        """
        draft = Draft(
            content=content,
            scope=self._in(scope),
            category=category,
            importance=importance,
            confidence=confidence,
            layer=chosen(Layer, layer),
            type=chosen(MemoryType, type),
            kind=chosen(Kind, kind),
            provenance=Provenance(source=chosen(Source, source), speaker=speaker, session=session),
            occurred_at=occurred_at,
            forget_after=forget_after,
            pinned=pinned,
        )
        return self._admit([draft])[0]

    def remember_many(
        self, drafts: Iterable[Draft], *, progress: Callable[[int], None] | None = None
    ) -> Iterator[Memory]:
        """
        Store many statements, some hundreds to a write, and yield each as it is durable.

        What is inferred from their words (affect, traits, entities) follows in the background; `status` shows
        how many wait, and `enrich` does it now. Repetitions in other words are not looked for in the store.

        Lazy: nothing is stored that is not asked for. A draft that is not valid raises, and what was
        yielded before it stays stored.
        """
        waiting: list[Draft] = []
        for draft in drafts:
            waiting.append(draft)
            if len(waiting) == BULK_ROWS:
                yield from self._admit(waiting, progress)
                waiting = []
        if waiting:
            yield from self._admit(waiting, progress)

    def correct(
        self, memory_id: MemoryId, content: str, *, reason: str = "", scope: Scope | None = None
    ) -> Memory:
        """
        Put a new statement in the place of an old one; the old stays in the history.

        The old one is named by its id, by the last eight characters of it, or by its own words.
        """
        target = self._resolve(memory_id, scope)
        corrected = correct(
            target,
            content,
            self._parts.gate,
            scope=self._in(scope),
            reason=reason,
            actor=self._actor,
            now=self._now(),
        )
        if self._parts.health.is_failing(EMBEDDER):
            self._embed_later()
        return corrected

    # --- words out ------------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        filters: Filters | None = None,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Recall:
        """Return the memories that fit the question, best first, with reasons, and how good the answer is."""
        asked = Query(text=query, scope=self._in(scope), filters=filters or Filters(), limit=limit)
        is_read = self._listener.wait(READING_PATIENCE_SECONDS)
        with self._parts.health.watch("recall"):
            answer = recall(asked, self._parts.sources, now=self._now())
        given = [hit.memory.id for hit in answer.hits]
        self._handed.note(given, scope=asked.scope, session=session, at=self._now())
        return answer if is_read else with_missing(answer, "turns", "some are still being read")

    def get(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Memory:
        """Return one memory by its id or the last eight characters of it."""
        target = self._resolve(memory_id, scope)
        with self._parts.store.read() as tx:
            return find(tx, target, self._in(scope))

    def list(
        self,
        *,
        limit: int = 50,
        before: MemoryId | None = None,
        filters: Filters | None = None,
        scope: Scope | None = None,
    ) -> Sequence[Memory]:
        """Return memories, newest first; `before` a memory's id gives the page after it."""
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidQuery(f"limit={limit} is outside 1 to {MAX_LIMIT}")
        start = None if before is None else self._resolve(before, scope)
        with self._parts.store.read() as tx:
            if start is not None:
                find(tx, start, self._in(scope))
            return tx.memories.list(
                scope=self._in(scope), filters=filters or Filters(), limit=limit, before=start
            )

    def turns(
        self, *, session: str | None = None, limit: int = 50, scope: Scope | None = None
    ) -> Sequence[Turn]:
        """Return the latest turns, oldest of them first."""
        with self._parts.store.read() as tx:
            return tx.turns.list(scope=self._in(scope), session=session, limit=limit)

    def history(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Sequence[HistoryEvent]:
        """Return everything that happened to a memory, oldest first."""
        target = self._resolve(memory_id, scope)
        with self._parts.store.read() as tx:
            find(tx, target, self._in(scope))
            return tx.history.of(target)

    # --- a memory's life ------------------------------------------------------------------------------------

    def forget(self, memory_id: MemoryId, *, reason: str = "", scope: Scope | None = None) -> Memory:
        """Take a memory out of every index now; only a person can bring it back."""
        return self._move(memory_id, Status.FORGOTTEN, Action.FORGET, reason, scope)

    def set_status(
        self, memory_id: MemoryId, status: Status, *, reason: str = "", scope: Scope | None = None
    ) -> Memory:
        """Move a memory to another status; bringing one back needs a reason."""
        moved = self._move(memory_id, chosen(Status, status), Action.SET_STATUS, reason, scope)
        if moved.status.is_indexed:
            self._embed_later()
        return moved

    def pin(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Memory:
        """Make a memory immune to every automatic loss."""
        return self._pin(memory_id, scope, pinned=True)

    def unpin(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Memory:
        """Let a memory age again."""
        return self._pin(memory_id, scope, pinned=False)

    # --- the whole ------------------------------------------------------------------------------------------

    def status(self) -> StatusReport:
        """Return a look at the whole: counts, sizes, what waits, what fails."""
        return overview(self._parts)

    def doctor(self, *, fix: bool = False, progress: Callable[[int], None] | None = None) -> DoctorReport:
        """Examine the store and its parts; with `fix`, rebuild what is derived and wrong."""
        return examine(self._parts.store, self._parts.embedder, fix=fix, progress=progress)

    def embed_pending(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Embed now what waits for it, and return how many memories that were."""
        return embed_pending(self._parts.store, self._parts.embedder, progress=progress)

    def enrich(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Infer now what waits to be inferred from statements that came in bulk, and return how many."""
        return enrich_pending(self._parts.store, now=self._now(), progress=progress)

    def rebuild(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Make every derived index anew from the memories, and return how many there were."""
        return rebuild(self._parts.store, self._parts.embedder, progress=progress)

    # --- inside ---------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Load the vector index and embed what waits, in the background."""
        self._loader = threading.Thread(target=self._load, name="engram-loader", daemon=True)
        self._loader.start()

    def _load(self) -> None:
        parts = self._parts
        try:
            parts.spaces.load(parts.store, stop=parts.stop)
            with parts.store.read() as tx:
                space = tx.vectors.space(parts.embedder.identity)
                is_waiting = bool(tx.vectors.pending(space, limit=1) or tx.memories.count_unenriched())
        except EngramError:  # noted in health where it is the embedder's; the next call shows the store's own
            is_waiting = True
        if is_waiting and not parts.stop.is_set():
            parts.backfill.wake()

    def _admit(
        self, drafts: Sequence[Draft], progress: Callable[[int], None] | None = None
    ) -> Sequence[Memory]:
        self._handed.write(self._now())
        with self._parts.health.watch("write"):
            admissions = admit(
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

    def _move(
        self, memory_id: MemoryId, status: Status, action: Action, reason: str, scope: Scope | None
    ) -> Memory:
        return set_status(
            self._resolve(memory_id, scope),
            status,
            store=self._parts.store,
            scope=self._in(scope),
            reason=reason,
            action=action,
            actor=self._actor,
            now=self._now(),
        )

    def _pin(self, memory_id: MemoryId, scope: Scope | None, *, pinned: bool) -> Memory:
        return set_pinned(
            self._resolve(memory_id, scope),
            pinned=pinned,
            store=self._parts.store,
            scope=self._in(scope),
            actor=self._actor,
            now=self._now(),
        )

    def _resolve(self, memory_id: MemoryId, scope: Scope | None) -> MemoryId:
        """Return the whole id for one that may be given by its last eight characters, or by the words."""
        place = self._in(scope)
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
        return self._scope if scope is None else scope

    def _now(self) -> datetime:
        return self._parts.clock.now()
