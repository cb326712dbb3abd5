"""
Add whether a memory denies what it says, and the object that it takes the place of.

Old rows: both are unknown, and are read from the words where two statements are compared.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
ALTER TABLE memories ADD COLUMN is_negated INTEGER CHECK (is_negated IN (0, 1));
ALTER TABLE memories ADD COLUMN replaces TEXT;
"""


def up(connection: apsw.Connection) -> None:
    """Add the columns."""
    connection.execute(_LAYOUT)
