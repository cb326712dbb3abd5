"""
Note in which session a question was put to somebody, and until when it rests.

Old rows: questions about what memories say lose the words that were stored with them, since they are put in
when one is read; two kinds get a name of their own. docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
ALTER TABLE gaps ADD COLUMN snoozed_until INTEGER;

CREATE TABLE askings (
    scope INTEGER NOT NULL REFERENCES scopes (id),
    session TEXT NOT NULL,
    gap TEXT NOT NULL REFERENCES gaps (id) ON DELETE CASCADE,
    at INTEGER NOT NULL,
    PRIMARY KEY (scope, session, gap)
) STRICT, WITHOUT ROWID;

CREATE INDEX askings_by_gap ON askings (gap);

UPDATE gaps SET kind = 'missing_files' WHERE kind = 'stale' AND question LIKE 'Files are gone %';
UPDATE gaps SET kind = 'same_entity' WHERE kind = 'interference' AND question LIKE 'Are % the same?';
UPDATE gaps SET question = '' WHERE kind NOT IN ('missing_field', 'same_entity');
"""


def up(connection: apsw.Connection) -> None:
    """Add the column and the table, and take the words out of the questions."""
    connection.execute(_LAYOUT)
