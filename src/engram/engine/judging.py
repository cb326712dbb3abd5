"""
A chat model as a judge of contradictions.

Given to the gate when a chat model is configured. A model that fails is no judge: the rules decide without
it, and health says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.engine.health import CHAT
from engram.errors import ChatError
from engram.providers.prompts.contradiction import find_contradiction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.engine.health import Health
    from engram.providers.chat import CallLog, ChatModel


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
