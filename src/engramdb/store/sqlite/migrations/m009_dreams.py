"""
Make room for dreams: who is at work, how far each run came, what was merged into what.

Old rows: there are none; the first dream looks at everything. Two indexes let it find open contradictions and
what was once said and taken back. docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_LAYOUT = """
CREATE TABLE leases (
    kind TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE dreams (
    key INTEGER PRIMARY KEY,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    policy TEXT NOT NULL,
    steps TEXT NOT NULL,
    step TEXT,
    report TEXT NOT NULL
) STRICT;

CREATE TABLE dream_steps (
    name TEXT PRIMARY KEY,
    started_at INTEGER NOT NULL,
    cursor INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE merges (
    key INTEGER PRIMARY KEY,
    keeper INTEGER NOT NULL REFERENCES memories (key),
    loser INTEGER NOT NULL REFERENCES memories (key),
    at INTEGER NOT NULL,
    given TEXT NOT NULL,
    undone_at INTEGER
) STRICT;

CREATE INDEX merges_by_keeper ON merges (keeper);
CREATE INDEX merges_by_loser ON merges (loser);
CREATE INDEX edges_contradicting ON edges (source, target) WHERE type = 'contradicts';
CREATE INDEX memories_taken_back ON memories (scope, fingerprint) WHERE status <> 'active';
"""


def up(connection: apsw.Connection) -> None:
    """Add the tables of leases, runs and merges."""
    connection.execute(_LAYOUT)
