"""Build the parts of an engine from settings."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from engramdb.capture.extract import Extractor, HeuristicExtractor
from engramdb.capture.extract_chat import ModelExtractor
from engramdb.capture.pipeline import Capture, SensoryBuffer
from engramdb.engine.built import built
from engramdb.engine.clock import Clock
from engramdb.engine.doctor import Backfill, rebuild_terms
from engramdb.engine.status import CHAT, AnswerLog, Health, Ledger, WatchedEmbedder
from engramdb.errors import (
    ChatError,
    EmbeddingError,
    MissingExtra,
    StorageError,
    StoreNotFound,
    StoreUnreadable,
)
from engramdb.index.foreign import ForeignBackend, ProposesRows
from engramdb.index.graph import GraphIndex
from engramdb.index.lexical import LexicalIndex
from engramdb.index.spaces import VectorSpaces
from engramdb.lifecycle.admission import WritePipeline
from engramdb.models.calibration import Likeness
from engramdb.models.chat import CallLog, ChatModel
from engramdb.models.e5 import NAME
from engramdb.models.embedder import AbsentEmbedder, Embedder
from engramdb.models.prompts.contradiction import find_contradiction
from engramdb.models.registry import Endpoint, open_chat, open_embedder
from engramdb.models.static import StatementEmbedder, StaticEmbedder
from engramdb.policy import Policy
from engramdb.recall.fuse import Reranker
from engramdb.recall.gather import Sources
from engramdb.settings import Settings
from engramdb.store.contract import Store
from engramdb.store.opening import open_store
from engramdb.text.terms import TERMS_VERSION
from engramdb.values import Action, AuditEvent

# A chat model as a judge of contradictions.


class ChatJudge:
    """Asks the model which of several statements a new one contradicts."""

    def __init__(self, chat: ChatModel, calls: CallLog, health: Health) -> None:
        self._chat = chat
        self._calls = calls
        self._health = health

    def contradicted(self, statement: str, known: Sequence[str]) -> int | None:
        """Return the place of the contradicted statement, or None."""
        try:
            with self._health.watch(CHAT):
                return find_contradiction(self._chat, statement, known, log=self._calls)
        except ChatError:
            return None


# What a chat model serves as: it reads statements out of turns, and judges contradictions.


def wired(settings: Settings, calls: CallLog, health: Health) -> tuple[ChatModel, ChatJudge, Extractor]:
    """Return the model, the judge and the reader that it serves as."""
    chat = open_chat(
        settings.chat,
        url=settings.chat_url,
        key=settings.chat_key,
        timeout_seconds=settings.chat_timeout_seconds,
    )
    reader = ModelExtractor(chat, HeuristicExtractor(), lambda error: health.failed(CHAT, error), log=calls)
    return chat, ChatJudge(chat, calls, health), reader


# Build the parts of an engine from settings.
#
# Called once by `Engram.open`; the only place that decides which store, embedder and indexes there are. The
# store is opened at once; a part of another room is built, and that room loaded, when a verb first asks for
# it.
# What can be wrong with the settings is found out at once all the same.


class Own(Struct, frozen=True, kw_only=True):
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
        return VectorSpaces(
            self.embedder,
            memory_bytes=self.settings.vector_memory_megabytes * 1_000_000,
            older=_older_embedders(self.settings) if self._own.embedder is None else (),
            foreign=self.foreign,
            kept=lambda tx: tx.snapshots,
        )

    @built
    def graph(self) -> GraphIndex:
        """The links between memories."""
        return GraphIndex()

    @built
    def backfill(self) -> Backfill:
        """What embeds in the background."""
        return Backfill(self.store, self.embedder, clock=self.clock)

    @built
    def sources(self) -> Sources:
        """What a recall asks."""
        return Sources(
            store=self.store,
            embedder=self.embedder,
            lexical=LexicalIndex(),
            vector=self.spaces,
            graph=self.graph,
            policy=self.policy.recall,
            reranker=self._own.reranker,
        )

    @built
    def answers(self) -> AnswerLog:
        """How good the latest answers were."""
        return AnswerLog(lambda: self.policy.recall)

    @built
    def pipeline(self) -> WritePipeline:
        """What every memory goes through."""
        return WritePipeline(
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
        return Capture(pipeline=self.pipeline, extractor=self._talker[2], sensory=SensoryBuffer())

    @built
    def chat(self) -> ChatModel | None:
        """The chat model, where there is one."""
        return self._talker[0]

    @built
    def _talker(self) -> tuple[ChatModel | None, ChatJudge | None, Extractor]:
        """The chat model with what it serves as; without one, the heuristic reads alone."""
        if not self.settings.chat:
            return None, None, HeuristicExtractor()
        return wired(self.settings, self.calls, self.health)


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
            rebuild_terms(store)
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

    return ForeignBackend(given, audit=audit, clock=clock)


def _older_embedders(settings: Settings) -> list[Embedder]:
    """Return the embedders that memories may have been embedded with before; opening one reads nothing."""
    found: list[Embedder] = []
    with suppress(EmbeddingError, MissingExtra):
        found.append(open_embedder(NAME, settings.home))
    return [*found, StaticEmbedder()]


def _likeness() -> Likeness:
    """Return what compares statements without regard to how the store is embedded."""
    embedder = StatementEmbedder(StaticEmbedder())
    return Likeness(embedder)


def _chosen_embedder(settings: Settings) -> Embedder:
    """Return the embedder, or one that says why there is none: a store opens without it."""
    endpoint = Endpoint(
        url=settings.embedder_url,
        api_key=settings.embedder_key or None,
        timeout_seconds=settings.embedder_timeout_seconds,
    )
    try:
        return open_embedder(
            settings.embedder, settings.home, endpoint=endpoint if settings.embedder_url else None
        )
    except (EmbeddingError, MissingExtra) as exc:
        return AbsentEmbedder(exc)
