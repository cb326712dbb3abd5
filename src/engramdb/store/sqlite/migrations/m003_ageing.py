"""
Make room for ageing: when a memory was last confirmed, who chose its layer, its recalls by session, sweeps.

Old rows: a memory that was stated again counts as confirmed at its last change, any other when it was made;
no layer was chosen by hand. docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_LAYOUT = """
ALTER TABLE memories ADD COLUMN confirmed_at INTEGER;
ALTER TABLE memories ADD COLUMN layer_held INTEGER NOT NULL DEFAULT 0 CHECK (layer_held IN (0, 1));

UPDATE memories SET confirmed_at = updated_at WHERE reinforcements > 0;

CREATE TABLE recall_sessions (
    memory INTEGER NOT NULL REFERENCES memories (key),
    session TEXT NOT NULL,
    PRIMARY KEY (memory, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE sweeps (
    key INTEGER PRIMARY KEY,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    policy TEXT NOT NULL,
    after_key INTEGER NOT NULL,
    looked_at INTEGER NOT NULL,
    by_rule TEXT NOT NULL
) STRICT;
"""


def up(connection: apsw.Connection) -> None:
    """Add the columns and tables of ageing."""
    connection.execute(_LAYOUT)
