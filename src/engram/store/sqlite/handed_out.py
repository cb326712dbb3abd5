"""
The table `handed_out`: which memories a reader was given lately.

Written after a recall, read when a statement of the agent comes in: an echo of what it was given is no news.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.sqlite.rows import SELECTED, from_row
from engram.store.sqlite.scopes import ScopesTable
from engram.store.sqlite.times import to_microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import apsw

    from engram.values import Memory, MemoryId, Scope

_ADD = "INSERT OR REPLACE INTO handed_out (scope, session, memory_id, at) VALUES (?, ?, ?, ?)"
_SINCE = (
    f"SELECT {SELECTED} FROM memories m JOIN scopes s ON s.id = m.scope "
    "JOIN handed_out h ON h.memory_id = m.id "
    "WHERE h.scope = ? AND h.at >= ? GROUP BY m.id ORDER BY max(h.at) DESC LIMIT ?"
)


class HandedOutTable:
    """Memories by who was given them, and when."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def add(self, memory_ids: Iterable[MemoryId], *, scope: Scope, session: str, at: datetime) -> None:
        """Note that these memories were given to a reader in this scope."""
        number, moment = self._scopes.make(scope), to_microseconds(at)
        self._connection.executemany(_ADD, [(number, session, memory, moment) for memory in memory_ids])

    def since(self, moment: datetime, *, scope: Scope, limit: int) -> Sequence[Memory]:
        """Return what readers in exactly this scope were given since then, latest first."""
        asked = (self._scopes.find(scope), to_microseconds(moment), limit)
        rows: list[Any] = self._connection.execute(_SINCE, asked).fetchall()
        return [from_row(row) for row in rows]

    def prune(self, before: datetime) -> None:
        """Forget what was given before that moment."""
        self._connection.execute("DELETE FROM handed_out WHERE at < ?", (to_microseconds(before),))
