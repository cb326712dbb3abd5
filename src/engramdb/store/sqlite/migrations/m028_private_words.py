"""
Note where private words stand in memories and turns, and a checksum of their words.

Old rows: NULL. Nobody has looked, and what is private in them is found by rules whenever they are shown; they
get a checksum when they are next written.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
ALTER TABLE memories ADD COLUMN private TEXT;
ALTER TABLE turns ADD COLUMN private TEXT;
ALTER TABLE memories ADD COLUMN checksum INTEGER;
ALTER TABLE turns ADD COLUMN checksum INTEGER;
"""


def up(connection: apsw.Connection) -> None:
    """Add the columns."""
    connection.execute(_LAYOUT)
