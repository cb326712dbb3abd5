"""What a chat model serves as: it reads statements out of turns, and judges contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from engramdb.capture.extract import Extractor, HeuristicExtractor
from engramdb.capture.extract_chat import ModelExtractor
from engramdb.errors import ChatError
from engramdb.health import CHAT, Health
from engramdb.models.chat import CallLog, ChatModel
from engramdb.models.prompts.contradiction import find_contradiction
from engramdb.models.registry import open_chat
from engramdb.settings import Settings


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
