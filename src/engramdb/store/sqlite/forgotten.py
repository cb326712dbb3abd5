"""The tables `forgotten` and `forgotten_key`: keyed sketches of what must not come back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engramdb.store.contract.forgotten import ForgottenRow
from engramdb.store.sqlite.connection import single_value
from engramdb.store.sqlite.filters import VISIBLE, ScopesTable, scope_columns
from engramdb.store.sqlite.rows import from_microseconds, scope_from, to_json, to_microseconds
from engramdb.values import MemoryId, Scope

if TYPE_CHECKING:
    import apsw

_SELECT = (
    "SELECT f.number, f.memory, f.scope, f.at, f.since, f.sketch, m.session, m.speaker, "
    "s.project, s.squad, s.agent, s.channel, s.user "
    "FROM forgotten f JOIN scopes s ON s.id = f.scope LEFT JOIN memories m ON m.id = f.memory"
)
_SEEN = f"{_SELECT} WHERE f.scope IN ({VISIBLE}) ORDER BY f.number"
_OF_MEMORIES = f"{_SELECT} WHERE f.memory IN (SELECT value FROM json_each(?)) ORDER BY f.number"
_ADD = "INSERT OR REPLACE INTO forgotten (scope, memory, at, since, sketch) VALUES (?, ?, ?, ?, ?)"
_STAMP = "SELECT count(*), coalesce(max(since), '') FROM forgotten"


class ForgottenTable:
    """What was forgotten, by memory."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def key(self) -> bytes:
        """Return the key that all sketches of this store are made with."""
        found: bytes = single_value(self._connection, "SELECT key FROM forgotten_key")
        return found

    def stamp(self) -> tuple[int, str]:
        """Return what changes whenever something is forgotten or brought back."""
        rows: list[Any] = self._connection.execute(_STAMP).fetchall()
        (count, latest) = rows[0]
        return int(count), str(latest)

    def visible(self, scope: Scope) -> Sequence[ForgottenRow]:
        """Return what was forgotten in this scope and in every wider one."""
        return [_row(row) for row in self._connection.execute(_SEEN, scope_columns(scope))]

    def of_memories(self, memory_ids: Sequence[MemoryId]) -> Sequence[ForgottenRow]:
        """Return what is noted of these memories."""
        return [_row(row) for row in self._connection.execute(_OF_MEMORIES, (to_json(list(memory_ids)),))]

    def add(
        self, memory_id: MemoryId, *, scope: Scope, at: datetime, since: str, sketch: bytes | None = None
    ) -> None:
        """Note that a memory was forgotten, in place of an earlier note."""
        place = self._scopes.make(scope)
        self._connection.execute(_ADD, (place, memory_id, to_microseconds(at), since, sketch))

    def set_sketch(self, number: int, sketch: bytes) -> None:
        """Store the sketch of a row that has none yet."""
        self._connection.execute("UPDATE forgotten SET sketch = ? WHERE number = ?", (sketch, number))

    def drop(self, memory_ids: Sequence[MemoryId]) -> None:
        """Let memories come back."""
        sql = "DELETE FROM forgotten WHERE memory IN (SELECT value FROM json_each(?))"
        self._connection.execute(sql, (to_json(list(memory_ids)),))

    def count(self) -> int:
        """Return how many statements are kept from coming back."""
        return int(single_value(self._connection, "SELECT count(*) FROM forgotten"))


def _row(row: Sequence[Any]) -> ForgottenRow:
    number, memory, scope, at, since, sketch, session, speaker, *names = row
    return ForgottenRow(
        number=number,
        memory_id=memory,
        scope=scope_from(names),
        scope_number=scope,
        at=from_microseconds(at),
        since=since,
        session=session,
        speaker=speaker,
        sketch=sketch,
    )
