"""The tables of vector spaces, vectors and index snapshots."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw

from engramdb.errors import DimensionMismatch, InvalidContent
from engramdb.store.contract import Changes, QuantizedVectors, SnapshotPart
from engramdb.store.sqlite.connection import single_value
from engramdb.store.sqlite.filters import VISIBLE, scope_columns
from engramdb.store.sqlite.memories import next_changes
from engramdb.store.sqlite.rows import INDEXED_STATUSES, SELECTED, from_row, to_json
from engramdb.values import EmbedderIdentity, Memory, Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The table `vector_snapshots`: the vector index at rest, in parts of some thousand memories.

_COLUMNS = "space, first_key, last_key, cursor, head, keys, columns, codes"
_LOAD = "SELECT cursor, head, keys, columns, codes FROM vector_snapshots WHERE space = ? ORDER BY id"
_PARTS_WITH_KEY = (
    "SELECT id, keys, length(codes) FROM vector_snapshots WHERE ? BETWEEN first_key AND last_key"
)


class SnapshotsTable:
    """Snapshots of the vector index by space."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def load_snapshot(self, space: int) -> Sequence[SnapshotPart]:
        """Return the parts of a space's snapshot in order, or none."""
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

        rows: Any = self._connection.execute(_LOAD, (space,))
        return [
            SnapshotPart(cursor, head, np.frombuffer(keys, "<i8"), columns, codes)
            for cursor, head, keys, columns, codes in rows
        ]

    def save_snapshot(self, space: int, parts: Sequence[SnapshotPart]) -> None:
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
        held: list[Any] = self._connection.execute(_PARTS_WITH_KEY, (key,)).fetchall()
        for part, blob, size in held:
            keys = struct.unpack(f"<{len(blob) // 8}q", blob)
            place = bisect_left(keys, key)
            if keys[place] == key:
                width = size // len(keys)
                with self._connection.blob_open("main", "vector_snapshots", "codes", part, True) as codes:
                    codes.seek(place * width)
                    codes.write(bytes(width))


# The tables `spaces` and `vectors`: eight bits a number as they come in, fewer once a memory is cold.
#
# Called through the store; `precision` knows the blobs, and readers get eight bits whatever is stored.
# Eight bits lose nothing that ranking needs and take a quarter of the room. The feed of changes is what
# keeps the index in memory true, in this process and in others.


_STORED_BITS = 8
_SPACE = "SELECT id FROM spaces WHERE name = ? AND dimension = ? AND revision = ? AND metric = ?"
_DIMENSION = "SELECT dimension FROM spaces WHERE id = ?"
_VECTORS_OF_KEYS = (
    "SELECT memory, vector FROM vectors WHERE space = ? AND memory IN (SELECT value FROM json_each(?))"
)
_PENDING = (
    "FROM memories m JOIN scopes s ON s.id = m.scope WHERE m.status IN (SELECT value FROM json_each(?)) "
    "AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space = ? AND v.memory = m.key)"
)
_CHANGES = (
    "SELECT m.change, m.key, m.scope, m.when_at, m.status, m.layer, m.type, m.kind, m.category, v.vector "
    "FROM memories m LEFT JOIN vectors v ON v.space = ? AND v.memory = m.key "
    "WHERE m.change > ? ORDER BY m.change LIMIT ?"
)
CHANGED_TOGETHER = 1000
"""Memories that one act may have changed: among so many is looked for those that have lost their vector."""
_LACKING = (
    "SELECT EXISTS (SELECT 1 FROM (SELECT key, status FROM memories ORDER BY change DESC LIMIT ?) AS m "
    "WHERE m.status IN (SELECT value FROM json_each(?)) AND NOT EXISTS "
    "(SELECT 1 FROM spaces AS s JOIN vectors AS v ON v.space = s.id AND v.memory = m.key))"
)
_NO_SPACE = 0


class VectorsTable:
    """Vectors by space and memory."""

    def __init__(self, connection: apsw.Connection, *, is_snapshot: bool = False) -> None:
        self._connection = connection
        self._is_snapshot = is_snapshot
        self._latest_change: int | None = None

    def space(self, identity: EmbedderIdentity) -> int | None:
        """Return the number of the embedder's space, or None if it has none yet."""
        row = self._connection.execute(_SPACE, _identity_columns(identity)).fetchone()
        return None if row is None else row[0]

    def make_space(self, identity: EmbedderIdentity) -> int:
        """Return the number of the embedder's space, made if need be."""
        found = self.space(identity)
        if found is not None:
            return found
        sql = "INSERT INTO spaces (name, dimension, revision, metric) VALUES (?, ?, ?, ?)"
        self._connection.execute(sql, _identity_columns(identity))
        return self._connection.last_insert_rowid()

    def put(self, space: int, keys: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Store one vector per memory in place of any earlier one, and mark the memories as changed."""
        from engramdb.store.sqlite.precision import encode  # noqa: PLC0415 - most commands compute nothing

        dimension: int = single_value(self._connection, _DIMENSION, (space,))
        if vectors.shape != (len(keys), dimension):
            raise DimensionMismatch(
                f"{vectors.shape} numbers for {len(keys)} memories of {dimension} dimensions"
            )
        blobs = encode(vectors, bits=_STORED_BITS)
        rows = ((space, key, blob) for key, blob in zip(keys, blobs, strict=True))
        self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        marks = zip(next_changes(self._connection, len(keys)), keys, strict=True)
        self._connection.executemany("UPDATE memories SET change = ? WHERE key = ?", marks)

    def requantize(self, space: int, keys: Sequence[int], bits: int) -> int:
        """
        Store these memories' vectors with 8, 4, 2 or 1 bits a number, and return how many changed.

        Only ever downwards: bits that were dropped come back by embedding again and `put`, so a vector that
        has as few already is left, as is one too short to gain. Nothing is marked as changed, because a
        reader that still holds the earlier vector holds the better one.
        """
        from engramdb.store.sqlite.precision import MIN_DIMENSION, PRECISIONS, decode, encode, row_bytes  # noqa: PLC0415 - most commands compute nothing

        if bits not in PRECISIONS:
            raise InvalidContent(f"{bits} bits a number are none of {PRECISIONS}")
        dimension: int = single_value(self._connection, _DIMENSION, (space,))
        if dimension < MIN_DIMENSION:
            return 0
        larger = f"{_VECTORS_OF_KEYS} AND length(vector) > ?"
        parameters = (space, to_json(list(keys)), row_bytes(dimension, bits))
        rows: list[Any] = self._connection.execute(larger, parameters).fetchall()
        blobs = encode(decode([blob for _, blob in rows], dimension=dimension), bits=bits)
        changed = [(blob, space, key) for (key, _), blob in zip(rows, blobs, strict=True)]
        self._connection.executemany("UPDATE vectors SET vector = ? WHERE space = ? AND memory = ?", changed)
        return len(changed)

    def remove(self, key: int) -> None:
        """Take a memory's vectors out of every space."""
        spaces = [space for (space,) in self._connection.execute("SELECT id FROM spaces")]
        self._connection.executemany(
            "DELETE FROM vectors WHERE space = ? AND memory = ?", [(space, key) for space in spaces]
        )
        SnapshotsTable(self._connection).wipe(key)

    def clear(self) -> None:
        """Drop all vectors of all spaces, for a rebuild."""
        self._connection.execute("DELETE FROM vectors")
        SnapshotsTable(self._connection).clear()

    def drop_orphans(self) -> None:
        """Drop the vectors of memories that should have none."""
        indexed = "SELECT key FROM memories WHERE status IN (SELECT value FROM json_each(?))"
        self._connection.execute(f"DELETE FROM vectors WHERE memory NOT IN ({indexed})", (INDEXED_STATUSES,))
        SnapshotsTable(self._connection).clear()

    def pending(self, space: int | None, *, limit: int) -> dict[int, Memory]:
        """Return indexed memories that have no vector in the space yet, newest first."""
        sql = f"SELECT {SELECTED}, m.key {_PENDING} ORDER BY m.key DESC LIMIT ?"
        rows = self._connection.execute(sql, (INDEXED_STATUSES, space or _NO_SPACE, limit))
        return {row[-1]: from_row(row) for row in rows}

    def is_lacking(self) -> bool:
        """Return whether an indexed memory among those changed last has no vector in any space."""
        return bool(single_value(self._connection, _LACKING, (CHANGED_TOGETHER, INDEXED_STATUSES)))

    def count_pending(self, space: int | None, *, scope: Scope | None = None) -> int:
        """Return how many those are, of all or of those that a scope may see."""
        sql, parameters = f"SELECT count(*) {_PENDING}", [INDEXED_STATUSES, space or _NO_SPACE]
        if scope is not None:
            sql, parameters = f"{sql} AND m.scope IN ({VISIBLE})", [*parameters, *scope_columns(scope)]
        total: int = single_value(self._connection, sql, parameters)
        return total

    def fetch(self, space: int, keys: Sequence[int]) -> tuple[list[int], QuantizedVectors]:
        """Return the keys that have a vector, and their vectors in that order."""
        from engramdb.store.sqlite.precision import decode_quantized, without_damaged  # noqa: PLC0415 - most commands compute nothing

        rows: list[Any] = self._connection.execute(_VECTORS_OF_KEYS, (space, to_json(list(keys)))).fetchall()
        dimension: int = single_value(self._connection, _DIMENSION, (space,))
        blobs, is_whole = without_damaged([blob for _, blob in rows], dimension=dimension)
        good = [(key, blob) for (key, _), blob, is_good in zip(rows, blobs, is_whole, strict=True) if is_good]
        return [key for key, _ in good], decode_quantized([blob for _, blob in good], dimension=dimension)

    def latest_change(self) -> int:
        """Return the cursor of the newest change in the store."""
        number = self._latest_change
        if number is None:
            number = single_value(self._connection, "SELECT value FROM counters WHERE name = 'change'")
            self._latest_change = number if self._is_snapshot else None
        return number

    def changes(self, space: int, *, dimension: int, since: int, limit: int) -> Changes:
        """Return the memories that changed after a cursor, with their vectors in the space."""
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

        from engramdb.store.sqlite.precision import decode_quantized, without_damaged  # noqa: PLC0415 - most commands compute nothing

        rows = self._connection.execute(_CHANGES, (space, since, limit)).fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * 10
        change, keys, scopes, when, statuses, layers, types, kinds, categories, blobs = columns
        whole, is_whole = without_damaged(blobs, dimension=dimension)
        return Changes(
            cursor=change[-1] if change else since,
            keys=np.array(keys, np.int64),
            scopes=np.array(scopes, np.int32),
            when=np.array(when, np.int64),
            statuses=list(statuses),
            layers=list(layers),
            types=list(types),
            kinds=list(kinds),
            categories=list(categories),
            has_vector=is_whole,
            vectors=decode_quantized(whole, dimension=dimension),
        )


def _identity_columns(identity: EmbedderIdentity) -> tuple[str, int, str, str]:
    return identity.name, identity.dimension, identity.revision, identity.metric
