"""
Turn: one message as it was said.

Made by `observe`, canonical from the moment it returns, never rewritten; memories point back to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from engram.values.scope import GLOBAL, Scope

if TYPE_CHECKING:
    from datetime import datetime

    from engram.values.ids import TurnId


class Role(StrEnum):
    """Who spoke, as chat models name it."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message: `occurred_at` is when it was said, `created_at` when we heard of it."""

    id: TurnId
    content: str
    role: Role
    occurred_at: datetime
    created_at: datetime
    speaker: str | None = None
    session: str | None = None
    scope: Scope = GLOBAL
