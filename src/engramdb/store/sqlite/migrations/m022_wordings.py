"""
Add the memories that a memory stands for, and which memories a judge has compared with those near them.

Old rows: the merges that nobody took back tell the wordings; nothing has been compared.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
ALTER TABLE memories ADD COLUMN wordings TEXT NOT NULL DEFAULT '[]';
UPDATE memories SET wordings = (
    SELECT json_group_array(l.id) FROM merges g JOIN memories l ON l.key = g.loser
    WHERE g.keeper = memories.key AND g.undone_at IS NULL AND l.status = 'merged'
) WHERE key IN (SELECT keeper FROM merges WHERE undone_at IS NULL);
CREATE TABLE comparisons (
    memory INTEGER PRIMARY KEY REFERENCES memories (key) ON DELETE CASCADE,
    judge TEXT NOT NULL
) STRICT;
CREATE INDEX memories_comparable ON memories (key)
    WHERE status IN ('active', 'challenged') AND voice = 'own' AND force IN ('asserted', 'rule');
"""


def up(connection: apsw.Connection) -> None:
    """Add the column, the table and the index."""
    connection.execute(_LAYOUT)
