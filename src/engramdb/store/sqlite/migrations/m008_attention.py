"""
Make room for what each agent attends to, so that it is there again after a pause or a crash.

Old rows: there are none; an agent's first turn writes its own. Slots point to memories and turns by id,
so that erasing one leaves no words here; `topics` holds words of slots that have nothing to point to.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_LAYOUT = """
CREATE TABLE attention (
    scope INTEGER PRIMARY KEY REFERENCES scopes (id),
    stamp INTEGER NOT NULL,
    at INTEGER NOT NULL,
    embedder TEXT,
    topics TEXT NOT NULL,
    vectors BLOB NOT NULL
) STRICT;

-- A window shows what is pinned whatever the message; without an index that is a walk through the store.
CREATE INDEX memories_pinned ON memories (scope, key) WHERE pinned AND status = 'active';
"""


def up(connection: apsw.Connection) -> None:
    """Add the table of minds."""
    connection.execute(_LAYOUT)
