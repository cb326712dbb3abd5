"""
Index memories by when they were said and by the time that they are about.

So that a question that names a time finds what is of that time, however large the store is.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
CREATE INDEX memories_by_when ON memories (scope, when_at);
CREATE INDEX memories_by_saying ON memories (scope, coalesce(said_at, created_at));
"""


def up(connection: apsw.Connection) -> None:
    """Add the indexes."""
    connection.execute(_LAYOUT)
