"""
The rules that a person has set for those who work for them: found, and taken back.

A rule stands until the person takes it back in words that name it (`text.withdrawals`), corrects it or
forgets it. Taking back invalidates it, which a person can undo.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Transaction
from engramdb.text.guarded import is_guarded
from engramdb.text.withdrawals import Withdrawal, withdrawn
from engramdb.values import Action, Actor, Filters, Memory, Scope, Status, Turn
from engramdb.values.memory import RULE_CATEGORIES

MAX_RULES = 200
"""Rules looked at, the newest."""
TAKEN_BACK = "the person took it back"
_BY_CATEGORY = Filters(categories=RULE_CATEGORIES)


def find_rules(tx: Transaction, scope: Scope) -> list[Memory]:
    """Return the rules that this scope may see, newest first."""
    filed = tx.memories.list(scope=scope, filters=_BY_CATEGORY, limit=MAX_RULES, before=None)
    every = {one.id: one for one in (*tx.memories.rules(scope=scope, limit=MAX_RULES), *filed)}
    return sorted((one for one in every.values() if one.is_rule), key=lambda one: one.id, reverse=True)


def take_back(
    tx: Transaction, turn: Turn, found: Sequence[Withdrawal], *, actor: Actor, now: datetime
) -> list[Memory]:
    """Invalidate the rules of a turn's own scope that it takes back, and return them as they are now."""
    rules = [
        one
        for one in find_rules(tx, turn.scope)
        if one.scope == turn.scope
        and turn.id not in one.provenance.turns
        and (turn.relayed_by is None or not is_guarded(one))
    ]
    writer = MemoryWriter(tx, actor, now)
    return [
        writer.set_status(rules[place], Status.INVALIDATED, action=Action.SET_STATUS, reason=TAKEN_BACK)
        for place in withdrawn(found, [one.content for one in rules])
    ]
