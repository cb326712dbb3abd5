"""Build the parts of an engine from settings, a chat model among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

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
    ModelUnavailable,
    StorageError,
)
from engramdb.health import GUARD_MODEL, JUDGE, READER, Health
from engramdb.models.calibration import Likeness
from engramdb.models.chat import CallLog, ChatModel, GuardedChat, note_invalid_reply
from engramdb.models.e5 import NAME, E5Embedder
from engramdb.models.embedder import AbsentEmbedder, Embedder, GuardedEmbedder
from engramdb.models.guard import ForeignGuard
from engramdb.models.reader import GuardedModel, Judge, Reader
from engramdb.models.reader_chat import ChatReader
from engramdb.models.registry import (
    E5_READER,
    HEAD_READER,
    Endpoint,
    find_guard_model,
    has_reader,
    open_chat,
    open_embedder,
    open_reader,
)
from engramdb.models.static import StatementEmbedder, StaticEmbedder
from engramdb.settings import Settings
from engramdb.store.contract import Store
from engramdb.values import Action, AuditEvent
from engramdb.values.privacy import PersonalData

if TYPE_CHECKING:
    from engramdb.index.foreign import ForeignBackend, ProposesRows
    from engramdb.models.guard_model import GuardModel


class ChatParts(Protocol):
    """What the roles of a chat model need of the engine."""

    @property
    def settings(self) -> Settings: ...
    @property
    def health(self) -> Health: ...
    @property
    def guard(self) -> ForeignGuard: ...
    @property
    def calls(self) -> CallLog: ...


class JudgeParts(ChatParts, Protocol):
    """What choosing a judge needs of the engine."""

    @property
    def chat(self) -> ChatModel | None: ...


def choose_judge(parts: JudgeParts) -> GuardedModel[Judge] | None:
    """Return the judge beside the rules that the settings ask for, not opened yet, or none."""
    choice, chat = parts.settings.reader, parts.chat
    if choice in ("auto", "chat") and chat is not None:
        judge = ChatReader(chat, parts.calls)
        return GuardedModel[Judge](lambda: judge, parts.guard, JUDGE, name=judge.name, is_remote=True)
    home = parts.settings.home
    if choice == "pack" or (choice == "auto" and has_reader(home)):
        return GuardedModel[Judge](lambda: open_reader(home), parts.guard, JUDGE, name=E5_READER)
    return None


def choose_reader(settings: Settings, guard: ForeignGuard) -> Reader | None:
    """Return what weighs single sentences beside the rules: the model pack's network, or the small heads."""
    if settings.reader == "rules":
        return None
    return GuardedModel[Reader](lambda: _open_reader(settings), guard, READER)


ResultT = TypeVar("ResultT")


class TextGuard:
    """
    Finds private words by the guard model, and judges hostile text by it or, without it, by the small head.

    The model is loaded when it is first asked. One that fails is noted and left alone for a while; rules and
    the head work without it.
    """

    def __init__(self, model: GuardModel | None, guard: ForeignGuard) -> None:
        self._model = model
        self._guard = guard

    def find(self, text: str, *, before: str = "") -> PersonalData | None:
        """Return what a text holds; None where nothing but rules can tell."""
        model = self._model
        if model is None:
            return None
        try:
            return self._call(lambda: model.find(text, before=before))
        except EngramError:  # noted in health; rules decide alone
            return None

    def chance(self, text: str, *, patterns: float) -> float:
        """Return the chance that a text tries to steer an agent; raises an `EngramError` when it cannot."""
        from engramdb.models.hostility import HostilityJudge  # noqa: PLC0415 - loads arrays

        judge = HostilityJudge(self._model)
        if self._model is not None:
            with suppress(EngramError):  # noted in health
                return self._call(lambda: judge.chance(text, patterns=patterns))
        try:
            return HostilityJudge().chance(text, patterns=patterns)
        except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as exc:  # patterns decide
            raise ModelUnavailable(f"the injection judge failed: {type(exc).__name__}") from exc

    def _call(self, work: Callable[[], ResultT]) -> ResultT:
        return self._guard.call(GUARD_MODEL, work, check=lambda found: found, failure=ModelUnavailable)


def choose_text_guard(settings: Settings, guard: ForeignGuard, health: Health) -> TextGuard | None:
    """Return what judges texts before they are stored."""
    if settings.reader == "rules":
        return None
    model = None
    try:
        model = find_guard_model(settings.home)
    except (ModelPackBroken, OSError) as exc:
        error = exc if isinstance(exc, ModelPackBroken) else ModelPackBroken(f"failed: {type(exc).__name__}")
        health.failed(GUARD_MODEL, error)
    return TextGuard(model, guard)


def quick_text_guard(settings: Settings, guard: ForeignGuard) -> TextGuard | None:
    """Return the same without a network, for the reading side, where nobody waits for one."""
    return None if settings.reader == "rules" else TextGuard(None, guard)


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
    rules = SentenceExtractor(choose_reader(settings, parts.guard))
    if not settings.chat:
        return ChatRoles(extractor=rules)
    client = open_chat(
        settings.chat,
        url=settings.chat_url,
        key=settings.chat_key,
        timeout_seconds=settings.chat_timeout_seconds,
    )
    model = GuardedChat(client, parts.guard)
    extractor = ModelExtractor(model, rules, partial(note_invalid_reply, health), log=calls)
    return ChatRoles(extractor=extractor, model=model)


def audited_index(
    given: ProposesRows | None, store: Store, clock: Clock, guard: ForeignGuard
) -> ForeignBackend | None:
    """Return a caller's own index; what it is given is audited, from its own thread."""
    if given is None:
        return None
    from engramdb.index.foreign import ForeignBackend  # noqa: PLC0415

    def audit(action: str, counts: Mapping[str, int]) -> None:
        event = AuditEvent(at=clock.now(), action=Action.FOREIGN_INDEX, detail={"what": action, **counts})
        with suppress(StorageError), store.atomic() as tx:  # a closed or full store must not end the index
            tx.audit.add(event)

    return ForeignBackend(given, audit=audit, clock=clock, guard=guard)


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


def guarded_embedder(own: Embedder | None, settings: Settings, guard: ForeignGuard) -> GuardedEmbedder:
    """Return the caller's own embedder or the chosen one; one that is not built in runs on a thread."""
    embedder = own or chosen_embedder(settings)
    is_built_in = isinstance(embedder, StaticEmbedder | E5Embedder | AbsentEmbedder)
    seconds = None if is_built_in else settings.embedder_timeout_seconds
    return GuardedEmbedder(embedder, guard, timeout_seconds=seconds)


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
