"""
The tables `replies` and `reply_subjects`: answers by the caller's key, and the ids that each names.

Written by the engine in two small transactions, before and after a request. Triggers of the layout empty
an answer when something that it names is erased; the key stays, so that no old request brings it back. A
memory that was erased between its write and its answer has had its trigger, and is looked for here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.contract.replies import Reply
from engram.store.sqlite.rows import from_json, to_json
from engram.store.sqlite.times import from_microseconds, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    import apsw

_GET = "SELECT request, status, headers, body, at FROM replies WHERE caller = ? AND key = ?"
_BEGIN = "INSERT OR REPLACE INTO replies (caller, key, request, at) VALUES (?, ?, ?, ?)"
_FINISH = "UPDATE replies SET status = ?, headers = ?, body = ? WHERE caller = ? AND key = ?"
_NAME = "INSERT OR IGNORE INTO reply_subjects (subject, caller, key) VALUES (?, ?, ?)"
_DROP = "DELETE FROM replies WHERE caller = ? AND key = ?"
_ERASE = (
    "UPDATE replies SET request = X'', status = 410, headers = NULL, body = NULL "
    "WHERE caller = ?1 AND key = ?2 AND EXISTS (SELECT 1 FROM reply_subjects s JOIN memories m "
    "ON m.id = s.subject WHERE s.caller = ?1 AND s.key = ?2 AND m.status = 'erased')"
)
_EXPIRE = "DELETE FROM replies WHERE at < ?"


class RepliesTable:
    """Answers by caller and key."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def get(self, caller: str, key: str) -> Reply | None:
        """Return what is known of a key."""
        row: Any = self._connection.execute(_GET, (caller, key)).fetchone()
        if row is None:
            return None
        request, status, headers, body, at = row
        told = from_json(headers) if headers else {}
        return Reply(request=request, status=status, headers=told, body=body, at=from_microseconds(at))

    def begin(self, caller: str, key: str, *, request: bytes, at: datetime) -> None:
        """Note that a request is under way; one that was under way before is noted anew."""
        self._connection.execute(_BEGIN, (caller, key, request, to_microseconds(at)))

    def finish(
        self,
        caller: str,
        key: str,
        *,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        subjects: Collection[str],
    ) -> None:
        """Keep an answer, and the ids of what it names; empty where a memory was erased meanwhile."""
        self._connection.execute(_FINISH, (status, to_json(dict(headers)), body, caller, key))
        if self._connection.changes():  # the key may have expired while a long request was under way
            self._connection.executemany(_NAME, [(one, caller, key) for one in subjects])
            self._connection.execute(_ERASE, (caller, key))

    def drop(self, caller: str, key: str) -> None:
        """Forget a key: its request may be sent again."""
        self._connection.execute(_DROP, (caller, key))

    def expire(self, *, before: datetime) -> None:
        """Forget the keys that were begun before a moment."""
        self._connection.execute(_EXPIRE, (to_microseconds(before),))
