"""
The table `memories`.

Every write takes the next number of the change counter, which is how indexes in this and in other
processes learn what to read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from engram.errors import MemoryNotFound
from engram.store.sqlite.connection import only
from engram.store.sqlite.failures import readable
from engram.store.sqlite.filters import are_few, still_there, where_narrowed
from engram.store.sqlite.rows import COLUMNS, SELECTED, from_row, scope_from, to_json, to_row
from engram.store.sqlite.scopes import VISIBLE, ScopesTable, names
from engram.store.sqlite.traits import TraitsTable
from engram.values import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import apsw

    from engram.values import Filters, Memory, MemoryId, Scope

_SELECT = f"SELECT {SELECTED} FROM memories m JOIN scopes s ON s.id = m.scope"
_SELECT_KEYED = f"SELECT {SELECTED}, m.key FROM memories m JOIN scopes s ON s.id = m.scope"
_PLACES = ", ".join("?" * (len(COLUMNS) + 3))
_INSERT = f"INSERT INTO memories (change, fingerprint, scope, {', '.join(COLUMNS)}) VALUES ({_PLACES})"
_SET = ", ".join(f"{name} = ?" for name in COLUMNS)
_UPDATE = f"UPDATE memories SET change = ?, {_SET} WHERE id = ? RETURNING key"
_MENTIONED = "SELECT traits, speaker FROM memories WHERE id = ?"
_NEXT_CHANGE = "UPDATE counters SET value = value + ? WHERE name = 'change' RETURNING value"
_INDEXED = to_json([status for status in Status if status.is_indexed])
_BLANK = (
    "DELETE FROM handed_out WHERE memory_id = ?",
    "DELETE FROM memory_traits WHERE memory = (SELECT key FROM memories WHERE id = ?)",
    "DELETE FROM recall_sessions WHERE memory = (SELECT key FROM memories WHERE id = ?)",
    "UPDATE memories SET content = '', fingerprint = randomblob(32), subject = NULL, predicate = NULL, "
    "object = NULL, speaker = NULL, session = NULL, verbatim = NULL, detail = '{}', traits = '{}', "
    "turns = '[]', category = 'general', enriched = 1 WHERE id = ?",
)
_COUNTS = {
    "status": "SELECT status, count(*) FROM memories GROUP BY 1",
    "layer": "SELECT layer, count(*) FROM memories WHERE status = 'active' GROUP BY 1",
}
_SCOPE_COUNTS = (
    "SELECT s.project, s.squad, s.agent, s.channel, s.user, count(*) FROM memories m "
    "JOIN scopes s ON s.id = m.scope WHERE m.status = 'active' GROUP BY m.scope ORDER BY 6 DESC LIMIT ?"
)


def next_change(connection: apsw.Connection) -> int:
    """Return the next number of the change counter, inside a write."""
    return next_changes(connection, 1)[0]


def next_changes(connection: apsw.Connection, count: int) -> range:
    """Return the next so many numbers of the change counter, inside a write."""
    last: int = only(connection, _NEXT_CHANGE, (count,))
    return range(last - count + 1, last + 1)


class MemoriesTable:
    """Memories by id and by key."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)
        self._traits = TraitsTable(connection)

    def add(self, memory: Memory, *, fingerprint: bytes) -> int:
        """Store a new memory and return its key."""
        scope = self._scopes.make(memory.scope)
        change = next_change(self._connection)
        self._connection.execute(_INSERT, (change, fingerprint, scope, *to_row(memory)))
        key = self._connection.last_insert_rowid()
        self._traits.add(key, memory)
        return key

    def replace(self, memory: Memory) -> int:
        """Store a changed memory under its id and return its key."""
        mentioned = self._connection.execute(_MENTIONED, (memory.id,)).fetchone()
        change = next_change(self._connection)
        changed: list[Any] = self._connection.execute(
            _UPDATE, (change, *to_row(memory), memory.id)
        ).fetchall()
        if not changed:
            raise MemoryNotFound(f"no memory has the id {memory.id}")
        key: int = changed[0][0]
        if mentioned != (to_json(memory.traits), memory.provenance.speaker):
            self._traits.put(key, memory)
        return key

    def get(self, memory_id: MemoryId, *, scope: Scope) -> Memory | None:
        """Return a memory that this scope may see."""
        sql = f"{_SELECT} WHERE m.id = ? AND m.scope IN ({VISIBLE})"
        row = self._connection.execute(sql, (memory_id, *names(scope))).fetchone()
        return None if row is None else from_row(row)

    def by_keys(self, keys: Sequence[int]) -> dict[int, Memory]:
        """Return the memories that exist, by key."""
        sql = f"{_SELECT_KEYED} WHERE m.key IN (SELECT value FROM json_each(?))"
        rows = self._connection.execute(sql, (to_json(list(keys)),))
        return {row[-1]: from_row(row) for row in rows}

    def active_twin(self, fingerprint: bytes, *, scope: Scope) -> Memory | None:
        """Return the active memory of exactly this scope with this fingerprint."""
        sql = f"{_SELECT} WHERE m.scope = ? AND m.fingerprint = ? AND m.status = 'active'"
        row = self._connection.execute(sql, (self._scopes.find(scope), fingerprint)).fetchone()
        return None if row is None else from_row(row)

    def blank(self, memory_id: MemoryId) -> None:
        """Take every word of a memory out of its row and out of the notes about who was given it."""
        for sql in _BLANK:
            self._connection.execute(sql, (memory_id,))

    def has_active_twin(self, memory_id: MemoryId) -> bool:
        """Say whether another memory of the same scope is active with the same fingerprint."""
        sql = (
            "SELECT 1 FROM memories m JOIN memories o ON o.scope = m.scope AND o.fingerprint = m.fingerprint "
            "WHERE m.id = ? AND o.id <> m.id AND o.status = 'active'"
        )
        return self._connection.execute(sql, (memory_id,)).fetchone() is not None

    def unenriched(self, *, limit: int) -> dict[int, Memory]:
        """Return active memories that nothing was inferred from yet, oldest first, by key."""
        sql = f"{_SELECT_KEYED} WHERE m.enriched = 0 AND m.status = 'active' ORDER BY m.key LIMIT ?"
        return {row[-1]: from_row(row) for row in self._connection.execute(sql, (limit,))}

    def count_unenriched(self) -> int:
        """Return how many those are."""
        sql = "SELECT count(*) FROM memories WHERE enriched = 0 AND status = 'active'"
        total: int = only(self._connection, sql)
        return total

    def mark_enriched(self, key: int) -> None:
        """Note that what can be inferred from a memory has been."""
        self._connection.execute("UPDATE memories SET enriched = 1 WHERE key = ?", (key,))

    def of_session(self, session: str, *, scope: Scope) -> Sequence[str]:
        """Return what was stated in a session of exactly this scope and still holds, oldest first."""
        sql = (
            "SELECT content FROM memories WHERE session = ? AND scope = ? AND status = 'active' "
            "AND coalesce(extractor, '') NOT LIKE 'session-%' ORDER BY key"
        )
        rows: Sequence[Any] = self._connection.execute(sql, (session, self._scopes.find(scope))).fetchall()
        return [content for (content,) in rows]

    def summary_of(self, session: str, *, scope: Scope) -> Memory | None:
        """Return the latest active summary of a session of exactly this scope."""
        sql = (
            f"{_SELECT} WHERE m.session = ? AND m.scope = ? AND m.status = 'active' "
            "AND m.extractor LIKE 'session-%' ORDER BY m.key DESC LIMIT 1"
        )
        row = self._connection.execute(sql, (session, self._scopes.find(scope))).fetchone()
        return None if row is None else from_row(row)

    def with_predicate(self, predicate: str, *, scope: Scope, limit: int) -> list[int]:
        """Return the keys of the newest active memories of exactly this scope with this relation."""
        sql = (
            "SELECT key FROM memories WHERE scope = ? AND predicate = ? AND status = 'active' "
            "ORDER BY key DESC LIMIT ?"
        )
        rows: list[Any] = self._connection.execute(
            sql, (self._scopes.find(scope), predicate, limit)
        ).fetchall()
        return [key for (key,) in rows]

    def ids_ending_with(self, ending: str, *, scope: Scope) -> list[MemoryId]:
        """Return the ids that end in these eight characters: what people copy from a list."""
        sql = f"SELECT m.id FROM memories m WHERE substr(m.id, -8) = ? AND m.scope IN ({VISIBLE})"
        return [memory_id for (memory_id,) in self._connection.execute(sql, (ending, *names(scope)))]

    def list(
        self,
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
        before: MemoryId | None,
        alive_at: datetime | None = None,
    ) -> Sequence[Memory]:
        """
        Return memories that this scope may see, newest first, from before the given one.

        With `alive_at`, what has a last day that is over by then counts as gone.
        """
        clause = where_narrowed(self._connection, scope, filters)
        condition, parameters = still_there(clause, alive_at)
        if before is not None:
            condition += " AND m.key < (SELECT key FROM memories WHERE id = ?)"
            parameters.append(before)
        # The keys first: sorting whole rows of a large scope takes a hundred times as long.
        newest = f"SELECT m.key FROM memories m WHERE {condition} ORDER BY m.key DESC LIMIT ?"
        sql = f"{_SELECT} WHERE m.key IN ({newest}) ORDER BY m.key DESC"
        return [from_row(row) for row in self._connection.execute(sql, (*parameters, limit))]

    def pinned(self, *, scope: Scope, limit: int) -> Sequence[Memory]:
        """Return the pinned and active memories that this scope may see, newest first."""
        sql = (
            f"{_SELECT} WHERE m.pinned AND m.status = 'active' AND m.scope IN ({VISIBLE}) "
            "ORDER BY m.key DESC LIMIT ?"
        )
        return [from_row(row) for row in self._connection.execute(sql, (*names(scope), limit))]

    def keys_passing(self, *, scope: Scope, filters: Filters, limit: int) -> Sequence[int] | None:
        """
        Return the keys of all that pass, in order; None where they are more than the limit.

        None too where every word of the filters is so common that listing its memories would take long.
        """
        if filters.needs_store and not are_few(self._connection, scope, filters):
            return None
        condition, parameters = where_narrowed(self._connection, scope, filters)
        sql = f"SELECT m.key FROM memories m WHERE {condition} LIMIT ?"
        rows: Sequence[Any] = self._connection.execute(sql, (*parameters, limit + 1)).fetchall()
        return None if len(rows) > limit else sorted(key for (key,) in rows)

    def indexable(self, *, after_key: int, limit: int) -> dict[int, Memory]:
        """Return memories whose status is indexed, in key order, for a rebuild."""
        condition = "m.key > ? AND m.status IN (SELECT value FROM json_each(?))"
        sql = f"{_SELECT_KEYED} WHERE {condition} ORDER BY m.key LIMIT ?"
        rows = self._connection.execute(sql, (after_key, _INDEXED, limit))
        return {row[-1]: from_row(row) for row in rows}

    def count(self) -> int:
        """Return how many memories are stored, in any status."""
        total: int = only(self._connection, "SELECT count(*) FROM memories")
        return total

    def count_by(self, column: Literal["status", "layer"]) -> dict[str, int]:
        """Return counts by `status`, or by `layer` among the active."""
        rows: list[Any] = self._connection.execute(_COUNTS[column]).fetchall()
        return dict(rows)

    def largest_scopes(self, *, limit: int) -> dict[Scope, int]:
        """Return the scopes with the most active memories."""
        rows: list[Any] = self._connection.execute(_SCOPE_COUNTS, (limit,)).fetchall()
        with readable("scopes"):
            return {scope_from(row[:5]): row[5] for row in rows}
