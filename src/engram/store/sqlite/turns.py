"""
The table `turns`: what was said, never rewritten.

Written by `observe` alone. Turns are kept as they came, whatever memories were made of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.sqlite.connection import only
from engram.store.sqlite.failures import readable
from engram.store.sqlite.rows import scope_from, to_json
from engram.store.sqlite.scopes import VISIBLE, ScopesTable, names
from engram.store.sqlite.times import from_microseconds, optional_from_microseconds, to_microseconds
from engram.values import Role, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import apsw

    from engram.values import Scope, TurnId

_COLUMNS = "id, scope, session, role, speaker, content, occurred_at, created_at"
_SELECT = (
    "SELECT t.id, t.session, t.role, t.speaker, t.content, t.occurred_at, t.created_at, "
    "s.project, s.squad, s.agent, s.channel, s.user FROM turns t JOIN scopes s ON s.id = t.scope"
)


_SAID_AT = "SELECT occurred_at, scope FROM turns WHERE id = ?"
_UNREAD = "extracted_at IS NULL AND coalesce(claimed_until, 0) <= ?"
_CLAIM = (
    f"UPDATE turns SET claimed_until = ? WHERE key IN (SELECT key FROM turns WHERE {_UNREAD} "
    "AND scope = ? AND session IS ? ORDER BY key LIMIT ?) RETURNING key"
)
_PENDING_AMONG = (
    "SELECT count(*) FROM turns WHERE extracted_at IS NULL AND id IN (SELECT value FROM json_each(?))"
)
_SETTLE = "UPDATE turns SET extracted_at = ? WHERE id IN (SELECT value FROM json_each(?))"
_PENDING = "SELECT count(*), min(created_at) FROM turns WHERE extracted_at IS NULL"


class TurnsTable:
    """Turns by id and by session."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def add(self, turn: Turn) -> None:
        """Store a turn."""
        scope = self._scopes.make(turn.scope)
        times = (to_microseconds(turn.occurred_at), to_microseconds(turn.created_at))
        row = (turn.id, scope, turn.session, turn.role, turn.speaker, turn.content, *times)
        self._connection.execute(f"INSERT INTO turns ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def get(self, turn_id: TurnId, *, scope: Scope) -> Turn | None:
        """Return a turn that this scope may see."""
        sql = f"{_SELECT} WHERE t.id = ? AND t.scope IN ({VISIBLE})"
        row = self._connection.execute(sql, (turn_id, *names(scope))).fetchone()
        with readable("turns"):
            return None if row is None else _turn(row)

    def said_at(self, turn_id: TurnId, *, scope: Scope) -> datetime | None:
        """Return when a turn was said that this scope may see; asked for each neighbour of a statement."""
        row: Any = self._connection.execute(_SAID_AT, (turn_id,)).fetchone()
        if row is None:
            return None
        moment, home = row
        is_visible = home == self._scopes.find(scope) or home in self._scopes.visible(scope)
        with readable("turns"):
            return from_microseconds(moment) if is_visible else None

    def ids_ending_with(self, ending: str, *, scope: Scope) -> Sequence[TurnId]:
        """Return the ids that end in these eight characters: what people copy from a list."""
        sql = f"SELECT t.id FROM turns t WHERE substr(t.id, -8) = ? AND t.scope IN ({VISIBLE})"
        rows: list[Any] = self._connection.execute(sql, (ending, *names(scope))).fetchall()
        return [turn_id for (turn_id,) in rows]

    def list(
        self, *, scope: Scope, session: str | None, limit: int, before: TurnId | None = None
    ) -> Sequence[Turn]:
        """Return the latest turns, or the latest before the given one, oldest of them first."""
        condition, parameters = f"t.scope IN ({VISIBLE})", list[Any](names(scope))
        if session is not None:
            condition += " AND t.session = ?"
            parameters.append(session)
        if before is not None:
            condition += " AND t.key < (SELECT key FROM turns WHERE id = ?)"
            parameters.append(before)
        sql = f"{_SELECT} WHERE {condition} ORDER BY t.key DESC LIMIT ?"
        rows: list[Any] = self._connection.execute(sql, (*parameters, limit)).fetchall()
        with readable("turns"):
            return [_turn(row) for row in reversed(rows)]

    def claim(
        self, *, now: datetime, until: datetime, limit: int, within: tuple[Scope, str | None] | None = None
    ) -> Sequence[Turn]:
        """Take the oldest turns of one conversation that nobody has read yet, and return them in order."""
        moment = to_microseconds(now)
        place: Any = (self._scopes.find(within[0]), within[1]) if within else self._oldest_place(moment)
        if place is None:
            return []
        claimed: list[Any] = self._connection.execute(
            _CLAIM, (to_microseconds(until), moment, *place, limit)
        ).fetchall()
        sql = f"{_SELECT} WHERE t.key IN (SELECT value FROM json_each(?)) ORDER BY t.key"
        rows = self._connection.execute(sql, (to_json([key for (key,) in claimed]),))
        with readable("turns"):
            return [_turn(row) for row in rows]

    def _oldest_place(self, moment: int) -> Any:
        sql = f"SELECT scope, session FROM turns WHERE {_UNREAD} ORDER BY key LIMIT 1"
        return self._connection.execute(sql, (moment,)).fetchone()

    def settle(self, turn_ids: Sequence[TurnId], *, now: datetime) -> bool:
        """Note that the turns have been read; says False, and changes nothing, if one of them was already."""
        wanted = to_json(list(turn_ids))
        if only(self._connection, _PENDING_AMONG, (wanted,)) != len(turn_ids):
            return False
        self._connection.execute(_SETTLE, (to_microseconds(now), wanted))
        return True

    def release(self, turn_ids: Sequence[TurnId]) -> None:
        """Give claimed turns back."""
        sql = "UPDATE turns SET claimed_until = NULL WHERE id IN (SELECT value FROM json_each(?))"
        self._connection.execute(sql, (to_json(list(turn_ids)),))

    def pending(self, within: tuple[Scope, str | None] | None = None) -> tuple[int, datetime | None]:
        """Return how many turns wait to be read, of one conversation or of all, and since when the oldest."""
        place: Any = () if within is None else (self._scopes.find(within[0]), within[1])
        sql = _PENDING if within is None else f"{_PENDING} AND scope = ? AND session IS ?"
        row: Any = self._connection.execute(sql, place).fetchone()
        return row[0], optional_from_microseconds(row[1])

    def count(self) -> int:
        """Return how many turns are stored."""
        total: int = only(self._connection, "SELECT count(*) FROM turns")
        return total


def _turn(row: Sequence[Any]) -> Turn:
    turn_id, session, role, speaker, content, occurred_at, created_at = row[:7]
    return Turn(
        id=turn_id,
        content=content,
        role=Role(role),
        speaker=speaker,
        session=session,
        scope=scope_from(row[7:]),
        occurred_at=from_microseconds(occurred_at),
        created_at=from_microseconds(created_at),
    )
