"""
Make room for looking memories up by technology, path, programming language, sentiment and speaker.

Old rows: none are entered here, because how a word is folded is no matter of layout. `traits_version` is
0, so the engine fills the table from the memories when it next opens the file: 2.6 s for 100,000 of
them, where enriching them again would take minutes. docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_LAYOUT = """
CREATE TABLE memory_traits (
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
    PRIMARY KEY (kind, value, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_traits_by_memory ON memory_traits (memory);

INSERT INTO counters (name, value) VALUES ('traits_version', 0);
"""


def up(connection: apsw.Connection) -> None:
    """Create the table, empty."""
    connection.execute(_LAYOUT)
