"""
Summaries of older exchanges by a chat model, each written once.

Held by the engine, called through `history`; asks the prompt `history`. Exchanges are summarised in blocks of
ten, so that a growing conversation costs a call every ten exchanges and not one for every message. A model
that fails is asked again only for the next block, and the window says that it failed.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from engram.context.exchanges import without_long_code
from engram.context.history import summary_of
from engram.errors import ChatError
from engram.providers.prompts.history import summarise_history
from engram.values import Missing, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.context.exchanges import Exchange
    from engram.providers.chat import CallLog, ChatModel

CHAT = "chat model"
BLOCK = 10
"""So many exchanges are summarised together."""
KEPT = 16
"""So many summaries are kept, by the fingerprint of what they summarise."""
REST_WORDS = 60
"""Of the exchanges that do not fill a block yet, which are summarised by rule."""


class ModelSummaries:
    """Asks a model for summaries and remembers them; safe to share between threads."""

    def __init__(self, chat: ChatModel, log: CallLog, failed: Callable[[ChatError], None]) -> None:
        self._chat = chat
        self._log = log
        self._failed = failed
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, str | None] = OrderedDict()

    def of(self, rest: Sequence[Exchange], missing: list[Missing]) -> str | None:
        """Return the summary of these exchanges, or None and a note where the model gives none."""
        whole = rest[: len(rest) // BLOCK * BLOCK]
        if not whole:
            return None
        summary = self._summary(whole)
        if summary is None:
            reason = "the older part of the conversation was summarised by rule"
            missing.append(Missing(index=CHAT, reason=reason))
            return None
        tail = rest[len(whole) :]
        return f"{summary} Then: {summary_of(tail, words=REST_WORDS)}" if tail else summary

    def _summary(self, whole: Sequence[Exchange]) -> str | None:
        messages = [
            (one.role.value, without_long_code(one.content))
            for exchange in whole
            for one in exchange.said
            if one.role in (Role.USER, Role.ASSISTANT)
        ]
        mark = hashlib.sha256(repr(messages).encode("utf-8", "replace")).digest()
        with self._lock:
            if mark in self._known:
                return self._known[mark]
        found = self._ask(messages)
        with self._lock:
            self._known[mark] = found
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return found

    def _ask(self, messages: Sequence[tuple[str, str]]) -> str | None:
        try:
            return summarise_history(self._chat, messages, log=self._log)
        except ChatError as error:
            self._failed(error)
            return None
