"""
Count the terms of memories scope by scope.

So that how much a word tells follows from the memories that the asker may see. The text index is made again
when the store is opened next: its rows now name their scope. docs/reference/file-format.md
"""

from __future__ import annotations

import apsw

_LAYOUT = """
DROP TABLE term_counts;
CREATE TABLE scope_terms (
    scope INTEGER NOT NULL REFERENCES scopes (id),
    term TEXT NOT NULL,
    memories INTEGER NOT NULL,
    PRIMARY KEY (scope, term)
) STRICT, WITHOUT ROWID;
UPDATE counters SET value = 0 WHERE name = 'terms_version';
"""


def up(connection: apsw.Connection) -> None:
    """Add the table, and have the text index made again."""
    connection.execute(_LAYOUT)
