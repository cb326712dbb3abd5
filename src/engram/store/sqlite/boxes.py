"""
The table `boxes`: stretches of one topic.

Written by the gate as memories come in; there is at most one open box in a scope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.sqlite.rows import from_json, scope_from, to_json
from engram.store.sqlite.scopes import ScopesTable
from engram.store.sqlite.times import (
    from_microseconds,
    optional_from_microseconds,
    optional_to_microseconds,
    to_microseconds,
)
from engram.values import Box

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from engram.values import Scope

_COLUMNS = "id, scope, trace, topics, opened_at, last_at, sealed_at, memories"
_SELECT = (
    "SELECT b.id, b.trace, b.topics, b.opened_at, b.last_at, b.sealed_at, b.memories, "
    "s.project, s.squad, s.agent, s.channel, s.user FROM boxes b JOIN scopes s ON s.id = b.scope"
)


class BoxesTable:
    """Boxes by scope."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def open_in(self, scope: Scope) -> Box | None:
        """Return the box of exactly this scope that still takes memories, if there is one."""
        sql = f"{_SELECT} WHERE b.scope = ? AND b.sealed_at IS NULL ORDER BY b.last_at DESC LIMIT 1"
        row: Any = self._connection.execute(sql, (self._scopes.find(scope),)).fetchone()
        return None if row is None else _box(row)

    def put(self, box: Box) -> None:
        """Store a box in place of its earlier state."""
        times = (to_microseconds(box.opened_at), to_microseconds(box.last_at))
        topics = {"all": sorted(box.topics), "recent": [sorted(each) for each in box.recent]}
        row = (box.id, self._scopes.make(box.scope), box.trace, to_json(topics), *times)
        sql = (
            f"INSERT INTO boxes ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "trace = excluded.trace, topics = excluded.topics, last_at = excluded.last_at, "
            "sealed_at = excluded.sealed_at, memories = excluded.memories"
        )
        self._connection.execute(sql, (*row, optional_to_microseconds(box.sealed_at), box.memories))

    def sealed(self, scope: Scope, *, limit: int) -> Sequence[Box]:
        """Return the latest sealed boxes of exactly this scope, newest first."""
        sql = f"{_SELECT} WHERE b.scope = ? AND b.sealed_at IS NOT NULL ORDER BY b.last_at DESC LIMIT ?"
        rows: list[Any] = self._connection.execute(sql, (self._scopes.find(scope), limit)).fetchall()
        return [_box(row) for row in rows]


def _box(row: Sequence[Any]) -> Box:
    box_id, trace, topics, opened_at, last_at, sealed_at, memories = row[:7]
    told = from_json(topics)
    return Box(
        id=box_id,
        trace=trace,
        topics=frozenset(told["all"]),
        recent=tuple([frozenset(each) for each in told["recent"]]),
        opened_at=from_microseconds(opened_at),
        last_at=from_microseconds(last_at),
        sealed_at=optional_from_microseconds(sealed_at),
        memories=memories,
        scope=scope_from(row[7:]),
    )
