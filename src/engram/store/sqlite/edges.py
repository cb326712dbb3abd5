"""
The table `edges`: typed links between memories, free of circles of inference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.sqlite.failures import readable
from engram.store.sqlite.rows import to_json
from engram.store.sqlite.times import from_microseconds, to_microseconds
from engram.values import Edge, EdgeType, check_edge

if TYPE_CHECKING:
    import apsw

    from engram.values import MemoryId

_COLUMNS = "source, target, type, weight, created_at"
_INFERENCE = to_json([one for one in EdgeType if one.is_inference])


class EdgesTable:
    """Links by either end."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(self, edge: Edge) -> None:
        """Store a link; the same ends and type replace the weight. Raises `EdgeNotAllowed`."""
        check_edge(edge, self._inferred_from)
        row = (edge.source, edge.target, edge.type, edge.weight, to_microseconds(edge.created_at))
        self._connection.execute(f"INSERT OR REPLACE INTO edges ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)", row)

    def remove(self, source: MemoryId, target: MemoryId, kind: EdgeType) -> None:
        """Take a link away, if it is there."""
        sql = "DELETE FROM edges WHERE source = ? AND target = ? AND type = ?"
        self._connection.execute(sql, (source, target, kind))

    def of(self, memory_id: MemoryId) -> list[Edge]:
        """Return the links that leave or reach a memory."""
        either = "SELECT {0} FROM edges WHERE source = ? UNION SELECT {0} FROM edges WHERE target = ?"
        rows: list[Any] = self._connection.execute(either.format(_COLUMNS), (memory_id, memory_id)).fetchall()
        with readable("edges"):
            return [
                Edge(source=a, target=b, type=EdgeType(kind), weight=weight, created_at=from_microseconds(at))
                for a, b, kind, weight, at in rows
            ]

    def _inferred_from(self, memory_id: MemoryId) -> list[MemoryId]:
        sql = "SELECT target FROM edges WHERE source = ? AND type IN (SELECT value FROM json_each(?))"
        rows: list[Any] = self._connection.execute(sql, (memory_id, _INFERENCE)).fetchall()
        return [target for (target,) in rows]
