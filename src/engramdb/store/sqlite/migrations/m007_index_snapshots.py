"""
Make room for snapshots of the vector index, so that a large store answers at once after a start.

Old rows: there are none; the index writes its first snapshot after the next loading. Derived: losing it
costs a slower start only. docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_LAYOUT = """
CREATE TABLE vector_snapshots (
    id INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES spaces (id),
    first_key INTEGER NOT NULL,
    last_key INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    head BLOB NOT NULL,
    keys BLOB NOT NULL,
    columns BLOB NOT NULL,
    codes BLOB NOT NULL
) STRICT;

CREATE INDEX vector_snapshots_by_key ON vector_snapshots (first_key, last_key);
"""


def up(connection: apsw.Connection) -> None:
    """Add the table of snapshots."""
    connection.execute(_LAYOUT)
