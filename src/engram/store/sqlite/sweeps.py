"""
The table `sweeps`: how far each ageing sweep came, so that an interrupted one goes on where it stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.contract import Sweep
from engram.store.sqlite.failures import readable
from engram.store.sqlite.rows import from_json, to_json
from engram.store.sqlite.times import (
    from_microseconds,
    optional_from_microseconds,
    optional_to_microseconds,
    to_microseconds,
)

if TYPE_CHECKING:
    import apsw

_COLUMNS = "key, started_at, finished_at, policy, after_key, looked_at, by_rule"


class SweepsTable:
    """Sweeps, the latest of which may be unfinished."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def latest(self) -> Sweep | None:
        """Return the sweep that was begun last."""
        sql = f"SELECT {_COLUMNS} FROM sweeps ORDER BY key DESC LIMIT 1"
        row: Any = self._connection.execute(sql).fetchone()
        if row is None:
            return None
        with readable("sweeps"):
            return Sweep(
                key=row[0],
                started_at=from_microseconds(row[1]),
                finished_at=optional_from_microseconds(row[2]),
                policy=row[3],
                after_key=row[4],
                looked_at=row[5],
                by_rule=from_json(row[6]),
            )

    def put(self, sweep: Sweep) -> Sweep:
        """Store how far a sweep came; a new one has key 0 and is given its own."""
        row = (
            to_microseconds(sweep.started_at),
            optional_to_microseconds(sweep.finished_at),
            *(sweep.policy, sweep.after_key, sweep.looked_at, to_json(sweep.by_rule)),
        )
        sql = f"INSERT OR REPLACE INTO sweeps ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(sql, (sweep.key or None, *row))
        return sweep if sweep.key else sweep.at(self._connection.last_insert_rowid())
