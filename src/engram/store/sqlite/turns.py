"""
The table `turns`: what was said, never rewritten.

Written by `observe` alone. Turns are kept as they came, whatever memories were made of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.sqlite.connection import only
from engram.store.sqlite.failures import readable
from engram.store.sqlite.rows import scope_from
from engram.store.sqlite.scopes import VISIBLE, ScopesTable, names
from engram.store.sqlite.times import from_microseconds, to_microseconds
from engram.values import Role, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from engram.values import Scope, TurnId

_COLUMNS = "id, scope, session, role, speaker, content, occurred_at, created_at"
_SELECT = (
    "SELECT t.id, t.session, t.role, t.speaker, t.content, t.occurred_at, t.created_at, "
    "s.project, s.squad, s.agent, s.channel, s.user FROM turns t JOIN scopes s ON s.id = t.scope"
)


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

    def list(self, *, scope: Scope, session: str | None, limit: int) -> Sequence[Turn]:
        """Return the latest turns, oldest of them first."""
        condition = f"t.scope IN ({VISIBLE})" + (" AND t.session = ?" if session is not None else "")
        parameters = (*names(scope), *(() if session is None else (session,)), limit)
        sql = f"{_SELECT} WHERE {condition} ORDER BY t.key DESC LIMIT ?"
        rows: list[Any] = self._connection.execute(sql, parameters).fetchall()
        with readable("turns"):
            return [_turn(row) for row in reversed(rows)]

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
