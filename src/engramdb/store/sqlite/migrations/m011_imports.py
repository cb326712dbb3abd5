"""
Make room for what was imported, so that the same source may come again without harm.

Old rows: there are none; nothing was imported before. The triggers empty the name of a file when the memory
or the turn that came out of it is erased, whoever erases it. docs/reference/file-format.md explains every
column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_LAYOUT = """
CREATE TABLE imports (
    mark BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    place TEXT NOT NULL,
    memory TEXT,
    turn TEXT,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX imports_by_memory ON imports (memory) WHERE memory IS NOT NULL;
CREATE INDEX imports_by_turn ON imports (turn) WHERE turn IS NOT NULL;

CREATE TRIGGER imports_of_erased_memory AFTER UPDATE OF status ON memories WHEN NEW.status = 'erased'
BEGIN
    UPDATE imports SET place = '' WHERE memory = NEW.id;
END;

CREATE TRIGGER imports_of_deleted_turn AFTER DELETE ON turns
BEGIN
    UPDATE imports SET place = '' WHERE turn = OLD.id;
END;
"""


def up(connection: apsw.Connection) -> None:
    """Add the table of imports and its triggers."""
    connection.execute(_LAYOUT)
