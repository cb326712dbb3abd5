"""
Keep a turn as it was said, and find it again.

Called by the engine; durable when it returns. What memories a turn gives is decided afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.capture.draft import check_label, checked_text, chosen, in_utc
from engram.errors import InvalidQuery
from engram.text.normal import is_text
from engram.values import Action, AuditEvent, Role, Turn, new_id

if TYPE_CHECKING:
    from datetime import datetime

    from engram.policy import CapturePolicy
    from engram.store.contract import Store, Transaction
    from engram.values import Actor, Scope, TurnId

_ENDING = 8


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
    turn = heard(
        content,
        role=role,
        speaker=speaker,
        session=session,
        occurred_at=occurred_at,
        scope=scope,
        policy=policy,
        now=now,
    )
    with store.atomic() as tx:
        keep(tx, turn, actor=actor, now=now)
    return turn


def heard(
    content: str,
    *,
    role: str,
    speaker: str | None,
    session: str | None,
    occurred_at: datetime | None,
    scope: Scope,
    policy: CapturePolicy,
    now: datetime,
) -> Turn:
    """Return a message as a turn that can be kept; raises where it may not enter."""
    for name, label in (("speaker", speaker), ("session", session)):
        if label is not None:
            check_label(name, label)
    return Turn(
        id=new_id(now),
        content=checked_text(content, what="turn", max_bytes=policy.max_turn_bytes),
        role=chosen(Role, role),
        speaker=speaker,
        session=session,
        scope=scope,
        occurred_at=in_utc("occurred_at", occurred_at) or now,
        created_at=now,
    )


def keep(tx: Transaction, turn: Turn, *, actor: Actor, now: datetime) -> None:
    """Write a turn down, with who brought it; an import does so with many in one write."""
    tx.turns.add(turn)
    tx.audit.add(AuditEvent(at=now, action=Action.OBSERVE, actor=actor, target=turn.id))


def find_turn(tx: Transaction, turn_id: TurnId, scope: Scope) -> Turn:
    """Return a turn by its id or the last eight characters of it; raises where there is no single one."""
    named = turn_id if isinstance(turn_id, str) and is_text(turn_id) else ""
    ids = tx.turns.ids_ending_with(named.lower(), scope=scope) if len(named) == _ENDING else [named]
    found = tx.turns.get(ids[0], scope=scope) if len(ids) == 1 else None
    if found is None:
        raise InvalidQuery(f"no turn has the id {str(turn_id)[:40]!r}", hint="Give the whole id of one.")
    return found
