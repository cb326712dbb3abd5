"""
Keep what was forgotten from coming back: a keyed sketch of each statement, and the key.

Old rows: what somebody has forgotten, and all that was merged into it, gets its sketch from its words when it
is first looked for; what a rule has taken away may come back. Imports note which of them were a conversation
as it went on: none is known to have been. docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import secrets

import apsw

KEY_BYTES = 32

_LAYOUT = """
CREATE TABLE forgotten (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    memory TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    since TEXT NOT NULL,
    sketch BLOB
) STRICT;
CREATE INDEX forgotten_by_scope ON forgotten (scope);
CREATE TABLE forgotten_key (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    key BLOB NOT NULL
) STRICT;
ALTER TABLE imports ADD COLUMN live INTEGER NOT NULL DEFAULT 0 CHECK (live IN (0, 1));
"""
_TAKE_OVER = """
WITH RECURSIVE gone (key, scope, id, at) AS (
    SELECT m.key, m.scope, m.id, m.updated_at FROM memories m
    WHERE m.status = 'forgotten' AND m.extractor IS NOT 'shelf' AND (
        SELECT h.actor_kind FROM history h WHERE h.memory_id = m.id AND h.new_status = 'forgotten'
        ORDER BY h.key DESC LIMIT 1
    ) IN ('person', 'agent')
    UNION
    SELECT l.key, l.scope, l.id, gone.at FROM gone
    JOIN merges g ON g.keeper = gone.key AND g.undone_at IS NULL
    JOIN memories l ON l.key = g.loser AND l.status = 'merged'
)
INSERT INTO forgotten (scope, memory, at, since)
SELECT scope, id, max(at), coalesce((SELECT max(id) FROM turns), '') FROM gone GROUP BY key
"""


def up(connection: apsw.Connection) -> None:
    """Add the tables, and a key of this store alone."""
    connection.execute(_LAYOUT)
    connection.execute("INSERT INTO forgotten_key VALUES (1, ?)", (secrets.token_bytes(KEY_BYTES),))
    connection.execute(_TAKE_OVER)
