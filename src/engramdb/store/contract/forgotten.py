"""The store's contract for what was forgotten and must not come back: keyed sketches, and their key."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from engramdb.values import MemoryId, Scope


class ForgottenRow(Struct, frozen=True, kw_only=True):
    """One statement that somebody had forgotten."""

    number: int
    memory_id: MemoryId
    scope: Scope
    scope_number: int
    """The number of the scope, which is part of what its sketches are keyed by."""
    at: datetime
    since: str
    """Every id that was given after the forgetting is larger than this one."""
    session: str | None = None
    """The conversation in which the memory was made."""
    speaker: str | None = None
    """Who had said it."""
    sketch: bytes | None = None
    """None while nobody has made it of the memory's words."""


class Forgotten(Protocol):
    """Sketches of forgotten statements; no text is in them, and none can be read out of them."""

    def key(self) -> bytes:
        """Return the key that all sketches of this store are made with."""
        ...

    def stamp(self) -> tuple[int, str]:
        """Return what changes whenever something is forgotten or brought back."""
        ...

    def visible(self, scope: Scope) -> Sequence[ForgottenRow]:
        """Return what was forgotten in this scope and in every wider one."""
        ...

    def of_memories(self, memory_ids: Sequence[MemoryId]) -> Sequence[ForgottenRow]:
        """Return what is noted of these memories."""
        ...

    def add(
        self, memory_id: MemoryId, *, scope: Scope, at: datetime, since: str, sketch: bytes | None = None
    ) -> None:
        """Note that a memory was forgotten, in place of an earlier note."""
        ...

    def set_sketch(self, number: int, sketch: bytes) -> None:
        """Store the sketch of a row that has none yet."""
        ...

    def drop(self, memory_ids: Sequence[MemoryId]) -> None:
        """Let memories come back."""
        ...

    def count(self) -> int:
        """Return how many statements are kept from coming back."""
        ...
