"""
Make room for what the doors keep: answers by the caller's key, and documents of other programs on a shelf.

Old rows: there are none. A reply and a document may hold the words of a memory; when the memory or the turn
that they came with is erased, whoever erases it, the triggers empty the one and delete the other.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_LAYOUT = """
CREATE TABLE replies (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    request BLOB NOT NULL,
    status INTEGER,
    headers TEXT,
    body BLOB,
    at INTEGER NOT NULL,
    PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX replies_by_age ON replies (at);

CREATE TABLE reply_subjects (
    subject TEXT NOT NULL,
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (subject, caller, key),
    FOREIGN KEY (caller, key) REFERENCES replies (caller, key) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX reply_subjects_by_reply ON reply_subjects (caller, key);

CREATE TABLE shelf (
    id INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    place TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    memory TEXT,
    turn TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    lifetime INTEGER,
    UNIQUE (scope, place, key)
) STRICT;

CREATE INDEX shelf_by_memory ON shelf (memory) WHERE memory IS NOT NULL;
CREATE INDEX shelf_by_turn ON shelf (turn) WHERE turn IS NOT NULL;
CREATE INDEX shelf_by_end ON shelf (expires_at) WHERE expires_at IS NOT NULL;

CREATE TRIGGER doors_of_erased_memory AFTER UPDATE OF status ON memories WHEN NEW.status = 'erased'
BEGIN
    UPDATE replies SET request = X'', status = 410, headers = NULL, body = NULL
    WHERE (caller, key) IN (SELECT caller, key FROM reply_subjects WHERE subject = NEW.id);
    DELETE FROM shelf WHERE memory = NEW.id;
END;

CREATE TRIGGER doors_of_deleted_turn AFTER DELETE ON turns
BEGIN
    UPDATE replies SET request = X'', status = 410, headers = NULL, body = NULL
    WHERE (caller, key) IN (SELECT caller, key FROM reply_subjects WHERE subject = OLD.id);
    DELETE FROM shelf WHERE turn = OLD.id;
END;
"""


def up(connection: apsw.Connection) -> None:
    """Add the tables of replies and of the shelf, with their triggers."""
    connection.execute(_LAYOUT)
