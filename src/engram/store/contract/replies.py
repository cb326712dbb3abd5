"""
The table of answers by the caller's key, so that a write sent again is answered and not carried out
again.

Part of `store.contract`; kept by `engine.replies` for the HTTP server. An answer may hold the words of a
memory, so it is kept with the ids that it names, and emptied when one of these is erased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

ERASED = 410
"""The status of an answer that is gone because something it named was erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a request was answered with; nothing yet while it is under way."""

    request: bytes
    """A hash of what was asked; empty once the answer is erased."""
    status: int | None
    headers: Mapping[str, str]
    """Those that belong to the answer and not to the connection."""
    body: bytes | None
    at: datetime


class Replies(Protocol):
    """Answers by caller and key."""

    def get(self, caller: str, key: str) -> Reply | None:
        """Return what is known of a key."""
        ...

    def begin(self, caller: str, key: str, *, request: bytes, at: datetime) -> None:
        """Note that a request is under way; one that was under way before is noted anew."""
        ...

    def finish(
        self,
        caller: str,
        key: str,
        *,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        subjects: Collection[str],
    ) -> None:
        """Keep an answer, and the ids of what it names; empty where a memory was erased meanwhile."""
        ...

    def drop(self, caller: str, key: str) -> None:
        """Forget a key: its request may be sent again."""
        ...

    def expire(self, *, before: datetime) -> None:
        """Forget the keys that were begun before a moment."""
        ...
