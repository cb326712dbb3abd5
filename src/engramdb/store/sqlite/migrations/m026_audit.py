"""
Note by which surface and token something was done, in which scope, and how it ended.

`relayed_by` is the agent that reported a message, or a statement, as the person's own words. Searches are
found by an index, because they are the only rows of the audit that are dropped when there are many.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
ALTER TABLE audit ADD COLUMN surface TEXT;
ALTER TABLE audit ADD COLUMN token TEXT;
ALTER TABLE audit ADD COLUMN scope TEXT;
ALTER TABLE audit ADD COLUMN outcome TEXT NOT NULL DEFAULT 'done';
ALTER TABLE audit ADD COLUMN is_search INTEGER NOT NULL DEFAULT 0;
CREATE INDEX audit_searches ON audit (key) WHERE is_search;
ALTER TABLE history ADD COLUMN surface TEXT;
ALTER TABLE history ADD COLUMN token TEXT;
ALTER TABLE memories ADD COLUMN relayed_by TEXT;
ALTER TABLE turns ADD COLUMN relayed_by TEXT;
"""


def up(connection: apsw.Connection) -> None:
    """Add the columns and the index."""
    connection.execute(_LAYOUT)
