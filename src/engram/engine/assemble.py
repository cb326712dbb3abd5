"""
Build the parts of an engine from settings.

Called once by `Engram.open`; the only place that decides which store, embedder and indexes there are.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engram.attention.sensory import SensoryBuffer
from engram.capture.admit import Gate
from engram.capture.extract.heuristic import HeuristicExtractor
from engram.capture.pipeline import Capture
from engram.engine.absent import AbsentEmbedder
from engram.engine.answers import AnswerLog
from engram.engine.derived import Backfill, rebuild_terms
from engram.engine.health import Health, WatchedEmbedder
from engram.engine.ledger import Ledger
from engram.errors import EmbeddingError, MissingExtra, StorageError, StoreNotFound, StoreUnreadable
from engram.index.foreign import ForeignBackend
from engram.index.graph import GraphIndex
from engram.index.lexical import LexicalIndex
from engram.index.spaces import VectorSpaces
from engram.providers import e5
from engram.providers.chat import CallLog
from engram.providers.likeness import Likeness
from engram.providers.models import Endpoint, open_embedder
from engram.providers.static import StatementEmbedder, StaticEmbedder
from engram.recall.gather import Sources
from engram.store import open_store
from engram.text.terms import TERMS_VERSION
from engram.values import Action, AuditEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.capture.extract.extracted import Extractor
    from engram.engine.clock import Clock
    from engram.engine.judging import ChatJudge
    from engram.index.foreign import ProposesRows
    from engram.policy import Policy
    from engram.providers.chat import ChatModel
    from engram.providers.embedder import Embedder
    from engram.recall.rerank import Reranker
    from engram.settings import Settings
    from engram.store.contract import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that an `Engram` holds."""

    settings: Settings
    policy: Policy
    clock: Clock
    store: Store
    embedder: WatchedEmbedder
    health: Health
    gate: Gate
    sources: Sources
    spaces: VectorSpaces
    graph: GraphIndex
    foreign: ForeignBackend | None
    backfill: Backfill
    capture: Capture
    calls: CallLog
    answers: AnswerLog
    ledger: Ledger
    chat: ChatModel | None = None
    stop: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What a caller brings along in place of, or beside, the built-in parts."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    vector_index: ProposesRows | None = None


def assemble(settings: Settings, *, clock: Clock, own: Own, must_exist: bool) -> Parts:
    """Open the store and wire the rooms around it."""
    policy = settings.chosen_policy()
    health = Health(clock)
    watched = WatchedEmbedder(own.embedder or _chosen_embedder(settings), health)
    store = _open(settings, clock, must_exist=must_exist)
    foreign = _fenced(own.vector_index, store, clock)
    spaces = VectorSpaces(
        watched,
        memory_bytes=settings.vector_memory_megabytes * 1_000_000,
        older=_older_embedders(settings) if own.embedder is None else (),
        foreign=foreign,
        kept=lambda tx: tx.snapshots,
    )
    graph = GraphIndex()
    calls = CallLog()
    chat, judge, extractor = _chosen_chat(settings, calls, health)
    gate = Gate(
        store=store,
        embedder=watched,
        index=spaces,
        likeness=Likeness(StatementEmbedder(StaticEmbedder())),
        policy=policy.capture,
        judge=judge,
    )
    return Parts(
        settings=settings,
        policy=policy,
        clock=clock,
        store=store,
        embedder=watched,
        health=health,
        gate=gate,
        sources=Sources(
            store=store,
            embedder=watched,
            lexical=LexicalIndex(),
            vector=spaces,
            graph=graph,
            policy=policy.recall,
            reranker=own.reranker,
        ),
        spaces=spaces,
        graph=graph,
        foreign=foreign,
        backfill=Backfill(store, watched, clock=clock),
        capture=Capture(gate=gate, extractor=extractor, sensory=SensoryBuffer()),
        calls=calls,
        answers=AnswerLog(policy.recall),
        ledger=Ledger(store, health, calls),
        chat=chat,
    )


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


def _chosen_chat(
    settings: Settings, calls: CallLog, health: Health
) -> tuple[ChatModel | None, ChatJudge | None, Extractor]:
    """Return the chat model with what it serves as; without one, the heuristic reads alone."""
    if not settings.chat:
        return None, None, HeuristicExtractor()
    from engram.engine.chat_wiring import wired  # noqa: PLC0415 - prompts and clients, for who has a model

    return wired(settings, calls, health)


def _fenced(index: ProposesRows | None, store: Store, clock: Clock) -> ForeignBackend | None:
    """Return a user's own index behind its fence; what it is given is audited, from its own thread."""
    if index is None:
        return None

    def audit(action: str, counts: Mapping[str, int]) -> None:
        event = AuditEvent(at=clock.now(), action=Action.FOREIGN_INDEX, detail={"what": action, **counts})
        with suppress(StorageError), store.atomic() as tx:  # a closed or full store must not end the index
            tx.audit.add(event)

    return ForeignBackend(index, audit=audit, clock=clock)


def _older_embedders(settings: Settings) -> list[Embedder]:
    """Return the embedders that memories may have been embedded with before; opening one reads nothing."""
    found: list[Embedder] = []
    with suppress(EmbeddingError, MissingExtra):
        found.append(open_embedder(e5.NAME, settings.home))
    return [*found, StaticEmbedder()]


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
