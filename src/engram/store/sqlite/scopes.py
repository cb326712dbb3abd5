"""
The table `scopes`, and the SQL that keeps every read inside one.

Used by every table that holds something of someone's. A reader sees at most thirty-two scopes, found
by a handful of look-ups in one unique index, however many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.values import Scope

if TYPE_CHECKING:
    import apsw

VISIBLE = (
    "SELECT id FROM scopes WHERE project IN ('', ?) AND squad IN ('', ?) AND agent IN ('', ?) "
    "AND channel IN ('', ?) AND user IN ('', ?)"
)
"""The numbers of the scopes that a reader may see; takes `names(scope)`."""

_EXACT = "SELECT id FROM scopes WHERE project = ? AND squad = ? AND agent = ? AND channel = ? AND user = ?"


def names(scope: Scope) -> tuple[str, ...]:
    """Return the five columns of a scope, in which an empty text stands for none."""
    return tuple(name or "" for name in scope.parts)


class ScopesTable:
    """Scopes by number."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._known: dict[Scope, int] = {}

    def visible(self, scope: Scope) -> list[int]:
        """Return the numbers of the stored scopes that a reader in this scope may see."""
        return [number for (number,) in self._connection.execute(VISIBLE, names(scope))]

    def find(self, scope: Scope) -> int | None:
        """Return the number of exactly this scope, if anything was stored in it."""
        if scope not in self._known:
            row = self._connection.execute(_EXACT, names(scope)).fetchone()
            if row is None:
                return None
            self._known[scope] = row[0]
        return self._known[scope]

    def get(self, number: int) -> Scope:
        """Return the scope with this number."""
        sql = "SELECT project, squad, agent, channel, user FROM scopes WHERE id = ?"
        rows: list[Any] = self._connection.execute(sql, (number,)).fetchall()
        project, squad, agent, channel, user = (name or None for name in rows[0])
        return Scope(project=project, squad=squad, agent=agent, channel=channel, user=user)

    def make(self, scope: Scope) -> int:
        """Return the number of this scope, made if need be."""
        found = self.find(scope)
        if found is not None:
            return found
        columns = "(project, squad, agent, channel, user)"
        self._connection.execute(f"INSERT INTO scopes {columns} VALUES (?, ?, ?, ?, ?)", names(scope))
        return self._connection.last_insert_rowid()
