"""
The table `imports`: which records of which sources were taken in.

Written in the same transaction as the memory or the turn that a record became. A trigger of the layout
empties `place`, which may name a private file, when the memory is erased; the mark stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.sqlite.connection import only
from engram.store.sqlite.failures import readable
from engram.store.sqlite.rows import to_json
from engram.store.sqlite.times import from_microseconds, to_microseconds
from engram.values import ImportKind, ImportOrigin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import apsw

    from engram.store.contract.imports import Imported
    from engram.values import MemoryId

_ADD = "INSERT OR IGNORE INTO imports (mark, kind, place, memory, turn, at) VALUES (?, ?, ?, ?, ?, ?)"
_KNOWN = "SELECT mark FROM imports WHERE mark IN (SELECT unhex(value) FROM json_each(?))"
_BECAME = (
    "SELECT mark, memory FROM imports WHERE mark IN (SELECT unhex(value) FROM json_each(?)) "
    "AND memory IS NOT NULL"
)
_OF_MEMORY = "SELECT kind, place, at FROM imports WHERE memory = ? ORDER BY at LIMIT 1"
_OF_TURN = (
    "SELECT kind, place, at FROM imports WHERE turn IN "
    "(SELECT t.value FROM memories m, json_each(m.turns) t WHERE m.id = ?) ORDER BY at LIMIT 1"
)


class ImportsTable:
    """Records by their marks."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def known(self, marks: Sequence[bytes]) -> set[bytes]:
        """Return those of the marks that an import has left before."""
        wanted = to_json([mark.hex() for mark in marks])
        rows: list[Any] = self._connection.execute(_KNOWN, (wanted,)).fetchall()
        return {mark for (mark,) in rows}

    def became(self, marks: Sequence[bytes]) -> dict[bytes, MemoryId]:
        """Return the memories that the records of these marks became, as far as they became one."""
        wanted = to_json([mark.hex() for mark in marks])
        rows: list[Any] = self._connection.execute(_BECAME, (wanted,)).fetchall()
        return dict(rows)

    def add(self, records: Sequence[Imported], *, at: datetime) -> None:
        """Note records that were taken in; a mark that is there already stays as it is."""
        moment = to_microseconds(at)
        rows = [(one.mark, str(one.kind), one.place, one.memory_id, one.turn_id, moment) for one in records]
        self._connection.executemany(_ADD, rows)

    def origin(self, memory_id: MemoryId) -> ImportOrigin | None:
        """Return where a memory, or the first turn that it rests on, was imported from."""
        row: Any = self._connection.execute(_OF_MEMORY, (memory_id,)).fetchone()
        row = row or self._connection.execute(_OF_TURN, (memory_id,)).fetchone()
        with readable("imports"):
            return row and ImportOrigin(kind=ImportKind(row[0]), place=row[1], at=from_microseconds(row[2]))

    def count(self) -> int:
        """Return how many records were ever taken in."""
        return int(only(self._connection, "SELECT count(*) FROM imports"))
