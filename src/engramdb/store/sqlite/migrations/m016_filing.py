"""
Find quickly what was stored before statements were filed by what they say: its `lasting` is NULL.

Old rows: those that count and that somebody stated wait to be filed, in the background.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
CREATE INDEX memories_unfiled ON memories (key)
    WHERE lasting IS NULL AND status IN ('active', 'challenged')
    AND substr(coalesce(extractor, ''), 1, 6) <> 'dream.';
"""


def up(connection: apsw.Connection) -> None:
    """Add the index."""
    connection.execute(_LAYOUT)
