"""
Note when a memory was said, apart from when it was stored and from when on it is true.

Old rows: the moment of the turn that it was read from, or else the one from which it held, and never later
than the moment of storing. docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
ALTER TABLE memories ADD COLUMN said_at INTEGER;
UPDATE memories SET said_at = min(created_at, coalesce(
    CASE WHEN extractor IS NOT NULL AND turns <> '[]'
        THEN (SELECT t.occurred_at FROM turns t WHERE t.id = json_extract(memories.turns, '$[0]')) END,
    valid_from, occurred_at, created_at
));
"""


def up(connection: apsw.Connection) -> None:
    """Add the column and fill it."""
    connection.execute(_LAYOUT)
