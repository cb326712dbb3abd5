"""The table of what each agent attends to."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from engramdb.store.contract.capture import AttentionSnapshot, TopicSnapshot
from engramdb.store.sqlite.connection import corrupt_on_error, single_value
from engramdb.store.sqlite.filters import ScopesTable, scope_columns
from engramdb.store.sqlite.rows import (
    from_json,
    from_microseconds,
    optional_from_microseconds,
    optional_to_microseconds,
    to_json,
    to_microseconds,
)
from engramdb.values import EmbedderIdentity, Scope, Slot, SlotSource

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

_STAMP_BITS = 62
_PUT = (
    "INSERT INTO attention (scope, stamp, at, embedder, topics, vectors) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (scope) DO UPDATE SET stamp = excluded.stamp, at = excluded.at, "
    "embedder = excluded.embedder, topics = excluded.topics, vectors = excluded.vectors"
)
_WITHIN = (
    "SELECT id FROM scopes WHERE (?1 = '' OR project = ?1) AND (?2 = '' OR squad = ?2) "
    "AND (?3 = '' OR agent = ?3) AND (?4 = '' OR channel = ?4) AND (?5 = '' OR user = ?5)"
)


class AttentionTable:
    """Snapshots by scope."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def get(self, scope: Scope) -> AttentionSnapshot | None:
        """Return the snapshot of exactly this scope, if there is one."""
        sql = "SELECT stamp, at, embedder, topics, vectors FROM attention WHERE scope = ?"
        row: Any = self._connection.execute(sql, (self._scopes.find(scope),)).fetchone()
        with corrupt_on_error("attention"):
            return None if row is None else _snapshot_from_row(*row)

    def stamp(self, scope: Scope) -> int:
        """Return the stamp of the latest save of exactly this scope; 0 if there is none."""
        sql = "SELECT coalesce(max(stamp), 0) FROM attention WHERE scope = ?"
        return int(single_value(self._connection, sql, (self._scopes.find(scope),)))

    def put(self, scope: Scope, snapshot: AttentionSnapshot) -> int:
        """Store a snapshot in place of its earlier state, and return its stamp."""
        stamp = secrets.randbits(_STAMP_BITS) + 1
        identity = snapshot.embedder
        embedder = identity and [identity.name, identity.dimension, identity.revision, identity.metric]
        topics = [_topic_row(topic) for topic in snapshot.topics]
        vectors = b"".join(topic.vectors.astype("<f2").tobytes() for topic in snapshot.topics)
        at, told = to_microseconds(snapshot.at), None if embedder is None else to_json(embedder)
        row = (self._scopes.make(scope), stamp, at, told, to_json(topics), vectors)
        self._connection.execute(_PUT, row)
        return stamp

    def remove(self, scope: Scope) -> int:
        """Delete the snapshots of this scope and of every narrower one; return how many."""
        self._connection.execute(f"DELETE FROM attention WHERE scope IN ({_WITHIN})", scope_columns(scope))
        return int(single_value(self._connection, "SELECT changes()"))

    def count(self) -> int:
        """Return how many snapshots are stored."""
        return int(single_value(self._connection, "SELECT count(*) FROM attention"))


def _snapshot_from_row(
    stamp: int, at: int, embedder: str | None, topics: str, vectors: bytes
) -> AttentionSnapshot:
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    numbers, read, place = np.frombuffer(vectors, "<f2"), [], 0
    for row in from_json(topics):
        count, dimension = row["shape"]
        size = count * dimension
        read.append(_topic(row, numbers[place : place + size].reshape(count, dimension)))
        place += size
    if not read:
        raise ValueError("a snapshot has at least one topic, even an empty one")
    identity = None
    if embedder is not None:
        name, dimension, revision, metric = from_json(embedder)
        identity = EmbedderIdentity(name=name, dimension=dimension, revision=revision, metric=metric)
    return AttentionSnapshot(topics=tuple(read), at=from_microseconds(at), embedder=identity, stamp=stamp)


def _topic_row(topic: TopicSnapshot) -> dict[str, Any]:
    return {
        "slots": [_slot_row(slot) for slot in topic.slots],
        "shape": list(topic.vectors.shape),
        "confidence": topic.confidence,
        "left_at": optional_to_microseconds(topic.left_at),
    }


def _topic(row: dict[str, Any], vectors: NDArray[np.float16]) -> TopicSnapshot:
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    return TopicSnapshot(
        slots=tuple(_slot(slot) for slot in row["slots"]),
        vectors=vectors.astype(np.float32),
        confidence=row["confidence"],
        left_at=optional_from_microseconds(row["left_at"]),
    )


def _slot_row(slot: Slot) -> dict[str, Any]:
    """Return a slot for the file: the words of what it points to are never written here."""
    points_to = {"memory": slot.memory_id, "turn": slot.turn_id, "gap": slot.gap_id}
    return {
        "source": slot.source,
        "activation": slot.activation,
        "tokens": slot.tokens,
        "used_at": to_microseconds(slot.used_at),
        **{name: value for name, value in points_to.items() if value is not None},
        **({} if slot.reference else {"text": slot.text}),
    }


def _slot(row: dict[str, Any]) -> Slot:
    return Slot(
        source=SlotSource(row["source"]),
        activation=row["activation"],
        tokens=row["tokens"],
        used_at=from_microseconds(row["used_at"]),
        memory_id=row.get("memory"),
        turn_id=row.get("turn"),
        gap_id=row.get("gap"),
        text=row.get("text", ""),
    )
