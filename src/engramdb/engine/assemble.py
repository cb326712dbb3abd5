"""Build the parts of an engine from settings, a chat model among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from engramdb.capture.extract import Extractor, SentenceExtractor
from engramdb.capture.extract_chat import ModelExtractor
from engramdb.clock import Clock
from engramdb.errors import (
    EmbedderUnavailable,
    EmbeddingError,
    EngramError,
    MissingExtra,
    ModelPackBroken,
    StorageError,
)
from engramdb.health import CHAT, READER, Health
from engramdb.models.calibration import Likeness
from engramdb.models.chat import CallLog, ChatModel
from engramdb.models.e5 import NAME
from engramdb.models.embedder import AbsentEmbedder, Embedder
from engramdb.models.reader import Judge, Reader, Utterance
from engramdb.models.reader_chat import ChatReader
from engramdb.models.registry import E5_READER, Endpoint, open_chat, open_embedder, open_reader
from engramdb.models.static import StatementEmbedder, StaticEmbedder
from engramdb.settings import Settings
from engramdb.store.contract import Store
from engramdb.values import Action, AuditEvent
from engramdb.values.reading import PairJudgment, Reading

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


class WatchedJudge:
    """A judge whose failures, of whatever kind, are noted and are no verdicts: what is not judged waits."""

    def __init__(self, open_judge: Callable[[], Judge], health: Health, part: str, *, name: str) -> None:
        self._open = open_judge
        self._health = health
        self._part = part
        self._judge: Judge | None = None
        self.name: Final = name
        self.is_remote: Final = part == CHAT

    def relate(
        self, newer: Utterance, older: Sequence[Utterance], *, seconds: float | None = None
    ) -> list[PairJudgment | None]:
        """Return how the newer statement stands to each of the older ones; none where the judge fails."""
        try:
            with self._health.watch(self._part):
                self._judge = self._judge or self._open()
                return self._judge.relate(newer, older, seconds=seconds)[: len(older)]
        except EngramError:
            return []
        except Exception as exc:  # noqa: BLE001 - foreign code; its message may quote what it was given
            self._health.failed(self._part, ModelPackBroken(f"the judge failed: {type(exc).__name__}"))
            return []


class WatchedReader:
    """A reader whose failures are noted; what it cannot read is left to the rules."""

    def __init__(self, open_it: Callable[[], Reader], health: Health) -> None:
        self._open = open_it
        self._health = health
        self._reader: Reader | None = None

    @property
    def name(self) -> str:
        """Name and version, once it has read anything."""
        return self._reader.name if self._reader else READER

    def read(self, texts: Sequence[Utterance]) -> list[Reading]:
        """Return one reading per text; raises an `EngramError` when it cannot work now."""
        with self._health.watch(READER):
            self._reader = self._reader or self._open()
            try:
                return self._reader.read(texts)
            except EngramError:
                raise
            except Exception as exc:
                raise ModelPackBroken(f"the reader failed: {type(exc).__name__}") from exc


class JudgeParts(ChatParts, Protocol):
    """What choosing a judge needs of the engine."""

    @property
    def chat(self) -> ChatModel | None: ...


def choose_judge(parts: JudgeParts) -> WatchedJudge | None:
    """Return the judge beside the rules that the settings ask for, not opened yet, or none."""
    choice, chat = parts.settings.reader, parts.chat
    if choice in ("auto", "chat") and chat is not None:
        judge = ChatReader(chat, parts.calls)
        return WatchedJudge(lambda: judge, parts.health, CHAT, name=judge.name)
    if choice == "pack":
        home = parts.settings.home
        return WatchedJudge(lambda: open_reader(home), parts.health, READER, name=E5_READER)
    return None


def choose_reader(settings: Settings, health: Health) -> Reader | None:
    """Return what weighs single sentences beside the rules: the model pack's network, or the small heads."""
    if settings.reader == "rules":
        return None
    return WatchedReader(lambda: _open_reader(settings), health)


def _open_reader(settings: Settings) -> Reader:
    try:
        return open_reader(settings.home)
    except EmbedderUnavailable:  # not installed; a broken pack is raised, and `status` names it
        if settings.reader == "pack":
            raise
        from engramdb.models.reader_head import HeadReader  # noqa: PLC0415 - loads arrays

        return HeadReader()


class ChatRoles(Struct, frozen=True, kw_only=True):
    """The chat model, where there is one, and what it serves as; without one the sentences are read alone."""

    extractor: Extractor
    model: ChatModel | None = None


def chat_roles(parts: ChatParts) -> ChatRoles:
    """Return the chat model that the settings name, in its roles."""
    settings, health, calls = parts.settings, parts.health, parts.calls
    rules = SentenceExtractor(choose_reader(settings, health))
    if not settings.chat:
        return ChatRoles(extractor=rules)
    model = open_chat(
        settings.chat,
        url=settings.chat_url,
        key=settings.chat_key,
        timeout_seconds=settings.chat_timeout_seconds,
    )
    extractor = ModelExtractor(model, rules, lambda error: health.failed(CHAT, error), log=calls)
    return ChatRoles(extractor=extractor, model=model)


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
