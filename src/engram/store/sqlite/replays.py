"""
The table `replays`, and which memories are worth replaying or checking.

Read and written by the dream's steps `replay` and `drift`. Only the latest replay of each memory is kept; it
says who rests, and which of a run's memories an interrupted run had chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.sqlite.times import from_microseconds, to_microseconds
from engram.store.sqlite.traits import PATH
from engram.values import Layer, Source, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import apsw

_USABLE = f"m.status = '{Status.ACTIVE}' AND instr(m.flags, '\"injection\"') = 0"
_RECEIVED = (
    f"SELECT m.key FROM memories m WHERE m.source = '{Source.INGEST}' AND {_USABLE} AND NOT EXISTS "
    "(SELECT 1 FROM replays r WHERE r.memory = m.key) ORDER BY m.key LIMIT ?"
)
_FRESH = (
    f"SELECT m.key FROM memories m WHERE m.created_at >= ? AND {_USABLE} "
    "ORDER BY m.arousal > ? DESC, m.key DESC LIMIT ?"
)
_NAMING_FILES = (
    f"SELECT DISTINCT m.key FROM memories m JOIN memory_traits t ON t.memory = m.key AND t.kind = '{PATH}' "
    f"WHERE m.key > ? AND m.layer = '{Layer.CODEBASE}' AND {_USABLE} ORDER BY m.key LIMIT ?"
)
MOVING = 0.6
"""From this arousal on a memory is replayed before others of its age."""


class ReplaysTable:
    """Replays by memory."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def since(self, moment: datetime) -> dict[int, datetime]:
        """Return which memories were replayed after a moment, and when."""
        sql = "SELECT memory, at FROM replays WHERE at > ? ORDER BY memory"
        rows: list[Any] = self._connection.execute(sql, (to_microseconds(moment),)).fetchall()
        return {key: from_microseconds(at) for key, at in rows}

    def mark(self, keys: Sequence[int], *, at: datetime) -> bool:
        """Note that these memories are replayed at this moment, and say whether that was news of any."""
        sql = (
            "INSERT INTO replays (memory, at) VALUES (?1, ?2) "
            "ON CONFLICT (memory) DO UPDATE SET at = ?2 WHERE at <> ?2"
        )
        before = self._connection.total_changes()
        self._connection.executemany(sql, [(key, to_microseconds(at)) for key in keys])
        return self._connection.total_changes() > before

    def received(self, *, limit: int) -> Sequence[int]:
        """Return the keys of active memories that came from others and were never replayed, oldest first."""
        rows: list[Any] = self._connection.execute(_RECEIVED, (limit,)).fetchall()
        return [key for (key,) in rows]

    def fresh(self, *, since: datetime, limit: int) -> Sequence[int]:
        """Return the keys of active memories stored since then, the most moving and then the newest first."""
        rows: list[Any] = self._connection.execute(_FRESH, (to_microseconds(since), MOVING, limit)).fetchall()
        return [key for (key,) in rows]

    def naming_files(self, *, after_key: int, limit: int) -> Sequence[int]:
        """Return the keys of the next active memories about code that name files."""
        rows: list[Any] = self._connection.execute(_NAMING_FILES, (after_key, limit)).fetchall()
        return [key for (key,) in rows]
