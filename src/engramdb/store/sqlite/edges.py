"""The tables of links and of traits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from engramdb.store.contract import EdgeColumns, SharedEntities
from engramdb.store.sqlite.connection import corrupt_on_error, single_value
from engramdb.store.sqlite.rows import from_microseconds, to_json, to_microseconds
from engramdb.text.names import fold, fold_name
from engramdb.values import Actor, Edge, EdgeType, EntityType, Memory, MemoryId, Traits, check_edge

if TYPE_CHECKING:
    from engramdb.store.sqlite.acts import ActsTable

# The tables `edges` and `edge_removals`: typed links between memories, and which of them were taken away.
#
# Written by admission, by `link` and by the dream; followed by the graph index of every process through the
# feed of changes, which names memories by key. A link stands in the feed at its latest change, and a
# removal for as long as a process may reasonably lag behind; one that lags further is told so, and reads
# everything.

MAX_REMOVAL_AGE_CHANGES = 50_000
"""Removals older than this many changes are dropped: a megabyte, and reading all again costs little more."""

_INFERENCE = to_json([one for one in EdgeType if one.is_inference])
_KEY = "(SELECT key FROM memories WHERE id = ?)"
_ADD = (
    "INSERT INTO edges (change, source, target, type, weight, created_at) "
    f"VALUES (?, {_KEY}, {_KEY}, ?, ?, ?) ON CONFLICT (source, type, target) DO UPDATE SET "
    "change = excluded.change, weight = excluded.weight"
)
"""A link that is drawn again keeps its first day: `as_of` asks since when it is there."""
_WEIGHT = f"SELECT weight, created_at FROM edges WHERE source = {_KEY} AND target = {_KEY} AND type = ?"
_NOTE = (
    "INSERT INTO edge_history (act, source, target, type, old_weight, old_created_at, new_weight) "
    f"VALUES (?, {_KEY}, {_KEY}, ?, ?, ?, ?)"
)
_REMOVE = f"DELETE FROM edges WHERE source = {_KEY} AND target = {_KEY} AND type = ? RETURNING source, target"
_OF = (
    "SELECT s.id, t.id, e.type, e.weight, e.created_at FROM edges e "
    "JOIN memories s ON s.key = e.source JOIN memories t ON t.key = e.target "
    f"WHERE e.source = {_KEY} OR e.target = {_KEY} ORDER BY e.change"
)
_INFERRED_FROM = (
    "SELECT t.id FROM edges e JOIN memories t ON t.key = e.target "
    f"WHERE e.source = {_KEY} AND e.type IN (SELECT value FROM json_each(?))"
)
_NEXT_CHANGES = "UPDATE counters SET value = value + ? WHERE name = 'edge_change' RETURNING value"
_COUNTER = "SELECT value FROM counters WHERE name = ?"
_CHANGES = (
    "SELECT change, source, target, type, weight FROM edges WHERE change > ?1 "
    "UNION ALL SELECT change, source, target, type, 0.0 FROM edge_removals WHERE change > ?1 "
    "ORDER BY change LIMIT ?2"
)
_TOUCHING = (
    "SELECT e.change, e.source, e.target, e.type, e.weight "
    "FROM json_each(?1) k CROSS JOIN edges e ON e.source = k.value "
    "UNION SELECT e.change, e.source, e.target, e.type, e.weight "
    "FROM json_each(?1) k CROSS JOIN edges e ON e.target = k.value"
)
_SHARING = (
    "SELECT DISTINCT a.memory, b.memory, e.mentions FROM json_each(?) k "
    "CROSS JOIN entity_mentions a ON a.memory = CAST(k.key AS INTEGER) "
    "CROSS JOIN entities e ON e.key = a.entity AND e.mentions <= k.value "
    "CROSS JOIN entity_mentions b ON b.entity = e.key AND b.memory <> a.memory "
    "ORDER BY e.mentions, a.memory, b.memory LIMIT ?"
)


class EdgesTable:
    """Links by either end, and as a feed."""

    def __init__(self, connection: apsw.Connection, acts: ActsTable) -> None:
        self._connection = connection
        self._acts = acts

    def add(self, edge: Edge, *, by: Actor | None = None) -> None:
        """Store a link; the same ends and type replace the weight. Raises `EdgeNotAllowed`."""
        self.add_all([edge], by=by)

    def add_all(self, edges: Sequence[Edge], *, by: Actor | None = None) -> None:
        """Store links, in their order and each as `add` would."""
        if sum(edge.type.is_inference for edge in edges) > 1:  # one may close a circle that another began
            for edge in edges:
                self.add_all([edge], by=by)
            return
        for edge in edges:
            check_edge(edge, self._inferred_from)
            if by is not None:
                self._note(edge.source, edge.target, edge.type, edge.weight, by=by, at=edge.created_at)
        last = self._next_changes(len(edges)) if edges else 0
        self._connection.executemany(
            _ADD,
            [
                (change, edge.source, edge.target, edge.type, edge.weight, to_microseconds(edge.created_at))
                for change, edge in enumerate(edges, start=last - len(edges) + 1)
            ],
        )

    def remove(
        self,
        source: MemoryId,
        target: MemoryId,
        kind: EdgeType,
        *,
        by: Actor | None = None,
        at: datetime | None = None,
    ) -> None:
        """Take a link away, if it is there."""
        if by is not None and at is not None:
            self._note(source, target, kind, None, by=by, at=at)
        removed: list[Any] = self._connection.execute(_REMOVE, (source, target, kind)).fetchall()
        for ends in removed:
            change = self._next_changes(1)
            self._connection.execute("INSERT INTO edge_removals VALUES (?, ?, ?, ?)", (change, *ends, kind))
            self._prune(change - MAX_REMOVAL_AGE_CHANGES)

    def weight(self, source: MemoryId, target: MemoryId, kind: EdgeType) -> float | None:
        """Return what a link weighs, or None where it is not there."""
        found: Any = self._connection.execute(_WEIGHT, (source, target, kind)).fetchone()
        return None if found is None else found[0]

    def of(self, memory_id: MemoryId) -> list[Edge]:
        """Return the links that leave or reach a memory, the latest changed last."""
        rows: list[Any] = self._connection.execute(_OF, (memory_id, memory_id)).fetchall()
        with corrupt_on_error("edges"):
            return [
                Edge(source=a, target=b, type=EdgeType(kind), weight=weight, created_at=from_microseconds(at))
                for a, b, kind, weight, at in rows
            ]

    def latest_change(self) -> int:
        """Return the cursor of the newest change of a link."""
        number: int = single_value(self._connection, _COUNTER, ("edge_change",))
        return number

    def pruned_change(self) -> int:
        """Return the newest removal that the feed has dropped; who stopped before it must begin again."""
        number: int = single_value(self._connection, _COUNTER, ("edge_pruned",))
        return number

    def changes(self, *, since: int, limit: int) -> tuple[int, EdgeColumns]:
        """Return a new cursor and the links that changed after the given one, in order; 0 starts over."""
        rows: list[Any] = self._connection.execute(_CHANGES, (since, limit)).fetchall()
        return rows[-1][0] if rows else since, _columns(rows)

    def touching(self, keys: Sequence[int]) -> EdgeColumns:
        """Return the links that leave or reach any of these memories."""
        return _columns(self._connection.execute(_TOUCHING, (to_json(list(keys)),)).fetchall())

    def sharing_entities(self, most_mentions: Mapping[int, int], *, limit: int) -> SharedEntities:
        """Return memories that share an entity with these, of entities with few mentions; rarest first."""
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

        asked = to_json({str(key): most for key, most in most_mentions.items()})
        rows: list[Any] = self._connection.execute(_SHARING, (asked, limit)).fetchall()
        origins, others, mentions = list(zip(*rows, strict=True)) or [()] * 3
        return SharedEntities(
            np.array(origins, np.int64), np.array(others, np.int64), np.array(mentions, np.int64)
        )

    def _note(
        self,
        source: MemoryId,
        target: MemoryId,
        kind: EdgeType,
        weight: float | None,
        *,
        by: Actor,
        at: datetime,
    ) -> None:
        """Note what becomes of a link, as part of the act of this write."""
        was: Any = self._connection.execute(_WEIGHT, (source, target, kind)).fetchone()
        if was is None and weight is None:
            return
        act = self._acts.key_for_link(source, by, at)
        if act is not None:
            self._connection.execute(_NOTE, (act, source, target, kind, *(was or (None, None)), weight))

    def _prune(self, before: int) -> None:
        sql = "DELETE FROM edge_removals WHERE change <= ? RETURNING change"
        dropped: list[Any] = self._connection.execute(sql, (before,)).fetchall()
        if dropped:
            newest = max(change for (change,) in dropped)
            self._connection.execute("UPDATE counters SET value = ? WHERE name = 'edge_pruned'", (newest,))

    def _next_changes(self, count: int) -> int:
        """Count `count` changes and return the number of the last."""
        number: int = single_value(self._connection, _NEXT_CHANGES, (count,))
        return number

    def _inferred_from(self, memory_id: MemoryId) -> list[MemoryId]:
        rows: list[Any] = self._connection.execute(_INFERRED_FROM, (memory_id, _INFERENCE)).fetchall()
        return [target for (target,) in rows]


def _columns(rows: Sequence[Any]) -> EdgeColumns:
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    _, sources, targets, types, weights = list(zip(*rows, strict=True)) or [()] * 5
    return EdgeColumns(
        sources=np.array(sources, np.int64),
        targets=np.array(targets, np.int64),
        types=list(types),
        weights=np.array(weights, np.float32),
    )


# The table `memory_traits`: what memories mention, how they feel and who said them, ready to be looked up.
#
# Written by `memories` with every memory, so that no caller can forget it; read by `filters`. Derived from
# the `traits` and `speaker` of a memory: without it, a filter on a trait would read the JSON of every
# memory (docs/lab/0017-entities-in-recall.md). Words are folded here, on their way in and when they are
# asked for.

TRAITS_VERSION = 1
"""Of the folding below; a store with another number is rebuilt when it is opened."""

TECHNOLOGY, PATH, LANGUAGE, SENTIMENT, SPEAKER = "technology", "path", "language", "sentiment", "speaker"
_INSERT = "INSERT OR IGNORE INTO memory_traits (kind, value, memory) VALUES (?, ?, ?)"
_VERSION = "SELECT value FROM counters WHERE name = 'traits_version'"
_EXPECTED = "SELECT key, traits, speaker FROM memories"
_read_traits = msgspec.json.Decoder(Traits).decode

TraitMark = tuple[str, str]
"""A kind and a folded word."""


def fold_trait(kind: str, word: str) -> str:
    """Return a word in the form in which two ways of writing it are equal."""
    if kind == PATH:
        return fold_path(word)
    if kind in (TECHNOLOGY, LANGUAGE):
        return fold_name(word, EntityType.TECHNOLOGY)
    return " ".join(fold(word).split())


def fold_path(path: str) -> str:
    """Return a path with plain slashes, without `./` before it or a slash behind it."""
    parts = [part for part in fold(path.strip()).replace("\\", "/").split("/") if part not in ("", ".")]
    start = "/" if path.strip().startswith(("/", "\\")) else ""
    return start + "/".join(parts)


def trait_marks(traits: Traits, speaker: str | None) -> Iterator[TraitMark]:
    """Yield what a memory can be found by."""
    told = {
        TECHNOLOGY: traits.technologies,
        PATH: traits.paths,
        LANGUAGE: (traits.language,),
        SENTIMENT: (traits.sentiment,),
        SPEAKER: (speaker,),
    }
    for kind, words in told.items():
        yield from ((kind, fold_trait(kind, word)) for word in words if word)


class TraitsTable:
    """Memories by what they mention."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @property
    def is_current(self) -> bool:
        """Whether the table was filled by these rules."""
        version: int = single_value(self._connection, _VERSION)
        return version == TRAITS_VERSION

    def put(self, key: int, memory: Memory) -> None:
        """Enter a memory, in place of what was entered of it earlier."""
        self.remove(key)
        self.add(key, memory)

    def add(self, key: int, memory: Memory) -> None:
        """Enter a memory of which nothing was entered yet."""
        rows = [(kind, word, key) for kind, word in trait_marks(memory.traits, memory.provenance.speaker)]
        self._connection.executemany(_INSERT, rows)

    def remove(self, key: int) -> None:
        """Take a memory out."""
        self._connection.execute("DELETE FROM memory_traits WHERE memory = ?", (key,))

    def rebuild(self) -> int:
        """Rebuild the table from the memories, inside a write, and return its number of rows."""
        self._connection.execute("DELETE FROM memory_traits")
        self._connection.executemany(_INSERT, sorted(self._expected_rows()))
        self._connection.execute(
            "UPDATE counters SET value = ? WHERE name = 'traits_version'", (TRAITS_VERSION,)
        )
        return self._count()

    def count_wrong(self) -> int:
        """Return how many rows are missing or should not be there, which is none in a sound store."""
        stored = set(self._connection.execute("SELECT kind, value, memory FROM memory_traits"))
        return len(stored ^ set(self._expected_rows()))

    def _expected_rows(self) -> Iterator[tuple[str, str, int]]:
        rows: list[Any] = self._connection.execute(_EXPECTED).fetchall()
        with corrupt_on_error("memories"):
            for key, traits, speaker in rows:
                yield from ((kind, word, key) for kind, word in trait_marks(_read_traits(traits), speaker))

    def _count(self) -> int:
        total: int = single_value(self._connection, "SELECT count(*) FROM memory_traits")
        return total
