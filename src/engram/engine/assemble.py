"""
Build the parts of an engine from settings.

Called once by `Engram.open`; the only place that decides which store, embedder and indexes there are. The
store is opened at once; a part of another room is built, and that room loaded, when a verb first asks for it.
What can be wrong with the settings is found out at once all the same.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engram import attention, capture, engine, index, providers, recall
from engram.engine.built import built
from engram.engine.health import Health, WatchedEmbedder
from engram.engine.ledger import Ledger
from engram.errors import EmbeddingError, MissingExtra, StorageError, StoreNotFound, StoreUnreadable
from engram.providers.usage import CallLog
from engram.store import open_store
from engram.text.terms import TERMS_VERSION
from engram.values import Action, AuditEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.capture.admit import Gate
    from engram.capture.extract.extracted import Extractor
    from engram.capture.pipeline import Capture
    from engram.engine.answers import AnswerLog
    from engram.engine.clock import Clock
    from engram.engine.derived import Backfill
    from engram.engine.judging import ChatJudge
    from engram.index.foreign import ForeignBackend, ProposesRows
    from engram.index.graph import GraphIndex
    from engram.index.spaces import VectorSpaces
    from engram.policy import Policy
    from engram.providers.chat import ChatModel
    from engram.providers.embedder import Embedder
    from engram.providers.likeness import Likeness
    from engram.recall.gather import Sources
    from engram.recall.rerank import Reranker
    from engram.settings import Settings
    from engram.store.contract import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What a caller brings along in place of, or beside, the built-in parts."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    vector_index: ProposesRows | None = None


class Parts:
    """Everything that an `Engram` holds; what is `built` is so when it is first asked for."""

    store: Store

    def __init__(self, settings: Settings, *, clock: Clock, own: Own) -> None:
        self.settings = settings
        self.clock = clock
        self.health = Health(clock)
        self.calls = CallLog()
        self.stop = threading.Event()
        self._own = own

    @built
    def policy(self) -> Policy:
        """The numbers of the lifecycle."""
        return self.settings.chosen_policy()

    @built
    def embedder(self) -> WatchedEmbedder:
        """What turns text into vectors."""
        return WatchedEmbedder(self._own.embedder or _chosen_embedder(self.settings), self.health)

    @built
    def ledger(self) -> Ledger:
        """The store's own account of its parts."""
        return Ledger(self.store, self.health, self.calls)

    @built
    def foreign(self) -> ForeignBackend | None:
        """A caller's own index, behind its fence."""
        return _fenced(self._own.vector_index, self.store, self.clock)

    @built
    def spaces(self) -> VectorSpaces:
        """The vectors of every embedder that was ever used."""
        return index.spaces.VectorSpaces(
            self.embedder,
            memory_bytes=self.settings.vector_memory_megabytes * 1_000_000,
            older=_older_embedders(self.settings) if self._own.embedder is None else (),
            foreign=self.foreign,
            kept=lambda tx: tx.snapshots,
        )

    @built
    def graph(self) -> GraphIndex:
        """The links between memories."""
        return index.graph.GraphIndex()

    @built
    def backfill(self) -> Backfill:
        """What embeds in the background."""
        return engine.derived.Backfill(self.store, self.embedder, clock=self.clock)

    @built
    def sources(self) -> Sources:
        """What a recall asks."""
        return recall.gather.Sources(
            store=self.store,
            embedder=self.embedder,
            lexical=index.lexical.LexicalIndex(),
            vector=self.spaces,
            graph=self.graph,
            policy=self.policy.recall,
            reranker=self._own.reranker,
        )

    @built
    def answers(self) -> AnswerLog:
        """How good the latest answers were."""
        return engine.answers.AnswerLog(lambda: self.policy.recall)

    @built
    def gate(self) -> Gate:
        """What every memory goes through."""
        return capture.admit.Gate(
            store=self.store,
            embedder=self.embedder,
            index=self.spaces,
            likeness=_likeness(),
            policy=self.policy.capture,
            judge=self._talker[1],
        )

    @built
    def capture(self) -> Capture:
        """What reads turns."""
        return capture.pipeline.Capture(
            gate=self.gate, extractor=self._talker[2], sensory=attention.sensory.SensoryBuffer()
        )

    @built
    def chat(self) -> ChatModel | None:
        """The chat model, where there is one."""
        return self._talker[0]

    @built
    def _talker(self) -> tuple[ChatModel | None, ChatJudge | None, Extractor]:
        """The chat model with what it serves as; without one, the heuristic reads alone."""
        if not self.settings.chat:
            return None, None, capture.extract.heuristic.HeuristicExtractor()
        return engine.chat_wiring.wired(self.settings, self.calls, self.health)


def assemble(settings: Settings, *, clock: Clock, own: Own, must_exist: bool) -> Parts:
    """Open the store, and make ready what the rooms around it will be built from."""
    parts = Parts(settings, clock=clock, own=own)
    if ":" in settings.embedder and own.embedder is None:
        parts.embedder  # noqa: B018 - its server's address may be missing, which is to be told at once
    if settings.chat:
        parts.chat  # noqa: B018 - it may be unknown
    parts.store = _open(settings, clock, must_exist=must_exist)
    return parts


def _open(settings: Settings, clock: Clock, *, must_exist: bool) -> Store:
    path = Path(settings.store_location).expanduser()
    try:
        if must_exist and not path.exists():
            raise StoreNotFound(f"there is no store at {path}")
        if not settings.store:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise StoreUnreadable(f"{path}: {exc.strerror}") from exc
    store = open_store(settings, now=clock.now())
    try:
        with store.read() as tx:
            is_current = tx.terms.version == TERMS_VERSION
            has_traits = tx.traits.is_current
        if not is_current:
            engine.derived.rebuild_terms(store)
        if not has_traits:
            with store.atomic() as tx:
                tx.traits.rebuild()
    except BaseException:
        store.close()
        raise
    return store


def _fenced(given: ProposesRows | None, store: Store, clock: Clock) -> ForeignBackend | None:
    """Return a user's own index behind its fence; what it is given is audited, from its own thread."""
    if given is None:
        return None

    def audit(action: str, counts: Mapping[str, int]) -> None:
        event = AuditEvent(at=clock.now(), action=Action.FOREIGN_INDEX, detail={"what": action, **counts})
        with suppress(StorageError), store.atomic() as tx:  # a closed or full store must not end the index
            tx.audit.add(event)

    return index.foreign.ForeignBackend(given, audit=audit, clock=clock)


def _older_embedders(settings: Settings) -> list[Embedder]:
    """Return the embedders that memories may have been embedded with before; opening one reads nothing."""
    found: list[Embedder] = []
    with suppress(EmbeddingError, MissingExtra):
        found.append(providers.models.open_embedder(providers.e5.NAME, settings.home))
    return [*found, providers.static.StaticEmbedder()]


def _likeness() -> Likeness:
    """Return what compares statements without regard to how the store is embedded."""
    embedder = providers.static.StatementEmbedder(providers.static.StaticEmbedder())
    return providers.likeness.Likeness(embedder)


def _chosen_embedder(settings: Settings) -> Embedder:
    """Return the embedder, or one that says why there is none: a store opens without it."""
    endpoint = providers.models.Endpoint(
        url=settings.embedder_url,
        api_key=settings.embedder_key or None,
        timeout_seconds=settings.embedder_timeout_seconds,
    )
    try:
        return providers.models.open_embedder(
            settings.embedder, settings.home, endpoint=endpoint if settings.embedder_url else None
        )
    except (EmbeddingError, MissingExtra) as exc:
        return engine.absent.AbsentEmbedder(exc)
