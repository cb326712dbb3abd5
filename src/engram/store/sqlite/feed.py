"""
The table `history` read as a feed: what changed after a row, for those who may see it.

Used through `store.contract.feed`. There is one writer at a time, so row numbers are given in the order
in which their transactions end, and whoever has read up to one has missed none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.contract.feed import FeedEntry, FeedPage
from engram.store.sqlite.connection import only
from engram.store.sqlite.failures import readable
from engram.store.sqlite.scopes import VISIBLE, names
from engram.store.sqlite.times import from_microseconds
from engram.values import Action, Kind, Status

if TYPE_CHECKING:
    import apsw

    from engram.values import Scope

_LATEST = "SELECT coalesce(max(key), 0) FROM history"
_NEXT = "SELECT key FROM history WHERE key > ? ORDER BY key LIMIT ?"
_SEEN = (
    "SELECT h.key, h.memory_id, h.action, m.kind, h.new_status, h.at "
    "FROM history h JOIN memories m ON m.id = h.memory_id "
    f"WHERE h.key > ? AND h.key <= ? AND m.scope IN ({VISIBLE}) ORDER BY h.key"
)


class FeedTable:
    """Changes in the order in which they were made."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def latest(self) -> int:
        """Return the place after which nothing has happened yet."""
        return int(only(self._connection, _LATEST))

    def after(self, cursor: int, *, scope: Scope, limit: int) -> FeedPage:
        """Return what happened after a place to the memories that a scope sees."""
        keys: list[Any] = self._connection.execute(_NEXT, (cursor, limit)).fetchall()
        if not keys:
            return FeedPage(cursor=cursor)
        last = int(keys[-1][0])
        rows: list[Any] = self._connection.execute(_SEEN, (cursor, last, *names(scope))).fetchall()
        with readable("history"):
            entries = tuple(_entry(row) for row in rows)
        return FeedPage(entries=entries, cursor=last)


def _entry(row: Any) -> FeedEntry:
    key, memory, action, kind, status, at = row
    return FeedEntry(
        cursor=key,
        memory_id=memory,
        action=Action(action),
        kind=Kind(kind),
        status=Status(status) if status else None,
        at=from_microseconds(at),
    )
