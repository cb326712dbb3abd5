"""
The table `vector_snapshots`: the vector index at rest, in parts of some thousand memories.

Called through the store by the index's mirror. Everything here is derived, and gone costs a slower start
only. A memory's vector is not to outlive it, so `wipe` overwrites its bits in place, in the transaction
that takes the vector away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.late import library
from engram.store.contract import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw
    import numpy as np
else:
    np = library("numpy")

_COLUMNS = "space, first_key, last_key, cursor, head, keys, columns, codes"
_LOAD = "SELECT cursor, head, keys, columns, codes FROM vector_snapshots WHERE space = ? ORDER BY id"
_HOLDING = "SELECT id, keys, length(codes) FROM vector_snapshots WHERE ? BETWEEN first_key AND last_key"


class SnapshotsTable:
    """Snapshots of the vector index by space."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def load_snapshot(self, space: int) -> Sequence[Part]:
        """Return the parts of a space's snapshot in order, or none."""
        rows: Any = self._connection.execute(_LOAD, (space,))
        return [
            Part(cursor, head, np.frombuffer(keys, "<i8"), columns, codes)
            for cursor, head, keys, columns, codes in rows
        ]

    def save_snapshot(self, space: int, parts: Sequence[Part]) -> None:
        """Keep these parts in place of the space's earlier ones."""
        self._connection.execute("DELETE FROM vector_snapshots WHERE space = ?", (space,))
        rows = (
            (
                space,
                int(part.keys[0]),
                int(part.keys[-1]),
                part.cursor,
                part.head,
                part.keys.astype("<i8").tobytes(),
                part.columns,
                part.codes,
            )
            for part in parts
        )
        sql = f"INSERT INTO vector_snapshots ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.executemany(sql, rows)

    def clear(self) -> None:
        """Drop every snapshot."""
        self._connection.execute("DELETE FROM vector_snapshots")

    def wipe(self, key: int) -> None:
        """Overwrite what snapshots hold of a memory's vectors, in every space."""
        held: list[Any] = self._connection.execute(_HOLDING, (key,)).fetchall()
        for part, blob, size in held:
            keys = np.frombuffer(blob, "<i8")
            place = int(np.searchsorted(keys, key))
            if keys[place] == key:
                width = size // len(keys)
                with self._connection.blob_open("main", "vector_snapshots", "codes", part, True) as codes:
                    codes.seek(place * width)
                    codes.write(bytes(width))
