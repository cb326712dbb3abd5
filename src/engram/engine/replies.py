"""
Answers that are kept for a day by the caller's key, so that a write may be sent again without harm.

Held by `engine.served` and used by the HTTP server, around the verb that carries the write out. A key
whose answer was never kept, because the process was killed, is carried out anew: the gate recognises a
statement that is stored already, and `observed` a message, so nothing is added twice.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from engram.engine.clock import Clock
    from engram.store.contract import Store
    from engram.store.contract.replies import Reply
    from engram.values import Scope, Turn

KEPT_FOR: Final = timedelta(days=1)
CUT_OFF_WITHIN: Final = timedelta(seconds=5)
"""A request that was cut off wrote within this time of its beginning; the same words later are said again."""
_LATEST_TURNS: Final = 200
MOST_BYTES: Final = 1_000_000
"""A larger answer is not kept; none of a single write comes near it."""
_ID: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What every id of a memory and a turn looks like."""


class ReplyBook:
    """Answers by caller and key."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def begin(self, caller: str, key: str, *, request: bytes) -> Reply | None:
        """Return what is known of a key; None where nothing is, and the request is now noted as begun."""
        now: datetime = self._clock.now()
        with self._store.atomic() as tx:
            tx.replies.expire(before=now - KEPT_FOR)
            known = tx.replies.get(caller, key)
            if known is None:
                tx.replies.begin(caller, key, request=request, at=now)
            return known

    def keep(self, caller: str, key: str, *, status: int, headers: Mapping[str, str], body: bytes) -> bool:
        """Keep an answer and say whether that was done; one that is too large leaves no trace of its key."""
        if len(body) > MOST_BYTES:
            self.drop(caller, key)
            return False
        subjects = {found.decode() for found in _ID.findall(body)}
        with self._store.atomic() as tx:
            tx.replies.finish(caller, key, status=status, headers=headers, body=body, subjects=subjects)
        return True

    def observed(self, content: str, *, since: datetime, scope: Scope, session: str | None) -> Turn | None:
        """Return the message that a request kept before it was cut off, if it came that far."""
        with self._store.read() as tx:
            latest = tx.turns.list(scope=scope, session=session, limit=_LATEST_TURNS)
        for turn in latest:
            is_here = (turn.scope, turn.session) == (scope, session)
            is_same = is_here and turn.content in (content, content.strip())
            if is_same and since <= turn.created_at <= since + CUT_OFF_WITHIN:
                return turn
        return None

    def drop(self, caller: str, key: str) -> None:
        """Forget a key: its request may be sent again and is then carried out."""
        with self._store.atomic() as tx:
            tx.replies.drop(caller, key)
