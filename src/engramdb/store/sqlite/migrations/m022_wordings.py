"""
Add the memories that a memory stands for, and which memories a judge has compared with those near them.

Old rows: the merges that nobody took back tell the wordings, however far they reach; nothing has been
compared. docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
ALTER TABLE memories ADD COLUMN wordings TEXT NOT NULL DEFAULT '[]';
WITH RECURSIVE lost (keeper, loser, path) AS (
    SELECT g.keeper, g.loser, printf('%012d', g.key) FROM merges g
    JOIN memories l ON l.key = g.loser AND l.status = 'merged' WHERE g.undone_at IS NULL
    UNION
    SELECT lost.keeper, g.loser, lost.path || printf('%012d', g.key) FROM lost
    JOIN merges g ON g.keeper = lost.loser AND g.undone_at IS NULL
    JOIN memories l ON l.key = g.loser AND l.status = 'merged'
),
ordered AS (SELECT lost.keeper, l.id FROM lost JOIN memories l ON l.key = lost.loser ORDER BY lost.path)
UPDATE memories SET wordings = told.ids
FROM (SELECT keeper, json_group_array(id) AS ids FROM ordered GROUP BY keeper) AS told
WHERE told.keeper = memories.key;
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
