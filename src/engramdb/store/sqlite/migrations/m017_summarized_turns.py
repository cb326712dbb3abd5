"""
Note which turns have been summed up while their session goes on.

Old rows: none has been. docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
ALTER TABLE turns ADD COLUMN summarized_at INTEGER;
CREATE INDEX turns_unsummarized ON turns (session, scope)
    WHERE session IS NOT NULL AND summarized_at IS NULL;
"""


def up(connection: apsw.Connection) -> None:
    """Add the column and the index."""
    connection.execute(_LAYOUT)
