"""
Add whether a memory still waits to be judged against what was known before it.

Old rows: they were settled when they came in, so none waits. docs/reference/file-format.md explains every
column.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
ALTER TABLE memories ADD COLUMN judged INTEGER NOT NULL DEFAULT 1 CHECK (judged IN (0, 1));
CREATE INDEX memories_unjudged ON memories (key) WHERE judged = 0 AND status = 'active';
"""


def up(connection: apsw.Connection) -> None:
    """Add the column."""
    connection.execute(_LAYOUT)
