"""Build the parts of an engine from settings, a chat model among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from engramdb.capture.extract import Extractor, HeuristicExtractor
from engramdb.capture.extract_chat import ModelExtractor
from engramdb.clock import Clock
from engramdb.errors import ChatError, EmbeddingError, MissingExtra, StorageError
from engramdb.health import CHAT, Health
from engramdb.models.calibration import Likeness
from engramdb.models.chat import CallLog, ChatModel
from engramdb.models.e5 import NAME
from engramdb.models.embedder import AbsentEmbedder, Embedder
from engramdb.models.prompts.contradiction import find_contradiction
from engramdb.models.registry import Endpoint, open_chat, open_embedder
from engramdb.models.static import StatementEmbedder, StaticEmbedder
from engramdb.settings import Settings
from engramdb.store.contract import Store
from engramdb.values import Action, AuditEvent

if TYPE_CHECKING:
    from engramdb.index.foreign import ForeignBackend, ProposesRows


class ChatParts(Protocol):
    """What the roles of a chat model need of the engine."""

    @property
    def settings(self) -> Settings: ...
    @property
    def health(self) -> Health: ...
    @property
    def calls(self) -> CallLog: ...


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


class ChatRoles(Struct, frozen=True, kw_only=True):
    """The chat model, where there is one, and what it serves as; without one the heuristic reads alone."""

    extractor: Extractor
    model: ChatModel | None = None
    judge: ChatJudge | None = None


def chat_roles(parts: ChatParts) -> ChatRoles:
    """Return the chat model that the settings name, in its roles."""
    settings, health, calls = parts.settings, parts.health, parts.calls
    if not settings.chat:
        return ChatRoles(extractor=HeuristicExtractor())
    model = open_chat(
        settings.chat,
        url=settings.chat_url,
        key=settings.chat_key,
        timeout_seconds=settings.chat_timeout_seconds,
    )
    extractor = ModelExtractor(
        model, HeuristicExtractor(), lambda error: health.failed(CHAT, error), log=calls
    )
    return ChatRoles(extractor=extractor, model=model, judge=ChatJudge(model, calls, health))


def audited_index(given: ProposesRows | None, store: Store, clock: Clock) -> ForeignBackend | None:
    """Return a caller's own index; what it is given is audited, from its own thread."""
    if given is None:
        return None
    from engramdb.index.foreign import ForeignBackend  # noqa: PLC0415

    def audit(action: str, counts: Mapping[str, int]) -> None:
        event = AuditEvent(at=clock.now(), action=Action.FOREIGN_INDEX, detail={"what": action, **counts})
        with suppress(StorageError), store.atomic() as tx:  # a closed or full store must not end the index
            tx.audit.add(event)

    return ForeignBackend(given, audit=audit, clock=clock)


def older_embedders(settings: Settings) -> list[Embedder]:
    """Return the embedders that memories may have been embedded with before; opening one reads nothing."""
    found: list[Embedder] = []
    with suppress(EmbeddingError, MissingExtra):
        found.append(open_embedder(NAME, settings.home))
    return [*found, StaticEmbedder()]


def statement_likeness() -> Likeness:
    """Return what compares statements without regard to how the store is embedded."""
    embedder = StatementEmbedder(StaticEmbedder())
    return Likeness(embedder)


def chosen_embedder(settings: Settings) -> Embedder:
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
