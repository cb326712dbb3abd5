"""
Register the files that were written from the store, and count erasures.

Old rows: files that were written before are not known. Other processes see by the count that words were
erased, and drop what they hold. Scope names become NFC, as `Scope` now has them; where both spellings have a
scope of their own, the other one stays as it is.
"""

from __future__ import annotations

import unicodedata

import apsw

_LAYOUT = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    path TEXT NOT NULL UNIQUE,
    given TEXT NOT NULL,
    written_at INTEGER NOT NULL,
    actor TEXT NOT NULL
) STRICT;

CREATE TABLE erasures (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    number INTEGER NOT NULL
) STRICT;

INSERT INTO erasures VALUES (1, 0);

CREATE TRIGGER erasures_of_memories AFTER UPDATE OF status ON memories WHEN NEW.status = 'erased'
BEGIN
    UPDATE erasures SET number = number + 1;
END;

CREATE TRIGGER erasures_of_turns AFTER DELETE ON turns
BEGIN
    UPDATE erasures SET number = number + 1;
END;
"""
_NAMES = ("project", "squad", "agent", "channel", "user")


def up(connection: apsw.Connection) -> None:
    """Add the tables and triggers, and spell the names of scopes in one way."""
    connection.execute(_LAYOUT)
    for number, *names in connection.execute(f"SELECT id, {', '.join(_NAMES)} FROM scopes").fetchall():
        spelled = [unicodedata.normalize("NFC", str(name)) for name in names]
        if spelled != names:
            assigned = ", ".join(f"{name} = ?" for name in _NAMES)
            connection.execute(f"UPDATE OR IGNORE scopes SET {assigned} WHERE id = ?", (*spelled, number))
