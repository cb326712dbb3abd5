"""Store a turn that nobody reads, for tests of what becomes of turns that leave no memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engramdb.capture.pipeline import observe
from engramdb.values import GLOBAL, Actor, Scope

if TYPE_CHECKING:
    from datetime import datetime

    from engramdb import Engram, Turn


def say(
    engram: Engram,
    content: str,
    *,
    role: str = "user",
    speaker: str | None = None,
    session: str | None = None,
    at: datetime | None = None,
    scope: Scope = GLOBAL,
) -> Turn:
    """Say something; `Engram.observe` might also read it, and keep what it finds."""
    parts = engram._parts
    return observe(
        content,
        role=role,
        speaker=speaker,
        session=session,
        occurred_at=at,
        scope=scope,
        store=parts.store,
        policy=parts.policy.capture,
        actor=Actor(),
        now=parts.clock.now(),
    )
