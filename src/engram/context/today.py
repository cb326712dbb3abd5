"""
What was stored today, newest first.

Called by `build`; reads the store. A day is one of UTC, as all times are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.context.detail import Wish
from engram.context.lines import may_stand
from engram.values import Filters

if TYPE_CHECKING:
    from datetime import datetime

    from engram.store.contract import Transaction
    from engram.values import Scope

NEWEST = 20
"""So many of the newest memories are looked at."""


def today(tx: Transaction, scope: Scope, *, now: datetime, session: str | None = None) -> list[Wish]:
    """
    Return what was stored today, newest first, but for what this session said: it has its history.

    Nor are sessions summed up here: what was stated in them is there itself.
    """
    newest = tx.memories.list(scope=scope, filters=Filters(), limit=NEWEST, before=None)
    fresh = [one for one in newest if one.created_at.date() == now.date() and may_stand(one)]
    told = [one for one in fresh if not one.is_session_summary]
    stored = [one for one in told if session is None or one.provenance.session != session]
    return [Wish(one, 0.2 + 0.8 * one.importance) for one in stored]
