"""
Replies stored for a day by idempotency key, so that a write may be sent again without harm.

Used by the HTTP server, around the verb that carries the write out. The process that carries a key out holds
a lease of it in the store, renewed for as long as that takes, so other processes leave it alone. A key whose
reply was never stored and whose lease ran out, because the process was killed, is carried out again:
admission recognizes a statement that is stored already, and `observed` a message, so nothing is added twice.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

from engramdb.clock import Clock
from engramdb.errors import RequestUnderWay
from engramdb.store.contract import Store
from engramdb.store.contract.documents import StoredReply
from engramdb.values import Scope, Turn

KEPT_FOR: Final = timedelta(days=1)
CUT_OFF_WITHIN: Final = timedelta(seconds=5)
"""
How long a key stays with a process that shows no more sign of life.

A message that was cut off was written within this time of its beginning; the same words later are said again.
"""
_LATEST_TURNS: Final = 200
MOST_BYTES: Final = 1_000_000
"""A larger reply is not stored; none of a single write comes near it."""
_ID: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What every id of a memory and a turn looks like."""


def ids_in(body: bytes) -> frozenset[str]:
    """Return the ids of memories and turns that an answer names."""
    return frozenset(found.decode() for found in _ID.findall(body))


def _lease(caller: str, key: str) -> str:
    """Return what the lease of a key is called: a hash, for a key is its caller's own business."""
    return f"reply {blake2b(f'{caller} {key}'.encode(), digest_size=16).hexdigest()}"


class ReplyStore:
    """Answers by caller and key, as one process keeps them."""

    renew_seconds = 1.0
    """How often who carries a key out is to give a sign of life: a stalled machine may miss a few."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._owner = secrets.token_hex(8)

    def begin(self, caller: str, key: str, *, request: bytes) -> StoredReply | None:
        """
        Return what is known of a key; None where nothing is, and the request is now noted as begun.

        Where there is no answer yet, the key is now this process's to carry out and to `renew`. Raises
        `RequestUnderWay` where another one is at it.
        """
        now = self._clock.now()
        with self._store.atomic() as tx:
            tx.replies.expire(before=now - KEPT_FOR)
            tx.leases.expire(before=now - KEPT_FOR)
            known = tx.replies.get(caller, key)
            if known is not None and (known.status is not None or known.request != request):
                return known
            until = now + CUT_OFF_WITHIN
            is_ours = tx.leases.take(
                _lease(caller, key), self._owner, now=now, until=until, is_gone=lambda _: False
            )
            if is_ours and known is None:
                tx.replies.begin(caller, key, request=request, at=now)
        if not is_ours:  # raised out here, or what `take` has noted would be taken back
            raise RequestUnderWay("a request with this key is under way")
        return known

    def renew(self, caller: str, key: str) -> bool:
        """Show that a request is still being carried out; says False where another process has taken over."""
        until = self._clock.now() + CUT_OFF_WITHIN
        with self._store.atomic() as tx:
            return tx.leases.renew(_lease(caller, key), self._owner, until=until)

    def keep(
        self,
        caller: str,
        key: str,
        *,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        subjects: Collection[str],
    ) -> bool:
        """
        Store a reply and return whether that was done; one that is too large leaves no trace of its key.

        `subjects` are the ids of what the answer shows: it is emptied when one of these is erased.
        """
        if len(body) > MOST_BYTES:
            self.drop(caller, key)
            return False
        with self._store.atomic() as tx:
            tx.replies.finish(caller, key, status=status, headers=headers, body=body, subjects=subjects)
            tx.leases.release(_lease(caller, key), self._owner)
        return True

    def observed(self, content: str, *, since: datetime, scope: Scope, session: str | None) -> Turn | None:
        """Return the message that a request stored before it was cut off, if it came that far."""
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
            tx.leases.release(_lease(caller, key), self._owner)
