"""Engram: the object that users hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from os import PathLike

from msgspec.structs import replace

from engramdb.capture.pipeline import observe
from engramdb.documents.store import DocumentEvents, DocumentStore
from engramdb.engine.asking import Insights, Questions, Reasoning
from engramdb.engine.assemble import Own, Parts, assemble
from engramdb.engine.background import Background
from engramdb.engine.built import built
from engramdb.engine.clock import Clock, SystemClock
from engramdb.engine.dreaming import Dreams
from engramdb.engine.handle import BULK_ROWS
from engramdb.engine.hearing import AgentDoors, Hearing, Turns
from engramdb.engine.idempotency import Served
from engramdb.engine.life import Life, Links
from engramdb.engine.moving import Imports, Notebooks
from engramdb.engine.upkeep import Upkeep
from engramdb.errors import EngramError
from engramdb.index.foreign import ProposesRows
from engramdb.lifecycle.change import correct
from engramdb.lifecycle.drafts import Draft, chosen
from engramdb.models.embedder import Embedder
from engramdb.recall.fuse import Reranker
from engramdb.settings import Settings
from engramdb.values import (
    GLOBAL,
    Actor,
    Kind,
    Layer,
    Memory,
    MemoryId,
    MemoryType,
    Provenance,
    Scope,
    Source,
    Turn,
)


class Engram(
    Background,
    Turns,
    Dreams,
    Hearing,
    Imports,
    Insights,
    Life,
    Links,
    Notebooks,
    Questions,
    Reasoning,
    Served,
    Upkeep,
):
    """A long-term memory: give it statements and turns, ask it questions."""

    def __init__(self, parts: Parts, *, scope: Scope, actor: Actor) -> None:
        super().__init__(parts, scope=scope, actor=actor)
        self._after_turn = lambda _: self.schedule("turn")
        self._listener.on_patrol = self._patrol

    @built
    def capture(self) -> AgentDoors:
        """Doors for what agents produce besides talk: compactions, task results, findings, tool runs."""
        return AgentDoors(self._parts, self._admit, scope=self._scope, actor=self._actor)

    @built
    def shelf(self) -> DocumentStore:
        """Documents that other programs keep word for word, and recall among what was remembered of them."""
        return DocumentStore(
            self._parts,
            DocumentEvents(
                before_write=lambda: self._reads.write(self._now()),
                heard=self._listener.heard,
                given=self._note_hits,
                embed_later=self._embed_later,
                wait=self._listener.wait,
            ),
            scope=self._scope,
            actor=self._actor,
        )

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
        reranker: Reranker | None = None,
        vector_index: ProposesRows | None = None,
        must_exist: bool = False,
        background: bool = True,
        dream: bool | None = None,
    ) -> Engram:
        """
        Open a memory, made if need be; without arguments, the one in your home folder.

        Settings come from the environment and the settings file unless given. `background=False` starts no
        threads: the vector index is then read anew by every process that asks a large store. A `reranker`
        serves the strategy `cross_encoder`. A `vector_index` of your own is shown row numbers and eight-bit
        vectors only, asked so often a minute, audited, and answered for by the built-in one when it fails.
        With `dream`, or the setting `dream_in_background`, the store dreams and ages by itself.
        """
        settings = settings or Settings.load()
        if store is not None:
            settings = replace(settings, store=str(store))
        parts = assemble(
            settings,
            clock=clock or SystemClock(),
            own=Own(embedder=embedder, reranker=reranker, vector_index=vector_index),
            must_exist=must_exist,
        )
        engram = cls(parts, scope=scope, actor=actor)
        if background:
            engram._start()
            engram._listener.start()
            if settings.dream_in_background if dream is None else dream:
                engram._scheduler.start()
        return engram

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
        self._reads.write(self._now())
        turn = observe(
            content,
            role=role,
            speaker=speaker,
            session=session,
            occurred_at=occurred_at,
            scope=self._in(scope),
            store=self._parts.store,
            policy=self._parts.policy.capture,
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
        return self._summarise(session, place)

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
    ) -> list[Memory]:
        """
        Store many statements, a few hundred per write, and return them in their order.

        What is inferred from their words (affect, traits, entities) follows in the background; `status` shows
        how many wait, and `enrich` does it now. Repetitions in other words are not looked for in the store.

        A draft that is not valid raises. What was written before it stays stored, and the error's hint says
        how many drafts that was.
        """
        stored: list[Memory] = []
        try:
            stored.extend(self.remember_stream(drafts, progress=progress))
        except EngramError as exc:
            if stored:
                exc.hint = f"{exc.hint} The first {len(stored)} drafts are stored.".lstrip()
            raise
        return stored

    def remember_stream(
        self, drafts: Iterable[Draft], *, progress: Callable[[int], None] | None = None
    ) -> Iterator[Memory]:
        """
        Store many statements as `remember_many` does, but yield each as it is durable.

        Lazy, for more than fits into memory: drafts are read, and stored, only as the result is iterated.
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
        self,
        memory_id: MemoryId,
        content: str,
        *,
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """
        Put a new statement in the place of an old one; the old stays in the history.

        The old one is named by its id, by the last eight characters of it, or by its own words. With
        `if_still`, here and in every verb that changes one memory, nothing happens and `MemoryChanged` is
        raised where it is no longer as that look at it showed, whichever process has changed it.
        """
        target = self._resolve(memory_id, scope)
        corrected = correct(
            target,
            content,
            self._parts.pipeline,
            scope=self._in(scope),
            reason=reason,
            actor=self._actor,
            now=self._now(),
            if_still=if_still,
        )
        if not corrected.is_embedded:
            self._embed_later()
        return corrected.memory

    def _patrol(self) -> None:
        """Keep what was counted, and take expired documents away, while nothing else is done."""
        self._parts.ledger.keep()
        self.shelf.patrol()
