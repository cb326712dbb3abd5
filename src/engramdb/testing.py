"""
Fakes for us and for our users: a clock that a test moves, an embedder and a chat model that need no file.

Real enough to run the whole engine on; nothing in `engram` itself imports this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from engramdb.errors import ChatError, EmbedderUnavailable
from engramdb.models.calibration import IDENTITY
from engramdb.models.chat import ChatPrompt, ChatReply
from engramdb.values import EmbedderIdentity


class ManualClock:
    """A clock that stands still until it is told to move."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC)) -> None:
        self._now = now

    def now(self) -> datetime:
        """Return the moment that the clock shows."""
        return self._now

    def advance(self, **duration: float) -> None:
        """Move on by a duration given as for `timedelta`: `advance(days=30)`."""
        self._now += timedelta(**duration)

    def set(self, now: datetime) -> None:
        """Show this moment from now on."""
        self._now = now


class TinyEmbedder:
    """Words hashed into 64 dimensions: deterministic, without I/O, and blind to meaning."""

    identity = EmbedderIdentity(name="tiny", dimension=64, revision="1")
    batch = 256
    similarity_floor = 0.0
    calibration = IDENTITY

    def __init__(self) -> None:
        self.failure: str | None = None

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; raises while `failure` is set."""
        if self.failure:
            raise EmbedderUnavailable(self.failure)
        rows = np.zeros((len(texts), self.identity.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split() or [""]:
                digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
                number = int.from_bytes(digest)
                row[number % self.identity.dimension] += 1 if number >> 32 & 1 else -1
            if not row.any():
                row[0] = 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(texts) else rows

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; a question is embedded as a document is."""
        return self.embed_documents(texts)


class ScriptedChat:
    """
    A chat model that says what it is told to: from a list, one reply per prompt, or by a function of it.

    A reply is a text, a `Reply` with its costs, or a `ChatError` to fail with; `prompts` is what was asked.
    """

    name = "scripted"

    def __init__(self, script: Sequence[str | ChatReply | ChatError] | Callable[[ChatPrompt], str]) -> None:
        self._answer = script if callable(script) else None
        self._waiting = [] if callable(script) else list(script)
        self.prompts: list[ChatPrompt] = []

    def complete(self, prompt: ChatPrompt) -> ChatReply:
        """Return the next reply; a prompt too many is a mistake of the test, and no failure of the model."""
        self.prompts.append(prompt)
        if self._answer is None and not self._waiting:
            raise AssertionError(f"there is no reply left for prompt number {len(self.prompts)}")
        reply = self._answer(prompt) if self._answer else self._waiting.pop(0)
        if isinstance(reply, ChatError):
            raise reply
        return ChatReply(text=reply) if isinstance(reply, str) else reply
