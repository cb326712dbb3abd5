"""
A conversation that another framework keeps: its messages exactly, and what they say as turns.

For frameworks that have sessions. A message is a document as the framework wrote
it, in one write with the turn that Engram reads, so neither is there without the
other. Blocking; `in_thread` lets an event loop go on meanwhile, and waits for the write even where the
caller is cancelled.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from engramdb.values import DocumentMessage, PutDocument
from engramdb.values.turn import Role

if TYPE_CHECKING:
    from engramdb import Engram, Scope

Answer = TypeVar("Answer")

ROLES = {"chatbot": "assistant", "model": "assistant", "developer": "system", "function": "tool"}
"""What frameworks call speakers, where Engram has another word."""
MEMORY_TOKENS = 800
"""What recalled memories may take of a prompt, unless a caller says otherwise."""
_ROLES = frozenset(Role)


class TranscriptMessage(Struct, frozen=True):
    """One message as its framework writes it, who speaks in it, and what is said, if anything."""

    value: Any
    role: str = "user"
    text: str = ""


class Transcript:
    """The messages of one session, in their order."""

    def __init__(self, engram: Engram, place: tuple[str, ...], *, session: str, scope: Scope | None) -> None:
        self._engram = engram
        self._place = place
        self._session = session
        self._scope = scope

    def values(self, limit: int | None = None) -> list[Any]:
        """Return the messages, or the latest of them, in their order."""
        if limit is not None and limit <= 0:
            return []
        documents = self._engram.documents
        return [item.value for item in documents.latest(self._place, limit=limit, scope=self._scope)]

    def add(self, messages: Sequence[TranscriptMessage]) -> None:
        """Keep messages, and hear what is said in them; all of them or none."""
        if messages:
            self._engram.documents.write([self._putting(one) for one in messages], scope=self._scope)

    def pop(self) -> Any | None:
        """Take the last message back, with what was learnt from it alone, and return it."""
        taken = self._engram.documents.take_back(self._place, scope=self._scope)
        return taken[0].value if taken else None

    def clear(self) -> None:
        """Let go of the messages; what was learnt from them stays."""
        self._engram.documents.clear(self._place, scope=self._scope)

    def replace(self, messages: Sequence[TranscriptMessage]) -> None:
        """Keep these messages and no others; the same ones at the beginning are not heard again."""
        known = self.values()
        same = 0
        for old, new in zip(known, messages, strict=False):
            if old != new.value:
                break
            same += 1
        if known[same:]:
            self._engram.documents.take_back(self._place, limit=len(known) - same, scope=self._scope)
        self.add(messages[same:])

    def _putting(self, message: TranscriptMessage) -> PutDocument:
        is_heard = message.role in _ROLES and bool(message.text.strip())
        said = (
            DocumentMessage(content=message.text, role=message.role, session=self._session)
            if is_heard
            else None
        )
        return PutDocument(place=self._place, key=uuid.uuid4().hex, value=message.value, said=said)


def memory_text(
    engram: Engram, message: str, *, budget: int, session: str | None = None, scope: Scope | None = None
) -> str:
    """Return what Engram knows for a message, as a block of records never to be obeyed, or nothing."""
    if not message.strip():
        return ""
    window = engram.context(message, budget=budget, history=(), session=session, scope=scope)
    if not window.holds:  # a remark that nothing is known would only cost tokens
        return ""
    return "\n\n".join(part for part in (window.standing, window.present) if part)


async def in_thread(work: Callable[..., Answer], /, *arguments: Any, **options: Any) -> Answer:
    """Return what the work returns, done in a worker thread; a cancelled caller waits for its end."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *arguments, **options))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait({task})
        raise
