"""
What a chat model serves as: it reads statements out of turns, and judges contradictions.

Called by `assemble` where a model is configured, and loaded only then. The heuristic stands behind the model:
what it cannot read, the heuristic does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.capture.extract.heuristic import HeuristicExtractor
from engram.capture.extract.model import ModelExtractor
from engram.engine.health import CHAT
from engram.engine.judging import ChatJudge
from engram.providers.chat_models import open_chat

if TYPE_CHECKING:
    from engram.capture.extract.extracted import Extractor
    from engram.engine.health import Health
    from engram.providers.chat import CallLog, ChatModel
    from engram.settings import Settings


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
