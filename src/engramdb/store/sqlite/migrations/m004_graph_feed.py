"""
Number every change of a link and name its ends by key, so that a graph held in memory can follow the table.

Old rows: links keep their ends, type, weight and time, and are numbered in the order they were made; no
removal is on record, so whoever follows the feed begins by reading all of it. Keys take the place of ids of
36 characters, which more than halves the table. docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_EDGES = """
CREATE TABLE numbered_edges (
    change INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES memories (key),
    target INTEGER NOT NULL REFERENCES memories (key),
    type TEXT NOT NULL,
    weight REAL NOT NULL CHECK (weight BETWEEN 0 AND 1),
    created_at INTEGER NOT NULL,
    UNIQUE (source, type, target)
) STRICT;

INSERT INTO numbered_edges (source, target, type, weight, created_at)
    SELECT s.key, t.key, e.type, e.weight, e.created_at
    FROM edges e JOIN memories s ON s.id = e.source JOIN memories t ON t.id = e.target
    ORDER BY e.created_at, s.key, e.type, t.key;

DROP TABLE edges;
ALTER TABLE numbered_edges RENAME TO edges;
CREATE INDEX edges_by_target ON edges (target);
"""

_REMOVALS = """
CREATE TABLE edge_removals (
    change INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    target INTEGER NOT NULL,
    type TEXT NOT NULL
) STRICT;

INSERT INTO counters (name, value)
    VALUES ('edge_change', (SELECT count(*) FROM edges)), ('edge_pruned', 0);
"""


def up(connection: apsw.Connection) -> None:
    """Make the links anew with numbers, then the record of those that were taken away."""
    connection.execute(_EDGES)
    connection.execute(_REMOVALS)
