"""Questions that dreams left open: find one, close it, and note who did."""

from __future__ import annotations

from datetime import datetime

from engramdb.errors import InvalidQuery
from engramdb.store.contract import Store, Transaction
from engramdb.text.normalize import is_text
from engramdb.values import Action, Actor, AuditEvent, Gap, Scope


def find_question(tx: Transaction, gap_id: str, scope: Scope) -> Gap:
    """Return a question that this scope sees, open or closed."""
    gap = tx.gaps.get(gap_id, scope=scope) if isinstance(gap_id, str) and is_text(gap_id) else None
    if gap is None:
        raise InvalidQuery(f"no question has the id {str(gap_id)[:40]!r}")
    return gap


def find_open_question(tx: Transaction, gap_id: str, scope: Scope) -> Gap:
    """Return an open question of exactly this scope: one of a wider scope is for others to settle."""
    gap = find_question(tx, gap_id, scope)
    if gap.scope != scope:
        raise InvalidQuery(f"question {gap_id} belongs to the scope {gap.scope}", hint="Settle it there.")
    if gap.closed_at is not None:
        raise InvalidQuery(f"question {gap_id} is closed already")
    return gap


def close_question(
    store: Store, gap_id: str, *, scope: Scope, reason: str, actor: Actor, now: datetime
) -> Gap:
    """Settle an open question; it is not asked again."""
    with store.atomic() as tx:
        find_open_question(tx, gap_id, scope)
        tx.gaps.close(gap_id, at=now, by=actor.kind, because=reason)
        detail = {"question": "closed"}
        tx.audit.add(AuditEvent(at=now, action=Action.FEEDBACK, actor=actor, target=gap_id, detail=detail))
        return find_question(tx, gap_id, scope)
