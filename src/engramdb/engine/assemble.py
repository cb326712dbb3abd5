"""Build the parts of an engine from settings, a chat model among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

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
from engramdb.health import CHAT, JUDGE, READER, Health
from engramdb.models.calibration import Likeness
from engramdb.models.chat import CallLog, ChatModel
from engramdb.models.e5 import NAME
from engramdb.models.embedder import AbsentEmbedder, Embedder
from engramdb.models.reader import Judge, Reader, Utterance
from engramdb.models.reader_chat import ChatReader
from engramdb.models.registry import (
    E5_READER,
    HEAD_READER,
    Endpoint,
    has_reader,
    open_chat,
    open_embedder,
    open_reader,
)
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


ModelT = TypeVar("ModelT", bound=Reader | Judge)
ResultT = TypeVar("ResultT")


class WatchedModel(Generic[ModelT]):
    """A reader or judge that is opened when it is first used; its failures, of whatever kind, are noted."""

    def __init__(
        self, open_model: Callable[[], ModelT], health: Health, part: str, *, name: str | None = None
    ) -> None:
        self._open = open_model
        self._health = health
        self._part = part
        self._name = name
        self._model: ModelT | None = None
        self.is_remote: Final = part == CHAT

    @property
    def name(self) -> str:
        """Name and version; if none was given, once it has been opened."""
        return self._name or (self._model.name if self._model else self._part)

    def read(self: WatchedModel[Reader], texts: Sequence[Utterance]) -> list[Reading]:
        """Return one reading per text; raises an `EngramError` when it cannot work now."""
        return self._use(lambda reader: reader.read(texts))

    def relate(
        self: WatchedModel[Judge],
        newer: Utterance,
        older: Sequence[Utterance],
        *,
        seconds: float | None = None,
    ) -> list[PairJudgment | None]:
        """Return how the newer statement stands to each of the older ones; none where the judge fails."""
        try:
            return self._use(lambda judge: judge.relate(newer, older, seconds=seconds))[: len(older)]
        except EngramError:  # what is not judged waits
            return []

    def rests_on(
        self: WatchedModel[Judge], question: str, changes: Sequence[tuple[str, str]]
    ) -> list[bool] | None:
        """Return whether a question takes for granted what each change has ended; None if it cannot say."""
        try:
            return self._use(lambda judge: judge.rests_on(question, changes))
        except EngramError:  # noted in health; the rules answer
            return None

    def answers(
        self: WatchedModel[Judge], question: str, memories: Sequence[str], *, seconds: float
    ) -> list[float] | None:
        """
        Return for the first memories the chance that each answers the question; none where it fails.

        None of a chat model, which is not asked while somebody waits for an answer.
        """
        if self.is_remote:
            return None
        try:
            found = self._use(lambda judge: judge.answers(question, memories, seconds=seconds))
        except EngramError:  # noted in health; the order of scores is kept
            return []
        return found if all(0.0 <= one <= 1.0 for one in found) else []  # no number is none

    def makes_doubtful(
        self: WatchedModel[Judge], change: tuple[str, str], statements: Sequence[str]
    ) -> list[bool] | None:
        """Return whether a change makes each statement doubtful; None where it cannot say."""
        try:
            return self._use(lambda judge: judge.makes_doubtful(change, statements))
        except EngramError:
            return None

    def _use(self, use: Callable[[ModelT], ResultT]) -> ResultT:
        with self._health.watch(self._part):
            try:
                self._model = self._model or self._open()
                return use(self._model)
            except EngramError:
                raise
            except Exception as exc:  # foreign code; its message may quote what it was given
                raise ModelPackBroken(f"the {self._part} failed: {type(exc).__name__}") from exc


class JudgeParts(ChatParts, Protocol):
    """What choosing a judge needs of the engine."""

    @property
    def chat(self) -> ChatModel | None: ...


def choose_judge(parts: JudgeParts) -> WatchedModel[Judge] | None:
    """Return the judge beside the rules that the settings ask for, not opened yet, or none."""
    choice, chat = parts.settings.reader, parts.chat
    if choice in ("auto", "chat") and chat is not None:
        judge = ChatReader(chat, parts.calls)
        return WatchedModel[Judge](lambda: judge, parts.health, CHAT, name=judge.name)
    home = parts.settings.home
    if choice == "pack" or (choice == "auto" and has_reader(home)):
        return WatchedModel[Judge](lambda: open_reader(home), parts.health, JUDGE, name=E5_READER)
    return None


def choose_reader(settings: Settings, health: Health) -> Reader | None:
    """Return what weighs single sentences beside the rules: the model pack's network, or the small heads."""
    if settings.reader == "rules":
        return None
    return WatchedModel[Reader](lambda: _open_reader(settings), health, READER)


def _open_reader(settings: Settings) -> Reader:
    try:
        return open_reader(settings.home)
    except EmbedderUnavailable:  # not installed; a broken pack is raised, and `status` names it
        if settings.reader == "pack":
            raise
        from engramdb.models.reader_head import HeadReader  # noqa: PLC0415 - loads arrays

        return HeadReader()


def reader_names(settings: Settings) -> tuple[str, ...]:
    """Return what reads sentences: the rules always, then a network or heads, then a chat model."""
    names = ["rules", _network_name(settings), settings.chat]
    return tuple(name for name in names if name)


def _network_name(settings: Settings) -> str | None:
    """Return what `choose_reader` gives, without loading it; a broken pack leaves the rules alone."""
    if settings.reader == "rules":
        return None
    try:
        return open_reader(settings.home).name
    except EmbedderUnavailable:
        return None if settings.reader == "pack" else HEAD_READER
    except EngramError:
        return None


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
