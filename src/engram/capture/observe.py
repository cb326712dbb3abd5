"""
Keep a turn as it was said.

Called by the engine; durable when it returns. What memories a turn gives is decided afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.capture.draft import check_label, checked_text, chosen, in_utc
from engram.values import Action, AuditEvent, Role, Turn, new_id

if TYPE_CHECKING:
    from datetime import datetime

    from engram.policy import CapturePolicy
    from engram.store.contract import Store
    from engram.values import Actor, Scope


def observe(
    content: str,
    *,
    role: str,
    speaker: str | None,
    session: str | None,
    occurred_at: datetime | None,
    scope: Scope,
    store: Store,
    policy: CapturePolicy,
    actor: Actor,
    now: datetime,
) -> Turn:
    """Store one message and return it."""
    for name, label in (("speaker", speaker), ("session", session)):
        if label is not None:
            check_label(name, label)
    turn = Turn(
        id=new_id(now),
        content=checked_text(content, what="turn", max_bytes=policy.max_turn_bytes),
        role=chosen(Role, role),
        speaker=speaker,
        session=session,
        scope=scope,
        occurred_at=in_utc("occurred_at", occurred_at) or now,
        created_at=now,
    )
    with store.atomic() as tx:
        tx.turns.add(turn)
        tx.audit.add(AuditEvent(at=now, action=Action.OBSERVE, actor=actor, target=turn.id))
    return turn
